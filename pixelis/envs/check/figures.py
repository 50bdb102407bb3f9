"""What an environment costs: seconds, bytes and memory, measured and not judged."""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import psutil

from pixelis.envs.check.contract import Subject
from pixelis.envs.check.playing import leader
from pixelis.envs.tool_env import ToolEnv


@dataclass(frozen=True)
class Figures:
    """What episodes cost, one after the other in this process.

    Attributes:
        episodes: how many were played.
        steps: how many steps they had.
        steps_per_second: steps over their own time, resets and the player left out.
        step_p99_ms: what 99 of 100 steps do not exceed.
        reset_ms: median of a reset.
        observation_bytes: of text in UTF-8 and arrays, the largest.
        grown_mb: the most memory of the process in the second half of the episodes less the most in the
            first, in MB of 2²⁰; each half has all difficulties. None where that was not looked at.
        of: who played them.
    """

    episodes: int
    steps: int
    steps_per_second: float
    step_p99_ms: float
    reset_ms: float
    observation_bytes: int
    grown_mb: float | None
    of: str = "the oracle"

    def __str__(self) -> str:
        """Return a line for people."""
        grown = "" if self.grown_mb is None else f", grown by {self.grown_mb:.1f} MB"
        return (
            f"{self.steps_per_second:,.0f} steps/s (99 % within {self.step_p99_ms:.3g} ms), reset "
            f"{self.reset_ms:.3g} ms, observations to {self.observation_bytes:,} bytes{grown}: "
            f"{self.episodes} episodes of {self.of}, {self.steps} steps"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the numbers by name."""
        return asdict(self)


def measure(subject: Subject) -> Figures | None:
    """Play the `leader` on every seed and difficulty; None where it does not come to an end by itself."""
    env = subject.tool_env()
    try:
        return _measure(env, subject.seeds)
    except Exception:  # the clauses say what is wrong with it
        return None
    finally:
        env.close()


def _measure(env: ToolEnv[Any], seeds: Sequence[int]) -> Figures:
    resets, steps, largest, memory = [], [], 0, []
    process = psutil.Process()
    for seed in seeds:  # the outer one: buffers that a difficulty needs are not taken for growth
        for difficulty in env.source.difficulties:
            began = time.perf_counter()
            observation, info = env.reset(seed=seed, options={"difficulty": difficulty})
            resets.append(time.perf_counter() - began)
            player = env.players()[leader(env)](env)
            over = False
            while not over:
                largest = max(largest, size_of(observation))
                action = player.act(observation, info)
                began = time.perf_counter()
                observation, _, terminated, truncated, info = env.step(action)
                steps.append(time.perf_counter() - began)
                over = terminated or truncated
            gc.collect(0)
            memory.append(process.memory_info().rss)
    half = len(memory) // 2
    grown = max(memory[half:]) - max(memory[:half] or memory)
    of = "the oracle" if env.knows_solutions else "the random player"
    return figures_of(resets, steps, largest, of, grown / 2**20)


def figures_of(
    resets: Sequence[float], steps: Sequence[float], largest: int, of: str, grown_mb: float | None = None
) -> Figures:
    """Return the figures of episodes whose resets and steps took so many seconds each."""
    return Figures(
        len(resets),
        len(steps),
        len(steps) / sum(steps),
        1e3 * float(np.quantile(steps, 0.99)),
        1e3 * float(np.median(resets)),
        largest,
        grown_mb,
        of,
    )


def size_of(value: Any) -> int:
    """Return the bytes of an observation: arrays as they lie in memory, text in UTF-8."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, dict):
        return sum(map(size_of, value.values()))
    return len(str(value).encode("utf-8", "surrogatepass"))
