"""Measure what RecordTrajectory adds to a ZoomRead episode, in time and in bytes; print a table.

Usage: python benchmarks/speed/record_speed.py [--episodes 40] [--clock wall|cpu]

The oracle plays each seed first in an env that has not seen it, which draws the scene, and then, the scene
being cached, bare, recorded, and recorded with pictures. What recording adds is the difference of the latter,
and its share is that of the first time. Medians over episodes of one thread. Next to other work take the CPU
clock.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym

import pixelis
from pixelis.wrappers.recording.record import RecordTrajectory

CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
WARM_UP = 3


def play(env: gym.Env[Any, Any], seed: int, clock: Callable[[], float]) -> tuple[float, int]:
    """Play an episode with the oracle; return the milliseconds in ``reset`` and ``step``, and the steps."""
    inner: Any = env.unwrapped
    policy = inner.players()["oracle"](inner)
    start = clock()
    observation, info = env.reset(seed=seed)
    spent, steps, over = clock() - start, 0, False
    while not over:
        action = policy.act(observation, info)
        start = clock()
        observation, _, terminated, truncated, info = env.step(action)
        spent, steps, over = spent + clock() - start, steps + 1, terminated or truncated
    return 1000 * spent, steps


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--episodes", type=int, default=40)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        envs = {
            "first time": gym.make("Pixelis/ZoomRead-v0"),
            "bare": gym.make("Pixelis/ZoomRead-v0"),
            "recorded": RecordTrajectory(gym.make("Pixelis/ZoomRead-v0"), folder / "lines"),
            "with pictures": RecordTrajectory(
                gym.make("Pixelis/ZoomRead-v0"), folder / "pictures", images=True
            ),
        }
        times: dict[str, list[float]] = {kind: [] for kind in envs}
        steps = []
        for seed in range(WARM_UP + arguments.episodes):
            for kind, env in envs.items():
                spent, count = play(env, seed, CLOCKS[arguments.clock])
                if seed >= WARM_UP:
                    times[kind].append(spent)
                    steps.append(count)
        for env in envs.values():
            env.close()
        print(
            f"pixelis {pixelis.__version__}, {statistics.mean(steps):.1f} steps an episode, {arguments.clock}"
        )
        first = statistics.median(times["first time"])
        for kind, values in times.items():
            extra = statistics.median(a - b for a, b in zip(values, times["bare"], strict=True))
            added = "" if kind in ("first time", "bare") else f", {extra:+6.2f} ms ({extra / first:+.1%})"
            print(f"{kind:14} {statistics.median(values):7.1f} ms{added}")
        for kind in ("lines", "pictures"):
            size = sum(path.stat().st_size for path in (folder / kind).rglob("*") if path.is_file())
            print(f"{kind:14} {size / 1000 / (WARM_UP + arguments.episodes):7.1f} kB an episode")


if __name__ == "__main__":
    main()
