"""Speed and memory of every environment; one core, medians: ``python benchmarks/speed/env_speed.py``.

The oracle plays, one call a step, on seeds that were not played before (readings are cached by their pixels).
Memory is what each of a few more environments adds to a process that has played one. With ``--vectors`` also
Gymnasium's sync and async vectors of 1, 4 and 16 environments, each step a ZOOM. Next to other work,
wall-clock times mean little: quiet the machine, or take ``--clock cpu`` (not for vectors: those are wall).
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import gymnasium as gym
import numpy as np

from pixelis.envs.actions import ToolCall, parse_action
from pixelis.envs.check import make_env
from pixelis.envs.pixel.base.scripted_turns import call
from pixelis.envs.players import ScriptedPlayer
from pixelis.envs.registration import ENVIRONMENTS
from pixelis.envs.tool_env import ToolEnv

CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
TARGETS = {"reset": 80.0, "step": 25.0, "memory": 60.0}
"""Milliseconds, milliseconds for a step that reads no text, MB for one environment more."""
WARM_UP, MORE = 2, 4
FIRST_SEED = 10_000
SIZES = (1, 4, 16)
VECTOR_STEPS = 40
VECTORS = {"sync": gym.vector.SyncVectorEnv, "async": partial(gym.vector.AsyncVectorEnv, context="spawn")}
ZOOM_IN = call("ZOOM", center=[0.5, 0.5], factor=4)

Sample = tuple[str, float]
"""What was done (``reset``, ``answer`` or the name of a tool) and how long it took, in milliseconds."""


def open_env(env_id: str, difficulty: int | None = None) -> ToolEnv[Any]:
    """Make an environment that never runs out of turns, without wrappers.

    A difficulty that it does not have becomes its hardest.
    """
    env = make_env(env_id, max_turns=10_000).unwrapped
    assert isinstance(env, ToolEnv)  # every registered environment is one
    if difficulty is not None:
        env.difficulty = min(difficulty, env.source.difficulties[-1])
    return env


def play(env: ToolEnv[Any], seed: int, clock: Any) -> Iterator[Sample]:
    """Let the oracle play an episode, one call a step; yield what each took."""
    begun = clock()
    observation, info = env.reset(seed=seed)
    yield "reset", 1000 * (clock() - begun)
    policy: ScriptedPlayer = env.players()["oracle"](env)
    over = False
    while not over:
        turn = policy.act(observation, info)
        calls = [
            call(one.name, **one.arguments) for one in parse_action(turn).calls if isinstance(one, ToolCall)
        ]
        records: list[Any] = []
        texts: list[str] = []
        for action in calls or [turn]:
            begun = clock()
            observation, _, *ends, info = env.step(action)
            names = [record["tool"] for record in info["tool_calls"]]
            yield (names or ["answer"])[0], 1000 * (clock() - begun)
            records += info["tool_calls"]
            texts.append(observation["text"])
            over = any(ends)
        observation, info = {**observation, "text": "\n".join(texts)}, {**info, "tool_calls": records}


def measure(env_id: str, difficulty: int | None, episodes: int, clock: Any) -> dict[str, Any]:
    """Return medians and 99th percentiles of an environment's reset and steps, steps a second, bytes."""
    env = open_env(env_id, difficulty)
    for seed in range(WARM_UP):
        list(play(env, 2 * FIRST_SEED + seed, clock))
    samples = [sample for seed in range(episodes) for sample in play(env, FIRST_SEED + seed, clock)]
    observation, _ = env.reset(seed=0)
    tools = {name: spread([ms for one, ms in samples if one == name]) for name, _ in samples}
    size = sum(v.nbytes if isinstance(v, np.ndarray) else len(v.encode()) for v in observation.values())
    return {
        "reset": tools.pop("reset"),
        "tools": tools,
        "steps_per_second": (len(samples) - episodes) / (sum(ms for _, ms in samples) / 1000),
        "observation_bytes": size,
    }


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return median, 99th percentile and count."""
    return {"median": statistics.median(values), "p99": float(np.percentile(values, 99)), "n": len(values)}


def memory(env_id: str) -> float:
    """Return what each of ``MORE`` environments adds to this process's memory, MB; for a fresh process."""
    kept = [open_env(env_id)]
    list(play(kept[0], FIRST_SEED, time.perf_counter))
    gc.collect()
    before = resident()
    for number in range(MORE):
        kept.append(open_env(env_id))
        list(play(kept[-1], FIRST_SEED + 1 + number, time.perf_counter))
    gc.collect()
    return (resident() - before) / MORE


