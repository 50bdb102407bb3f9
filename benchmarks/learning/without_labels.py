"""What training without labels brings: ``python benchmarks/learning/without_labels.py --runs FOLDER``.

Trains the same model with the same seeds twice, on what the environment pays and on what its group votes for
(``--rewards.vote '{}'``), and evaluates both on the same held-out tasks before and after; there the labels
are known. Beside them, without any training: the start plays each held-out task ``--votes`` times, and the
majority's answer counts (a task whose group abstains counts as the mean of its members). Killed, the same
command goes on. Writes a table and JSON; a JSON keeps what it has.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from every_env import LESSONS, MODES, earlier, lesson, measured, train
from learning_runs import LearningRuns, arguments, write_result
from result_tables import interval_cell, markdown_table

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.episodes.task_env import TaskEnv
from pixelis.agents.models.policy import Policy
from pixelis.agents.rl.vote import ballot_of
from pixelis.agents.rollout.collector import Collector, EpisodeRequest
from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.agents.settings.vote import VoteSettings

ENVS = ("ZoomRead", "SizeCompare")
ARMS = {"labels": (), "vote": ("--rewards.vote", "{}")}
"""What each arm adds to the command."""
COMMAND = "python benchmarks/learning/without_labels.py --runs FOLDER"
TASKS_AT_ONCE = 8
RESAMPLES = 10_000


def curve(folder: Path) -> dict[str, Any]:
    """Return what a run measured, and by step how its groups voted, where they did."""
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text("utf-8").splitlines()]
    keys = sorted(key for key in rows[-1] if key.startswith("vote/"))
    return {**measured(folder), "votes": {key: [row.get(key) for row in rows] for key in keys}}


def voted_at_test_time(env: str, tasks: int, votes: int, seed: int) -> dict[str, Any]:
    """Let the lesson's model play each held-out task several times, and its majority answer."""
    plan = lesson(env)
    task_env = TaskEnv.open(plan["env"], plan.get("env_kwargs", {}), {"difficulty": plan["difficulty"]})
    policy = Policy.load(plan["model"])
    settings = SamplingSettings(max_new_tokens=plan.get("max_new_tokens", 64))
    options = task_env.options("test") | {"difficulty": plan["difficulty"]}
    asked = [
        [EpisodeRequest(task, group, member, options) for member in range(votes)]
        for group, task in enumerate(task_env.held_out_seeds(tasks))
    ]
    groups: list[list[Episode]] = []
    with Collector(task_env.make) as collector:
        for start in range(0, len(asked), TASKS_AT_ONCE):
            part = asked[start : start + TASKS_AT_ONCE]
            played = collector.collect(policy, [one for group in part for one in group], settings, seed)
            groups += [played[first : first + votes] for first in range(0, len(played), votes)]
    return tally(groups)


def tally(groups: Sequence[Sequence[Episode]]) -> dict[str, Any]:
    """Return success of members and of majorities over tasks, with intervals by bootstrap over tasks.

    ``wrong``: share of the tasks whose majority is wrong; ``abstained``: share of those without a majority.
    """
    single, chosen, wrong, abstained = [], [], 0, 0
    for group in groups:
        members = [each for each in group if each.valid_for_training]
        right = np.array([bool(each.success) for each in members], float)
        ballot = ballot_of(members, VoteSettings(threshold=0.0))
        single.append(right.mean())
        chosen.append(right[ballot.agrees].mean() if ballot.agrees.any() else right.mean())
        abstained += not ballot.agrees.any()
        wrong += bool(ballot.agrees.any() and chosen[-1] < 0.5)
    count = len(groups)
    return {
        "tasks": count,
        "single": _mean_with_interval(single),
        "majority": _mean_with_interval(chosen),
        "wrong": wrong / count,
        "abstained": abstained / count,
    }


def _mean_with_interval(values: Sequence[float]) -> dict[str, Any]:
    found, rng = np.asarray(values), np.random.default_rng(0)
    means = found[rng.integers(0, len(found), (RESAMPLES, len(found)))].mean(1)
    low, high = np.quantile(means, [0.025, 0.975])
    return {"success": float(found.mean()), "interval": [float(low), float(high)]}


def table(result: dict[str, Any]) -> str:
    """Return the table for the docs: a row for each environment, seed and arm, and one for the vote alone."""
    rows = []
    for env, found in sorted(result["environments"].items()):
        start = f"{env}, difficulty {found['difficulty']}"
        for seed, arms in sorted(found["seeds"].items()):
            for arm, run in arms.items():
                cells = [f"{_cell(run['before'][mode])} → **{_cell(run['after'][mode])}**" for mode in MODES]
                rows.append([start, f"{arm}, seed {seed}", str(run["steps"]), *cells])
        if alone := found.get("test_time"):
            cells = f"{_cell(alone['single'])} → **{_cell(alone['majority'])}**"
            rows.append([start, f"no training, {found['votes']} votes", "0", cells, ""])
    return markdown_table(
        ["environment", "arm", "steps", *(f"{mode}, before → after" for mode in MODES)], rows
    )


def _cell(found: dict[str, Any]) -> str:
    return interval_cell(found["success"], *found["interval"])


def main() -> None:
    """Train and evaluate what is not done yet, then write table and numbers."""
    parser = arguments(__doc__, "what was measured")
    known = sorted(path.stem for path in LESSONS.glob("*.yaml"))
    parser.add_argument("--envs", nargs="*", default=list(ENVS), choices=known)
    parser.add_argument("--arms", nargs="*", default=list(ARMS), choices=list(ARMS))
    parser.add_argument("--minutes", type=float, default=10.0, help="of training each")
    parser.add_argument("--episodes", type=int, default=200, help="of an evaluation")
    parser.add_argument(
        "--votes", type=int, default=8, help="episodes of a task at test time; 0: no such vote"
    )
    args = parser.parse_args()
    runs, found = LearningRuns(args.runs), earlier(args.json)

    def keep() -> None:
        write_result(args.json, {"command": COMMAND, "environments": found})

    for env in args.envs:
        about = {key: lesson(env)[key] for key in ("model", "difficulty")}
        mine = found.setdefault(env, {"seeds": {}})
        mine.update(about)
        if args.votes and "test_time" not in mine:
            with runs.timed(f"{env} voting"):
                mine["test_time"] = voted_at_test_time(env, args.episodes, args.votes, args.seeds[0])
            mine["votes"] = args.votes
            keep()
        for seed in args.seeds:
            for arm in args.arms:
                name = f"runs/{env}-{arm}-seed{seed}"
                run = curve(train(runs, name, env, seed, args.minutes, args.episodes, ARMS[arm]))
                mine["seeds"].setdefault(str(seed), {})[arm] = {**run, "minutes": args.minutes}
                keep()
    print(table({"environments": found}))


if __name__ == "__main__":
    main()
