"""Do shaped rewards help to explore? ``python benchmarks/learning/reward_terms.py --runs FOLDER``.

One environment of each kind (pixels, web, code). All runs start from an adapter that was taught by a player
that does not do the task, so that the right tool (in code: a right program) hardly occurs: success is 0.00 to
0.04, sampled. From there GRPO goes on for the same number of steps under each reward; nothing else is set,
so the learning rate finds itself. Held-out tasks are scored by the task alone, before and after. Killed, the
same command goes on. Writes a table, a figure and JSON; a JSON keeps what it has.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from every_env import MODES, earlier, lesson, measured, train
from learning_runs import STEPS, LearningRuns, arguments, steps_to, write_result
from result_tables import markdown_table

from pixelis.agents.runs.metrics import read_metrics

BY_TURN = ("--algorithm.credit", '{"type": "turn", "gamma": 0.7}')
COHERENCE = ("--rewards.coherence", "{}")
CURIOSITY = ("--rewards.curiosity", "{}")
PROGRESS = ("--rewards.progress", "{}")
ARMS: Mapping[str, Sequence[str]] = {
    "task only": (),
    "coherence": COHERENCE,
    "curiosity": CURIOSITY,
    "credit by turn": BY_TURN,
    "progress, credit by turn": (*PROGRESS, *BY_TURN),
    "all, credit by turn": (*COHERENCE, *CURIOSITY, *PROGRESS, "--rewards.penalty", "{}", *BY_TURN),
    "progress kept at failure": ("--rewards.progress", '{"at_failure": "keep"}'),
}
"""Name → what the command is told besides."""
MANY = tuple(ARMS)[:-1]
SINGLE = ("task only", "curiosity", "progress kept at failure")
"""Where an episode is one turn without calls: coherence is 0 there, credit by turn changes nothing."""
LAST, REACHED = 10, 0.5


@dataclass(frozen=True)
class Kind:
    """An environment and where its runs start.

    Attributes:
        demonstrator: the player that the start was taught by.
        steps: of SFT.
        tool: the right tool; None: the program itself.
        arms: what is compared.
        words: what else SFT, GRPO and evaluation are told.
    """

    demonstrator: str
    steps: int
    tool: str | None
    arms: Sequence[str] = MANY
    words: Sequence[str] = ()


KINDS: Mapping[str, Kind] = {
    # OCR takes most of an episode's time; the reader of truths blurs them as the view does, in no time.
    "ZoomRead": Kind("overview_only", 12, "ZOOM", words=("--env-kwargs.reader", "truth")),
    "WebBrowse": Kind("tool_free", 30, "CLICK"),
    "CodeProblem": Kind("blind", 20, None, SINGLE),
}
COMMAND = "python benchmarks/learning/reward_terms.py --runs FOLDER --json FILE"


def start(runs: LearningRuns, env: str) -> str:
    """Teach the adapter that an environment's runs start from, unless it is there; return its name."""
    kind, plan, name = KINDS[env], lesson(env), f"runs/{env}-start"
    if not (runs.path / name / "adapter").is_dir():
        words = ["--env", plan["env"], "--model", plan["model"], "--difficulty", str(plan["difficulty"])]
        words += ["--env-kwargs", json.dumps(plan.get("env_kwargs", {})), "--eval-episodes", "0"]
        words += ["--demonstrator", kind.demonstrator, "--demonstrations", "128", "--steps", str(kind.steps)]
        runs.command(f"{env} start", "train_sft.py", *words, *kind.words, "--output", name)
    return f"{name}/adapter"


