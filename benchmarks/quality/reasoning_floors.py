"""Play every task of reasoning-gym by its scripted players: what is a success by luck, and by an exploit.

Usage: python benchmarks/quality/reasoning_floors.py [--episodes 10] [--seconds 10] [--json FILE]

At difficulty 0, training questions, seeds 0, 1, …; a task whose questions take long is played for
``--seconds``. Tasks whose ``oracle`` is below 1, or any other player above 0, are printed.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import gymnasium as gym

import pixelis  # noqa: F401
from pixelis.envs.interop.reasoning.env import ReasoningGymEnv
from pixelis.envs.interop.reasoning.tasks import task_names


def successes(name: str, episodes: int, seconds: float) -> dict[str, float]:
    """Return the share of successes of a task by player."""
    env: ReasoningGymEnv = gym.make("Pixelis/ReasoningGym-v0", task=name).unwrapped  # type: ignore[assignment]
    until, won = time.monotonic() + seconds, {player: [] for player in env.players()}
    for seed in range(episodes):
        if seed and time.monotonic() > until:
            break
        for player, make in env.players().items():
            observation, info = env.reset(seed=seed)
            *_, info = env.step(make(env).act(observation, info))
            won[player].append(info["success"])
    return {player: sum(found) / len(found) for player, found in won.items()}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Floors and oracle of every task of reasoning-gym.")
    parser.add_argument("--episodes", type=int, default=10, help="of each task and player")
    parser.add_argument("--seconds", type=float, default=10.0, help="after which a slow task gets no more")
    parser.add_argument("--json", type=Path, help="where to write all shares")
    options = parser.parse_args()
    found = {name: successes(name, options.episodes, options.seconds) for name in task_names()}
    for name, shares in sorted(found.items(), key=lambda item: -item[1]["blind"]):
        odd = {player: share for player, share in shares.items() if share != (player == "oracle")}
        if odd:
            print(name, ", ".join(f"{player} {share:.2f}" for player, share in odd.items()))
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