def resident() -> float:
    """Return the memory that only this process holds, MB."""
    rows = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(row.split()[1]) for row in rows if row.startswith("Private")) / 1024


def vector_speed(env_id: str) -> dict[str, float]:
    """Return the environment steps a second of vectors by kind and size, wall clock."""
    found = {}
    for kind, make in VECTORS.items():
        for size in SIZES:
            vector = make([partial(gym.make, f"pixelis:{env_id}", disable_env_checker=True)] * size)
            vector.reset(seed=0)
            vector.step((ZOOM_IN,) * size)
            begun = time.perf_counter()
            for _ in range(VECTOR_STEPS):
                vector.step((ZOOM_IN,) * size)
            found[f"{kind} {size}"] = VECTOR_STEPS * size / (time.perf_counter() - begun)
            vector.close()
    return found


def markdown(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the table: an environment a row; a value over its target is bold."""
    lines = [
        "| environment | reset, ms (p99) | slowest other step, ms (p99) | READ_TEXT, ms (p99) | steps/s "
        "| MB an environment | bytes an observation |",
        "|---" * 7 + "|",
    ]
    for env_id, row in found.items():
        others = {name: times for name, times in row["tools"].items() if name != "READ_TEXT"}
        slowest = max(others, key=lambda name: others[name]["median"])
        cells = [
            cell(row["reset"], TARGETS["reset"]),
            f"{slowest} {cell(others[slowest], TARGETS['step'])}",
            cell(row["tools"].get("READ_TEXT"), None),
        ]
        heavy = "**" * (row["memory"] > TARGETS["memory"])
        cells += [f"{row['steps_per_second']:.0f}", f"{heavy}{row['memory']:.1f}{heavy}"]
        lines.append(f"| {env_id} | {' | '.join(cells)} | {row['observation_bytes']:,} |")
    vectors = {env_id: row["vectors"] for env_id, row in found.items() if "vectors" in row}
    if vectors:
        names = list(next(iter(vectors.values())))
        lines += ["", f"| steps/s of vectors | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    lines += [
        f"| {env_id} | {' | '.join(f'{rate:.0f}' for rate in rates.values())} |"
        for env_id, rates in vectors.items()
    ]
    return "\n".join(lines)


def cell(times: Mapping[str, float] | None, target: float | None) -> str:
    """Return a median with its 99th percentile, bold when the median is over the target."""
    if times is None:
        return "–"
    mark = "**" * (target is not None and times["median"] > target)
    return f"{mark}{times['median']:.1f}{mark} ({times['p99']:.1f})"


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ids = [entry.id for entry in ENVIRONMENTS]
    parser.add_argument("--env", nargs="+", default=ids, help="which environments (default: all registered)")
    parser.add_argument("--episodes", type=int, default=20)
    parser.add_argument("--difficulty", type=int, help="default: each environment's own")
    parser.add_argument("--clock", choices=sorted(CLOCKS), default="wall")
    parser.add_argument("--vectors", action="store_true", help="also sync and async vectors")
    parser.add_argument("--json", type=Path, help="file for the numbers")
    parser.add_argument("--memory", metavar="ID", help="print the MB of one environment more, nothing else")
    options = parser.parse_args()
    if options.memory:
        print(memory(options.memory))
        return
    cv2.setNumThreads(1)
    found = {}
    for env_id in options.env:
        found[env_id] = measure(env_id, options.difficulty, options.episodes, CLOCKS[options.clock])
        words = [sys.executable, __file__, "--memory", env_id]
        done = subprocess.run(words, check=True, capture_output=True, text=True)
        found[env_id]["memory"] = float(done.stdout)
        if options.vectors:
            found[env_id]["vectors"] = vector_speed(env_id)
        print(f"{env_id} done", file=sys.stderr)
    print(markdown(found))
    if options.json:
        document = {
            "difficulty": options.difficulty,
            "episodes": options.episodes,
            "clock": options.clock,
            "environments": found,
        }
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
