"""Episodes to a success of 0.8 with the reward term ``progress`` and without, by kind of environment.

    python benchmarks/learning/progress_learning.py --kind web --seeds 5 --json FILE

The agent is as small as one can be that still acts: a softmax over the turns that it could write next, linear
in what it knows of each (``progress_agents.py``), trained by REINFORCE with the advantages of GRPO's trainer
(`pixelis.agents.losses`). It begins at random, in tasks that take several right turns in a row:

- ``web``: three right clicks in WebBrowse's shop, a control of the page a turn;
- ``code``: CodeProblem with RUN and SUBMIT, and for each problem five programs, of which one is right;
- ``tweets``: TweetReply's threads, and eight drafts for each message of which one is good.

The arms differ in reward and credit alone:

- ``episode``: the environment's reward, one advantage an episode (the default of GRPO);
- ``turn``: the environment's reward, credit by turn with a discount of 0.7;
- ``progress``: the same credit, and ``rewards.progress`` with its shipped weight;
- ``keep``: one advantage an episode, and what failures keep of their progress (``at_failure: keep``).

A file that ``--json`` names keeps what it has of other kinds and discounts.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from progress_agents import (
    Agent,
    CodeAgent,
    PageAgent,
    ReplyAgent,
    code_env,
    page_env,
    problems,
    reply_env,
    threads,
)
from result_tables import markdown_table

import pixelis  # noqa: F401  # registers the ids
from pixelis.agents.losses.advantages import group_advantages
from pixelis.agents.losses.credit import returns_to_go, turn_advantages
from pixelis.envs.tool_env import ToolEnv
from pixelis.files import write_atomically
from pixelis.wrappers import wrap

GAMMA, GOAL, WINDOW = 0.7, 0.8, 5
_NOT_SETTINGS = ("json", "kind", "untrained")
ARMS: dict[str, tuple[dict[str, Any], bool]] = {
    "episode": ({}, False),
    "turn": ({}, True),
    "progress": ({"progress": {}}, True),
    "keep": ({"progress": {"at_failure": "keep"}}, False),
}
"""Arm → its ``rewards``, and whether credit is by turn."""


@dataclass(frozen=True)
class Kind:
    """A kind of environment.

    Attributes:
        env: makes it.
        agent: what plays it.
        width: numbers that the agent knows of a turn.
        tasks: makes the tasks that are played; none of them: all that the environment draws.
    """

    env: Callable[[], gym.Env[Any, Any]]
    agent: Callable[[], Agent]
    width: int
    tasks: Callable[[], Sequence[dict[str, Any]]] = tuple


KINDS = {
    "web": Kind(page_env, PageAgent, PageAgent.width),
    "code": Kind(code_env, CodeAgent, CodeAgent.width, problems),
    "tweets": Kind(reply_env, ReplyAgent, ReplyAgent.width, threads),
}


@dataclass
class Played:
    """One episode: for each turn what could be written, what was, and what was paid; and how it ended."""

    options: list[np.ndarray] = field(default_factory=list)
    chosen: list[int] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    success: bool = False
    nearness: float = 0.0


def play(
    env: gym.Env[Any, Any],
    agent: Agent,
    weights: np.ndarray,
    seed: int,
    tasks: Sequence[dict[str, Any]],
    rng: np.random.Generator,
) -> Played:
    """Play an episode of a task."""
    options = {"task": tasks[seed % len(tasks)]} if tasks else None
    observation, _ = env.reset(seed=seed, options=options)
    bare = env.unwrapped
    assert isinstance(bare, ToolEnv) and bare.task is not None  # reset() has drawn it
    agent.begin(bare.task)
    played, done = Played(), False
    while not done:
        turns, table = agent.options(observation["text"])
        if not turns:
            break
        scores = table @ weights
        chances = np.exp(scores - scores.max())
        choice = int(rng.choice(len(turns), p=chances / chances.sum()))
        played.options.append(table)
        played.chosen.append(choice)
        agent.took(choice)
        observation, reward, terminated, truncated, info = env.step(turns[choice])
        played.rewards.append(float(reward))
        done = terminated or truncated
        played.success = bool(info.get("success", False))
    played.nearness = bare.nearness() or 0.0
    return played


def advantages(groups: list[list[Played]], gamma: float | None) -> np.ndarray:
    """Return the advantage of every turn, float64 [groups, members, turns]; no discount: its episode's."""
    turns = max(len(one.rewards) for group in groups for one in group)
    if gamma is None:
        sums = np.array([[sum(one.rewards) for one in group] for group in groups])
        return np.repeat(group_advantages(sums)[:, :, None], turns, axis=2)
    returns = np.full((len(groups), len(groups[0]), turns), np.nan)
    for row, group in zip(returns, groups, strict=True):
        for place, one in zip(row, group, strict=True):
            place[: len(one.rewards)] = returns_to_go(one.rewards, gamma)
    return turn_advantages(returns)