def run_of(runs: LearningRuns, env: str, arm: str, seed: int, steps: int, episodes: int) -> dict[str, Any]:
    """Train under a reward unless that is done; return what was measured, with the right tool's calls."""
    kind, adapter = KINDS[env], start(runs, env)
    words = ["--model", adapter, "--steps", str(steps), *kind.words, *ARMS[arm]]
    name = f"runs/{env}-{arm.replace(', ', '-').replace(' ', '-')}-seed{seed}"
    folder = train(runs, name, env, seed, 1000.0, episodes, words)
    found = measured(folder)
    rows, key = read_metrics(folder / "metrics.jsonl"), f"tools/{kind.tool}/calls"
    calls = [round(row.get(key, 0) / row["episodes/count"], 3) for row in rows]
    return found | ({"tool": calls} if kind.tool else {})


def table(result: Mapping[str, Any]) -> str:
    """Return the table for the docs: means over seeds and the range after training."""
    rows = []
    for env, arms in result["environments"].items():
        for arm, seeds in arms.items():
            runs = list(seeds.values())
            soon = ", ".join(str(steps_to(run["curve"]["success/rate"], REACHED) or "–") for run in runs)
            rows.append([env, arm, *(_change(runs, mode) for mode in MODES), soon, _tool(runs)])
    modes = (f"{mode}, before → after (each seed)" for mode in MODES)
    head = [
        "environment",
        "reward",
        *modes,
        f"steps to {REACHED} in training",
        "right tool, calls an episode",
    ]
    return markdown_table(head, rows)


def _change(runs: Sequence[Mapping[str, Any]], mode: str) -> str:
    before, after = ([run[phase][mode]["success"] for run in runs] for phase in ("before", "after"))
    each = ", ".join(f"{value:.3f}" for value in after)
    return f"{np.mean(before):.3f} → **{np.mean(after):.3f}** ({each})"


def _tool(runs: Sequence[Mapping[str, Any]]) -> str:
    """Return the calls of the right tool in the first steps and in the last."""
    if "tool" not in runs[0]:
        return "–"
    first, last = (np.mean([run["tool"][part] for run in runs]) for part in (slice(2), slice(-LAST, None)))
    return f"{first:.2f} → {last:.2f}"


def draw(result: Mapping[str, Any], path: Path) -> None:
    """Draw a panel for each environment: success in training by steps, a line for each seed of a reward."""
    shown = result["environments"]
    figure, axes = plt.subplots(1, len(shown), figsize=(4.2 * len(shown), 3.6), sharey=True, squeeze=False)
    for panel, (env, arms) in zip(axes.flat, shown.items(), strict=True):
        for arm, seeds in arms.items():
            for index, run in enumerate(seeds.values()):
                curve = np.convolve(run["curve"]["success/rate"], np.ones(STEPS) / STEPS, "valid")
                label = arm if index == 0 else None
                colour = f"C{list(ARMS).index(arm)}"
                panel.plot(range(STEPS, STEPS + len(curve)), curve, color=colour, label=label, lw=1)
        panel.set_title(env)
        panel.set_xlabel("steps")
        panel.legend(fontsize=6, framealpha=0.5)
    axes.flat[0].set_ylabel("success in training")
    axes.flat[0].set_ylim(-0.02, 1.02)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    """Train and evaluate what is not done yet, then write table, numbers and figure."""
    parser = arguments(__doc__, "what was measured")
    parser.add_argument("--envs", nargs="*", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--episodes", type=int, default=200, help="of an evaluation")
    parser.add_argument("--figure", type=Path, help="file for the picture")
    args = parser.parse_args()
    runs, found = LearningRuns(args.runs), earlier(args.json)
    for seed in args.seeds:
        for env in args.envs:
            for arm in KINDS[env].arms:
                run = run_of(runs, env, arm, seed, args.steps, args.episodes)
                found.update(earlier(args.json))  # another process may have written since
                found.setdefault(env, {}).setdefault(arm, {})[str(seed)] = run
                write_result(args.json, {"command": COMMAND, "steps": args.steps, "environments": found})
    result = {"environments": found}
    print(table(result))
    if args.figure:
        draw(result, args.figure)


if __name__ == "__main__":
    main()
