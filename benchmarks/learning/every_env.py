"""A learning curve in every environment: ``python benchmarks/learning/every_env.py --runs FOLDER``.

Trains a shipped small model in each environment that one of them plays, with the shipped defaults, once a
seed, through the command a person types; evaluates it on the same held-out tasks before and after, and one
difficulty higher. Hours; killed, the same command goes on. Writes a table (Markdown and JSON) and a figure
with a panel for each environment; a JSON keeps the seeds that it has. Environments that no shipped model
plays yet are named, not left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import yaml
from learning_runs import ROOT, LearningRuns, arguments, is_whole, write_result
from result_tables import interval_cell, markdown_table

from pixelis.agents.run_files.checkpoint import list_checkpoints
from pixelis.agents.run_files.run_folder import RunFolder
from pixelis.agents.settings.files import SHIPPED

EPISODES = 200
MODES = ("sampled", "greedy")
HARDEST = ("TweetReply", "AskImage")
"""Environments with one difficulty alone."""
LESSONS = SHIPPED / "lessons"
"""``ENV.yaml`` for each environment that a shipped model plays: model, difficulty, lengths, and no more."""
NOT_YET: tuple[str, ...] = ()
"""Environments with an oracle that no shipped model plays."""
COMMAND = "python benchmarks/learning/every_env.py --runs FOLDER"
PANELS = 4
"""Of a row of the figure."""
PAGES = {"WebBrowse": "browse"}
"""Name of its files in ``docs/envs``, where it is not the environment's."""

FLOORS = ("nothing", "random", "tool_free")
"""Players that do not do the task; the best of them is the floor."""


def lesson(env: str) -> dict[str, Any]:
    """Return the configuration with which an environment is learnt."""
    return yaml.safe_load((LESSONS / f"{env}.yaml").read_text(encoding="utf-8"))


def run_name(env: str, seed: int) -> str:
    """Return the run's place below the folder."""
    return f"runs/{env}-seed{seed}"


def train(
    runs: LearningRuns,
    name: str,
    env: str,
    seed: int,
    minutes: float,
    episodes: int,
    words: Sequence[str] = (),
    script: str = "train_agent.py",
) -> Path:
    """Train a lesson as the run ``name``, unless the folder holds it whole; go on with one that was stopped.

    ``words`` are what else the script is told.
    """
    folder = runs.path / name
    if not is_whole(folder):
        new = ["--config", f"lessons/{env}", "--seed", str(seed), "--minutes", str(minutes), *words]
        new += ["--eval-episodes", str(episodes), "--output", name]
        begun = list_checkpoints(RunFolder(folder).checkpoints)
        label = f"{env} {Path(name).name.partition('-')[2].replace('-', ' ')}"
        runs.command(label, script, *(["--resume", name] if begun else new))
    return folder


def harder(runs: LearningRuns, env: str, seed: int, episodes: int) -> dict[str, Any] | None:
    """Return how model and run play one difficulty higher, sampled, on the same held-out tasks."""
    if env in HARDEST:
        return None
    plan, path = lesson(env), runs.path / f"harder-{env}-seed{seed}.json"
    agents = (plan["model"], run_name(env, seed))
    if len(_rows(path)) < len(agents):  # one may be there already: it was killed between them
        path.unlink(missing_ok=True)
        words = ["--env", plan["env"], "--env-kwargs", json.dumps(plan.get("env_kwargs", {}))]
        words += ["--difficulty", str(plan["difficulty"] + 1), "--mode", "sampled", "--seed", str(seed)]
        if "max_new_tokens" in plan:
            words += ["--max-new-tokens", str(plan["max_new_tokens"])]
        words += ["--episodes", str(episodes), "--agent", ",".join(agents), "--output", path.name]
        runs.command(f"{env} harder", "evaluate_agent.py", *words)
    return dict(zip(("before", "after"), map(_rate, _rows(path)), strict=True))


def _rows(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text("utf-8"))["rows"] if path.is_file() else []


def _rate(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"success": row["success_rate"], "interval": row["interval"], "episodes": row["episodes"]}


def measured(folder: Path) -> dict[str, Any]:
    """Return what a run measured: both evaluations by mode, its steps, and the curve of training success."""
    evaluation = json.loads((folder / "evaluation.json").read_text(encoding="utf-8"))
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    found = {phase: {row["mode"]: _rate(row) for row in evaluation[phase]} for phase in ("before", "after")}
    keys = ("success/rate", "policy/entropy", "policy/step_kl", "policy/lr", "groups/filter_rate")
    curve = {key: [_short(row.get(key)) for row in rows] for key in keys if key in rows[-1]}
    minutes = [_short(row["time/elapsed"] / 60) for row in rows]
    return {**found, "steps": rows[-1]["step"], "curve": {"minutes": minutes, **curve}}


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


