"""Does an alarm that lowers the rate save a run? ``python benchmarks/learning/on_alarm.py --runs FOLDER``.

Trains lessons at fixed learning rates that are too high, with ``--on-alarm warn`` and with ``lower_lr``. The
two are the same run, to the bit, until the first alarm that lowers the rate. Killed, the same command goes
on. Writes a table and JSON; a JSON keeps what it has.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from every_env import MODES, train
from learning_runs import LearningRuns, arguments, write_result
from result_tables import interval_cell, markdown_table

COMMAND = "python benchmarks/learning/on_alarm.py --runs FOLDER"
CASES: Mapping[str, tuple[str, ...]] = {
    "CodeProblem": (),
    "ZoomRead": ("--env-kwargs.reader", "truth"),
}
ARMS = ("warn", "lower_lr")
MOST_MINUTES = 60.0


def measured(folder: Path) -> dict[str, Any]:
    """Return success and rate by step, where the rate was lowered, and the evaluations."""
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text("utf-8").splitlines()]
    rates = [row["policy/lr"] for row in rows]
    evaluation = json.loads((folder / "evaluation.json").read_text("utf-8"))
    return {
        "success": [round(row["success/rate"], 4) for row in rows],
        "kl": [
            None if row["policy/kl_reference"] is None else round(row["policy/kl_reference"], 4)
            for row in rows
        ],
        "lowered": [rows[at]["step"] for at in range(1, len(rows)) if rates[at] < 0.5 * rates[at - 1]],
        "rate": rates[-1],
        **{
            phase: {
                row["mode"]: {"success": row["success_rate"], "interval": row["interval"]}
                for row in evaluation[phase]
            }
            for phase in ("before", "after")
        },
    }


def table(result: Mapping[str, Any]) -> str:
    """Return the table for the docs: a row for each run."""
    head = ["lesson, rate, seed", "`on_alarm`", "lowered after step", "success, first → last five steps"]
    rows = []
    for case, arms in result["runs"].items():
        for arm, run in arms.items():
            first, last = (sum(part) / 5 for part in (run["success"][:5], run["success"][-5:]))
            lowered = ", ".join(map(str, run["lowered"])) or "never"
            held_out = [
                interval_cell(run["after"][m]["success"], *run["after"][m]["interval"]) for m in MODES
            ]
            rows.append([case, f"`{arm}`", lowered, f"{first:.2f} → {last:.2f}", *held_out])
    return markdown_table([*head, *(f"held out, {mode}" for mode in MODES)], rows)


def main() -> None:
    """Train what is not done yet, then write table and numbers."""
    parser = arguments(__doc__, "what was measured")
    parser.add_argument("--envs", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--rates", type=float, nargs="*", default=[0.01, 0.004])
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--episodes", type=int, default=100, help="of an evaluation")
    args = parser.parse_args()
    runs = LearningRuns(args.runs)
    found = json.loads(args.json.read_text("utf-8")) if args.json and args.json.is_file() else {"runs": {}}
    for env in args.envs:
        for rate in args.rates:
            for seed in args.seeds:
                for arm in ARMS:
                    name = f"runs/{env}-lr{rate:g}-{arm}-seed{seed}"
                    words = ["--lr", str(rate), "--on-alarm", arm, "--steps", str(args.steps), *CASES[env]]
                    run = measured(train(runs, name, env, seed, MOST_MINUTES, args.episodes, words))
                    found["runs"].setdefault(f"{env}, {rate:g}, {seed}", {})[arm] = run
                    write_result(args.json, {"command": COMMAND, **found})
    print(table(found))


if __name__ == "__main__":
    main()
