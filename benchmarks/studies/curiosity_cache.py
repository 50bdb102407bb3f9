"""How often curiosity's cache answers, and how wrong it is by then, by kind of task; prints a table.

Usage: python benchmarks/studies/curiosity_cache.py [--output docs/results/curiosity_cache.json]

Random tools on ZoomRead, where every episode has a level of its own, where eight episodes of a group share
one, and where there are 360 levels or 8; and random steps on FrozenLake, a world of 16 states. Each is scored
as it is played, and learnt from after each episode or group, with the shipped ``cache_max_age`` and with
greater ones. Printed: transitions, the share of duplicates in a batch, the share of look-ups that the cache
answered, and by how much the answers differ from what the model would have said at that time (median and 90 %
quantile of the relative difference, of the second half).
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

import pixelis.envs  # noqa: F401  # registers the environments
from pixelis.rewards.curiosity.settings import CuriositySettings
from pixelis.rewards.curiosity.term import CuriosityTerm
from pixelis.rewards.terms.term import Transition

AGES = (CuriositySettings().cache_max_age, 64, 256)
EPISODES = 240
WORKLOADS: dict[str, dict[str, int]] = {
    "ZoomRead, new levels": {"levels": 0, "group": 1},
    "ZoomRead, new levels, groups of 8": {"levels": 0, "group": 8},
    "ZoomRead, 360 levels": {"levels": 360, "group": 1},
    "ZoomRead, 8 levels": {"levels": 8, "group": 1},
    "FrozenLake, 16 states": {},
}
Episode = list[Transition]


def turn(rng: np.random.Generator) -> str:
    """Return a random turn: list regions, read, zoom to one of 81 places, or answer."""
    kind = int(rng.integers(4))
    if kind == 3:
        return "<answer>A</answer>"
    name = ("SEGMENT", "READ_TEXT", "ZOOM")[kind]
    x, y = (float(v) for v in rng.integers(1, 10, 2) / 10)
    arguments = {"center": [x, y], "factor": 4} if name == "ZOOM" else {}
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


def zoom_read(levels: int, group: int) -> Iterator[Episode]:
    """Yield episodes on this many levels (0: a new one for each group)."""
    env = gym.make("Pixelis/ZoomRead-v0", reader="truth", max_turns=4, disable_env_checker=True)
    for episode in range(EPISODES):
        rng = np.random.default_rng([episode, 7])
        seed = int(rng.integers(levels)) if levels else 1000 + episode // group
        yield _play(env, seed, lambda rng=rng: turn(rng))


def lake() -> Iterator[Episode]:
    """Yield episodes on the frozen lake."""
    env = gym.make("FrozenLake-v1", disable_env_checker=True)
    rng = np.random.default_rng(0)
    for episode in range(EPISODES):
        yield _play(env, episode, lambda: int(rng.integers(4)))


def _play(env: Any, seed: int, act: Any) -> Episode:
    observation, _ = env.reset(seed=seed)
    steps, ended = [], False
    while not ended:
        action = act()
        after, _, terminated, truncated, _ = env.step(action)
        before, shown = (one if isinstance(one, dict) else {"value": one} for one in (observation, after))
        steps.append(Transition(before, str(action), shown, (), terminated, truncated))
        observation, ended = after, terminated or truncated
    return steps


def measure(episodes: Sequence[Episode], group: int, age: int) -> dict[str, float]:
    """Score and learn; return the rates, and how far answers of the cache were off."""
    term, off = CuriosityTerm(cache_max_age=age), []
    rates: dict[str, float] = {}
    for start in range(0, len(episodes), group):
        together = episodes[start : start + group]
        memories = [term.begin() for _ in together]
        for place in range(max(map(len, together))):
            live = [
                (memory, one[place])
                for memory, one in zip(memories, together, strict=True)
                if place < len(one)
            ]
            found = term.score(live)
            if start > len(episodes) / 2:
                now = term.measure([step for _, step in live])
                off += [
                    abs(old - new) / max(new, 1e-9)
                    for old, new in zip(found, now, strict=True)
                    if abs(old - new) > 1e-6
                ]
        rates = term.learn()
    return {
        "steps": float(term.steps),
        "duplicate_rate": rates["duplicate_rate"],
        "cache_hit_rate": rates["cache_hit_rate"],
        "off_median": float(np.median(off)) if off else 0.0,
        "off_90": float(np.quantile(off, 0.9)) if off else 0.0,
    }


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=Path("docs/results/curiosity_cache.json"))
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    print("workload | age | steps | duplicates | cache hits | off, median | off, 90 %")
    for name, settings in WORKLOADS.items():
        episodes = list(zoom_read(**settings) if settings else lake())
        for age in AGES:
            row = {"workload": name, "age": age, **measure(episodes, settings.get("group", 1), age)}
            rows.append(row)
            print(
                f"{name} | {age} | {row['steps']:.0f} | {row['duplicate_rate']:.3f} "
                f"| {row['cache_hit_rate']:.3f} | {row['off_median']:.2f} | {row['off_90']:.2f}",
                flush=True,
            )
    result = {"episodes": EPISODES, "machine": platform.machine(), "rows": rows}
    options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
