"""Which algorithm should a user take? ``python benchmarks/learning/algorithms.py --runs FOLDER``.

Trains the lessons of one environment of each kind (pixels, web, code, tweets) by each algorithm, for the same
time, from the same model, with the same seeds; nothing else is set, so each has its own defaults and all have
the learning rate that finds itself but expert iteration, which is supervised. Evaluates before and after on
the same held-out tasks. Killed, the same command goes on. Writes a table and JSON; a JSON keeps what it has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from every_env import MODES, earlier, lesson, measured, train
from learning_runs import LearningRuns, arguments, steps_to, write_result
from result_tables import markdown_table

ENVS = ("ZoomRead", "WebBrowse", "CodeProblem", "TweetReply")
REACHED = 0.8
TRAIN, EXPERT = "train_agent.py", "expert_iteration.py"
ALGORITHMS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "GRPO": (TRAIN, ()),
    "Dr. GRPO": (TRAIN, ("--recipe", "dr_grpo")),
    "RLOO": (TRAIN, ("--recipe", "rloo")),
    "GSPO": (TRAIN, ("--recipe", "gspo")),
    "PPO": (TRAIN, ("--algorithm", "ppo")),
    "expert iteration": (EXPERT, ()),
}
"""Name → script, and what it is told besides."""
COMMAND = "python benchmarks/learning/algorithms.py --runs FOLDER"


def table(result: Mapping[str, Any]) -> str:
    """Return the table for the docs: a row for each algorithm, means over seeds and their range."""
    rows = []
    for env, found in sorted(result["environments"].items()):
        for name, seeds in found["algorithms"].items():
            runs = list(seeds.values())
            steps = f"{np.mean([run['steps'] for run in runs]):.0f}"
            rows.append(
                [env, name, str(len(runs)), steps, *(_change(runs, mode) for mode in MODES), _soon(runs)]
            )
    modes = (f"{mode}, before → after (range)" for mode in MODES)
    reached = f"minutes to {REACHED} in training, by seed"
    return markdown_table(["environment", "algorithm", "seeds", "steps", *modes, reached], rows)


def minutes_to(curve: Mapping[str, Sequence[float | None]]) -> float | None:
    """Return the minutes after which success in training first was `REACHED`, as `steps_to` has it."""
    end = steps_to(curve["success/rate"], REACHED)
    return None if end is None else curve["minutes"][end - 1]


def _soon(runs: Sequence[Mapping[str, Any]]) -> str:
    """Return the minutes of each run, a dash for one that did not come so far."""
    found = [minutes_to(run["curve"]) if "success/rate" in run["curve"] else None for run in runs]
    return ", ".join("–" if minutes is None else f"{minutes:.1f}" for minutes in found)


def _change(runs: Sequence[Mapping[str, Any]], mode: str) -> str:
    before, after = ([run[phase][mode]["success"] for run in runs] for phase in ("before", "after"))
    return f"{np.mean(before):.3f} → **{np.mean(after):.3f}** ({min(after):.3f}–{max(after):.3f})"


def main() -> None:
    """Train and evaluate what is not done yet, then write table and numbers."""
    parser = arguments(__doc__, "what was measured")
    parser.add_argument("--envs", nargs="*", default=list(ENVS), choices=ENVS)
    parser.add_argument("--algorithms", nargs="*", default=list(ALGORITHMS), choices=list(ALGORITHMS))
    parser.add_argument("--minutes", type=float, default=5.0, help="of training each")
    parser.add_argument("--episodes", type=int, default=200, help="of an evaluation")
    args = parser.parse_args()
    runs, found = LearningRuns(args.runs), earlier(args.json)
    for env in args.envs:
        about = {key: lesson(env)[key] for key in ("model", "difficulty")}
        mine = found.setdefault(env, {**about, "algorithms": {}})["algorithms"]
        for seed in args.seeds:
            for name in args.algorithms:
                script, words = ALGORITHMS[name]
                folder = f"runs/{env}-{name.replace('. ', '-').replace(' ', '-')}-seed{seed}"
                run = measured(train(runs, folder, env, seed, args.minutes, args.episodes, words, script))
                mine.setdefault(name, {})[str(seed)] = {**run, "minutes": args.minutes}
                write_result(args.json, {"command": COMMAND, "environments": found})
    print(table({"environments": found}))


if __name__ == "__main__":
    main()