def gradient(groups: list[list[Played]], values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the policy gradient, the mean over all turns of A · ∇ log π."""
    total, count = np.zeros_like(weights), 0
    for group, of_group in zip(groups, values, strict=True):
        for one, of_one in zip(group, of_group, strict=True):
            for table, choice, value in zip(one.options, one.chosen, of_one, strict=False):
                scores = table @ weights
                chances = np.exp(scores - scores.max())
                total += value * (table[choice] - chances @ table / chances.sum())
                count += 1
    return total / max(1, count)


def learn(arm: str, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    """Train one agent; return its success and turns by step, and the episodes that it took to the goal."""
    kind, (rewards, by_turn) = KINDS[options.kind], ARMS[arm]
    env = wrap(kind.env(), rewards) if rewards else kind.env()
    agent, tasks, weights = kind.agent(), kind.tasks(), np.zeros(kind.width)
    rng, successes, turns = np.random.default_rng(seed), list[float](), list[float]()
    first, start = None, time.process_time()
    for step in range(options.steps):
        seeds = rng.integers(2**31, size=options.groups)
        groups = [
            [play(env, agent, weights, int(s), tasks, rng) for _ in range(options.group_size)] for s in seeds
        ]
        successes.append(float(np.mean([one.success for group in groups for one in group])))
        turns.append(float(np.mean([len(one.rewards) for group in groups for one in group])))
        values = advantages(groups, options.gamma if by_turn else None)
        weights = weights + options.lr * gradient(groups, values, weights)
        if first is None and len(successes) >= WINDOW and np.mean(successes[-WINDOW:]) >= GOAL:
            first = (step + 1) * options.groups * options.group_size
            break
    env.close()
    seconds = round(time.process_time() - start, 1)
    run = {"arm": arm, "seed": seed, "episodes": first, "cpu_seconds": seconds}
    return {**run, "success": successes, "turns": turns}


def untrained(options: argparse.Namespace) -> dict[str, float]:
    """Return what reward and progress say of the episodes of an agent that has learnt nothing.

    Returns:
        ``success``; ``silent``, the share of groups whose rewards are all equal, and ``silent_progress``, the
        same of the progress reached; ``agreement``, the correlation of the two among failures, NaN if one of
        them is constant.
    """
    kind, rng = KINDS[options.kind], np.random.default_rng(options.first_seed)
    env, agent, tasks, weights = kind.env(), kind.agent(), kind.tasks(), np.zeros(kind.width)
    seeds = rng.integers(2**31, size=options.untrained)
    groups = [
        [play(env, agent, weights, int(s), tasks, rng) for _ in range(options.group_size)] for s in seeds
    ]
    env.close()
    failed = [one for group in groups for one in group if not one.success]
    paid, near = [sum(one.rewards) for one in failed], [one.nearness for one in failed]
    differ = np.std(paid) > 0 and np.std(near) > 0
    return {
        "success": 1 - len(failed) / (len(seeds) * options.group_size),
        "silent": float(np.mean([np.ptp([sum(one.rewards) for one in group]) < 1e-9 for group in groups])),
        "silent_progress": float(
            np.mean([np.ptp([one.nearness for one in group]) < 1e-9 for group in groups])
        ),
        "agreement": float(np.corrcoef(paid, near)[0, 1]) if differ else float("nan"),
    }


def summary(runs: Sequence[dict[str, Any]]) -> str:
    """Return a table with a row for each arm."""
    rows = []
    for arm in dict.fromkeys(run["arm"] for run in runs):
        of_arm = [run for run in runs if run["arm"] == arm]
        reached = [run["episodes"] for run in of_arm if run["episodes"] is not None]
        shown = f"{statistics.median(reached):.0f} ({min(reached)}–{max(reached)})" if reached else "–"
        last = statistics.mean(np.mean(run["success"][-WINDOW:]) for run in of_arm)
        seconds = statistics.mean(run["cpu_seconds"] for run in of_arm)
        rows.append([arm, f"{len(reached)} of {len(of_arm)}", shown, f"{last:.2f}", f"{seconds:.0f}"])
    head = ["arm", "reached 0.8", "episodes, median (least to most)", "last success", "CPU s"]
    return markdown_table(head, rows)


def main() -> None:
    """Train every arm with every seed, and print a table."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--kind", default="web", choices=list(KINDS))
    parser.add_argument("--arms", nargs="*", default=list(ARMS), choices=list(ARMS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--first-seed", type=int, default=0, help="fit nothing to the seeds that are reported"
    )
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--groups", type=int, default=4)
    parser.add_argument("--group-size", type=int, default=8)
    parser.add_argument("--lr", type=float, default=5.0)
    parser.add_argument(
        "--gamma", type=float, default=GAMMA, help="discount a turn, of the arms with credit by turn"
    )
    parser.add_argument("--untrained", type=int, metavar="GROUPS", help="play so many groups, and train none")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.untrained:
        print({name: round(value, 3) for name, value in untrained(options).items()})
        return
    settings = {name: value for name, value in vars(options).items() if name not in _NOT_SETTINGS}
    key = options.kind if options.gamma == GAMMA else f"{options.kind}, gamma {options.gamma:g}"
    runs = []
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        for arm in options.arms:
            runs.append(learn(arm, seed, options))
            said = {name: runs[-1][name] for name in ("arm", "seed", "episodes", "cpu_seconds")}
            print(said, f"{np.mean(runs[-1]['success'][-WINDOW:]):.2f}", flush=True)
            if options.json:
                kept = json.loads(options.json.read_text("utf-8")) if options.json.exists() else {}
                kept[key] = {"settings": settings, "runs": runs}
                write_atomically(options.json, json.dumps(kept, indent=1) + "\n")
    print(summary(runs))


if __name__ == "__main__":
    main()