def lines_of(env: str) -> dict[str, float | None]:
    """Return the success of the oracle and of the best floor at the lesson's difficulty, from the docs."""
    page = PAGES.get(env) or re.sub(r"(?<!^)(?=[A-Z])", "_", env).lower()
    rows = json.loads((ROOT / "docs" / "envs" / f"{page}_baselines.json").read_text("utf-8"))["rows"]
    here = [row for row in rows if row.get("difficulty", 0) == lesson(env)["difficulty"]]
    shares = {row["player"]: row["successes"] / row["episodes"] for row in here}
    floors = [shares[name] for name in FLOORS if name in shares]
    return {"oracle": shares.get("oracle"), "floor": max(floors, default=None)}


def table(result: Mapping[str, Any]) -> str:
    """Return the table for the docs: a row for each environment and seed."""
    changes = (*(f"{mode}, before → after" for mode in MODES), "one difficulty higher, sampled")
    rows = [
        [
            f"{env}, difficulty {found['difficulty']}",
            seed,
            f"{run['steps']}",
            *(_change(run["before"][mode], run["after"][mode]) for mode in MODES),
            _change(**run["harder"]) if run["harder"] else "",
        ]
        for env, found in sorted(result["environments"].items())
        for seed, run in sorted(found["seeds"].items(), key=lambda pair: int(pair[0]))
    ]
    rows += [[env, *["none yet"], *[""] * 4] for env in NOT_YET]
    return markdown_table(["environment", "seed", "steps", *changes], rows)


def _change(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    success, _, interval = _cell(after).partition(" ")
    return f"{_cell(before)} → **{success}** {interval}"


def _cell(found: Mapping[str, Any]) -> str:
    return interval_cell(found["success"], *found["interval"])


def draw(result: Mapping[str, Any], path: Path) -> None:
    """Draw a panel for each environment: training success by minutes, evaluations, oracle and floor."""
    shown = result["environments"]
    wide = min(len(shown), PANELS)
    high = -(-len(shown) // wide)
    figure, axes = plt.subplots(high, wide, figsize=(3.6 * wide, 3.2 * high), sharey=True, squeeze=False)
    for panel in axes.flat[len(shown) :]:
        panel.axis("off")
    for panel, (env, found) in zip(axes.flat, shown.items(), strict=False):
        for index, (seed, run) in enumerate(found["seeds"].items()):
            colour = f"C{index}"
            minutes, success = run["curve"]["minutes"], run["curve"]["success/rate"]
            panel.plot(minutes, _smooth(success), color=colour, label=f"seed {seed}")
            for at, phase in ((0.0, "before"), (minutes[-1], "after")):
                row = run[phase]["sampled"]
                low, high = row["interval"]
                spread = [[row["success"] - low], [high - row["success"]]]
                panel.errorbar([at], [row["success"]], yerr=spread, fmt="o", color=colour, capsize=3)
        for value, style in ((found["oracle"], "--"), (found["floor"], ":")):
            if value is not None:
                panel.axhline(value, color="grey", linestyle=style, linewidth=1)
        panel.set_title(f"{env}, difficulty {found['difficulty']}")
        panel.set_xlabel("minutes of training")
        panel.set_ylim(-0.02, 1.04)
        panel.legend(loc="best", fontsize=7, framealpha=0.5)
    for first in axes[:, 0]:
        first.set_ylabel("success, sampled")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _smooth(values: Sequence[float], width: int = 10) -> list[float]:
    """Return the mean of the last ``width`` values at each place."""
    parts = (values[max(0, end - width) : end] for end in range(1, len(values) + 1))
    return [sum(part) / len(part) for part in parts]


def main() -> None:
    """Train and evaluate what is not done yet, then write table, numbers and figure."""
    names = sorted(path.stem for path in LESSONS.glob("*.yaml"))
    parser = arguments(__doc__, "what was measured")
    parser.add_argument("--envs", nargs="*", default=names, choices=names)
    parser.add_argument("--minutes", type=float, default=10.0, help="of training each")
    parser.add_argument("--episodes", type=int, default=EPISODES, help="of an evaluation")
    parser.add_argument("--figure", type=Path, help="file for the picture")
    args = parser.parse_args()
    runs, found = LearningRuns(args.runs), earlier(args.json)
    shown = {"not yet": list(NOT_YET), "environments": found}
    for env in args.envs:
        for seed in args.seeds:
            run = measured(train(runs, run_name(env, seed), env, seed, args.minutes, args.episodes))
            run["harder"] = harder(runs, env, seed, args.episodes)
            found.update(earlier(args.json))  # another process may have written since
            add_seed(found, env, seed, {**run, "minutes": args.minutes})
            write_result(args.json, {"command": COMMAND, **shown})
    print(table(shown))
    if args.figure:
        draw(shown, args.figure)


def add_seed(found: dict[str, Any], env: str, seed: int, run: Mapping[str, Any]) -> None:
    """Add what a run measured to ``found`` (environment → numbers), in place of its seed's earlier run."""
    seeds = found.get(env, {}).get("seeds", {})
    about = {key: lesson(env)[key] for key in ("model", "difficulty")}
    found[env] = {**lines_of(env), **about, "seeds": {**seeds, str(seed): run}}


def earlier(path: Path | None) -> dict[str, Any]:
    """Return what the file holds of environments that were measured before."""
    return json.loads(path.read_text("utf-8"))["environments"] if path and path.is_file() else {}


if __name__ == "__main__":
    main()
