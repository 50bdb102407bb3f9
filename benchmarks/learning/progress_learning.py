"""Episodes to a success of 0.8 with the reward term ``progress`` and without, on a web site.

    python benchmarks/learning/progress_learning.py --seeds 3 --json docs/results/progress_learning.json

The agent is as small as one can be that still acts on pages: a softmax over the controls that an observation
shows, linear in what their words are (``features``), trained by REINFORCE with the advantages of GRPO's
trainer (`pixelis.agents.losses`). It begins at random, in tasks that take several right clicks in a row. The
arms differ in reward and credit alone:

- ``episode``: the environment's reward, one advantage an episode (the default of GRPO);
- ``turn``: the environment's reward, credit by turn with a discount of 0.7;
- ``progress``: the same credit, and ``rewards.progress`` with its shipped weight;
- ``keep``: one advantage an episode, and what failures keep of their progress (``at_failure: keep``).
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import time
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

import pixelis  # noqa: F401  # registers the ids
from pixelis.agents.losses.advantages import group_advantages
from pixelis.agents.losses.credit import returns_to_go, turn_advantages
from pixelis.wrappers import wrap

ENV, GAMMA, GOAL, WINDOW = "Pixelis/WebBrowse-v0", 0.7, 0.8, 5
ARMS: dict[str, tuple[dict[str, Any], bool]] = {
    "episode": ({}, False),
    "turn": ({}, True),
    "progress": ({"progress": {}}, True),
    "keep": ({"progress": {"at_failure": "keep"}}, False),
}
"""Arm → its ``rewards``, and whether credit is by turn."""

WORDS = 64
CONTROL = re.compile(r'(\w+) "([^"]*)" \[(e\d+@v\d+)\]')


def features(question: str, page: str, clicked: set[tuple[str, str]]) -> tuple[list[str], np.ndarray]:
    """Return the ids of the controls on a page and what is known of each, float64 [n, 2 · WORDS + 3].

    That is its role and its name (hashed), whether the question names it, and whether it was pressed before.
    """
    found = CONTROL.findall(page)
    table = np.zeros((len(found), 2 * WORDS + 3))
    for row, (role, name, _) in zip(table, found, strict=True):
        row[zlib.crc32(role.encode()) % WORDS] = 1
        row[WORDS + zlib.crc32(name.encode()) % WORDS] = 1
        named, before = name.casefold() in question.casefold(), (role, name) in clicked
        row[-3:] = named, before, named and before
    return [identifier for _, _, identifier in found], table


@dataclass
class Played:
    """One episode: for each turn what could be pressed, what was, and what was paid."""

    options: list[np.ndarray] = field(default_factory=list)
    chosen: list[int] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    success: bool = False


def play(env: gym.Env[Any, Any], weights: np.ndarray, seed: int, rng: np.random.Generator) -> Played:
    """Play an episode of a task."""
    observation, _ = env.reset(seed=seed)
    question, played, done = observation["text"].splitlines()[0], Played(), False
    clicked: set[tuple[str, str]] = set()
    while not done:
        ids, table = features(question, observation["text"], clicked)
        if not ids:
            break
        scores = table @ weights
        chances = np.exp(scores - scores.max())
        choice = int(rng.choice(len(ids), p=chances / chances.sum()))
        played.options.append(table)
        played.chosen.append(choice)
        role, name, identifier = CONTROL.findall(observation["text"])[choice]
        clicked.add((role, name))
        call = json.dumps({"name": "CLICK", "arguments": {"id": identifier}})
        observation, reward, terminated, truncated, info = env.step(f"<tool_call>{call}</tool_call>")
        played.rewards.append(float(reward))
        done = terminated or truncated
        played.success = bool(info.get("success", False))
    return played


def advantages(groups: list[list[Played]], by_turn: bool) -> np.ndarray:
    """Return the advantage of every turn, float64 [groups, members, turns]."""
    turns = max(len(one.rewards) for group in groups for one in group)
    if not by_turn:
        sums = np.array([[sum(one.rewards) for one in group] for group in groups])
        return np.repeat(group_advantages(sums)[:, :, None], turns, axis=2)
    returns = np.full((len(groups), len(groups[0]), turns), np.nan)
    for row, group in zip(returns, groups, strict=True):
        for place, one in zip(row, group, strict=True):
            place[: len(one.rewards)] = returns_to_go(one.rewards, GAMMA)
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
    """Train one agent; return its success by step and the episodes that it took to the goal."""
    rewards, by_turn = ARMS[arm]
    env = gym.make(
        ENV, family=options.family, difficulty=options.difficulty, max_turns=options.max_turns,
        disable_env_checker=True,
    )  # fmt: skip
    env = wrap(env, rewards) if rewards else env
    rng, weights, successes = np.random.default_rng(seed), np.zeros(2 * WORDS + 3), []
    first, start = None, time.process_time()
    for step in range(options.steps):
        seeds = rng.integers(2**31, size=options.groups)
        groups = [[play(env, weights, int(s), rng) for _ in range(options.group_size)] for s in seeds]
        successes.append(float(np.mean([one.success for group in groups for one in group])))
        weights = weights + options.lr * gradient(groups, advantages(groups, by_turn), weights)
        if first is None and len(successes) >= WINDOW and np.mean(successes[-WINDOW:]) >= GOAL:
            first = (step + 1) * options.groups * options.group_size
            break
    env.close()
    seconds = round(time.process_time() - start, 1)
    return {"arm": arm, "seed": seed, "episodes": first, "cpu_seconds": seconds, "success": successes}


def main() -> None:
    """Train every arm with every seed, and print a table."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--arms", nargs="*", default=list(ARMS), choices=list(ARMS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--family", default="shop")
    parser.add_argument("--difficulty", type=int, default=1)
    parser.add_argument("--max-turns", type=int, default=6)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--groups", type=int, default=4)
    parser.add_argument("--group-size", type=int, default=8)
    parser.add_argument("--lr", type=float, default=5.0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    runs = [learn(arm, seed, options) for arm in options.arms for seed in range(options.seeds)]
    print("| arm | reached 0.8 | episodes, median (least to most) | last success | CPU s |")
    print("|---|---|---|---|---|")
    for arm in options.arms:
        of_arm = [run for run in runs if run["arm"] == arm]
        reached = [run["episodes"] for run in of_arm if run["episodes"] is not None]
        shown = f"{statistics.median(reached):.0f} ({min(reached)}–{max(reached)})" if reached else "–"
        last = statistics.mean(np.mean(run["success"][-WINDOW:]) for run in of_arm)
        seconds = statistics.mean(run["cpu_seconds"] for run in of_arm)
        print(f"| {arm} | {len(reached)} of {len(of_arm)} | {shown} | {last:.2f} | {seconds:.0f} |")
    if options.json:
        settings = {name: value for name, value in vars(options).items() if name != "json"}
        options.json.write_text(json.dumps({"settings": settings, "runs": runs}, indent=1) + "\n")


if __name__ == "__main__":
    main()
