r"""Measure every scripted player of an environment at every difficulty; print a table, write JSON.

Usage: python benchmarks/quality/env_baselines.py [--env ID] [--episodes 500] [--processes 2] [--output FILE]

The numbers on an environment's page come from
    python benchmarks/quality/env_baselines.py --env Pixelis/ZoomRead-v0 \
        --output docs/envs/zoom_read_baselines.json
    python scripts/env_docs.py
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import itertools
import json
import math
import multiprocessing
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pixelis.envs.check import make_env
from pixelis.envs.check.contract import Finding
from pixelis.envs.check.playing import play
from pixelis.envs.check.scores import greatest_floor, must_fail
from pixelis.envs.registration import ENVIRONMENTS
from pixelis.envs.tool_env import ToolEnv

CHUNK = 25  # episodes a process plays before it reports


@dataclass(frozen=True)
class Row:
    """One player at one difficulty.

    Attributes:
        player: its name.
        difficulty: 0 to 4.
        episodes: how many were played, on seeds 0, 1, ….
        successes: how many succeeded.
        low: lower end of the 95 % interval of the success rate (Wilson).
        high: its upper end.
        reward: mean reward.
        turns: mean number of turns.
    """

    player: str
    difficulty: int
    episodes: int
    successes: int
    low: float
    high: float
    reward: float
    turns: float


def wilson(successes: int, episodes: int) -> tuple[float, float]:
    """Return the 95 % interval of a success rate (Wilson 1927)."""
    z, n = 1.959964, episodes
    rate = successes / n
    middle, spread = rate + z * z / (2 * n), z * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


def open_env(env_id: str, **keywords: Any) -> ToolEnv[Any]:
    """Make an environment without wrappers."""
    env = make_env(env_id, **keywords).unwrapped
    assert isinstance(env, ToolEnv)  # every registered environment is one
    return env


def reader_keyword(env_id: str, reader: str) -> dict[str, str]:
    """Return the keyword that chooses the reader, empty for an environment that reads no pixels."""
    entry = next(entry for entry in ENVIRONMENTS if entry.id == env_id)
    module, _, name = entry.entry_point.partition(":")
    parameters = inspect.signature(getattr(importlib.import_module(module), name)).parameters
    return {"reader": reader} if "reader" in parameters else {}


def chosen(options: argparse.Namespace, reader: str | None = None) -> dict[str, str]:
    """Return the keywords of the environment that the options choose: reader and mode, where it has them."""
    mode = {"mode": options.mode} if options.mode else {}
    return {**reader_keyword(options.env, reader or options.reader), **mode}


def play_chunk(player: str, keywords: dict[str, Any], seeds: range) -> list[list[float]]:
    """Play seeds; return success, reward and turns of each."""
    env = open_env(**keywords)
    make, rows = env.players()[player], []
    for seed in seeds:
        episode = play(env, make(env), seed)
        rows.append([float(episode[-1][4]["success"]), episode[-1][1], len(episode) - 1.0])
    return rows


def chunks(episodes: int) -> Iterator[range]:
    """Split the seeds 0 … episodes - 1."""
    for start in range(0, episodes, CHUNK):
        yield range(start, min(start + CHUNK, episodes))


def measure(options: argparse.Namespace) -> list[Row]:
    """Play all players at all difficulties and print each row when it is there."""
    rows, keywords = [], {"env_id": options.env, "split": options.split, **chosen(options)}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.processes, mp_context=context) as pool:
        for player, difficulty in itertools.product(options.players, options.difficulties):
            jobs = [
                pool.submit(play_chunk, player, {**keywords, "difficulty": difficulty}, seeds)
                for seeds in chunks(options.episodes)
            ]
            played = np.array([row for job in jobs for row in job.result()])
            successes = int(played[:, 0].sum())
            low, high = wilson(successes, len(played))
            means = played.mean(0)
            rows.append(
                Row(player, difficulty, len(played), successes, low, high, float(means[1]), float(means[2]))
            )
            print(line(rows[-1]), flush=True)
    return rows


def line(row: Row) -> str:
    """Return a row of the printed table."""
    rate = row.successes / row.episodes
    return (
        f"{row.player:28} {row.difficulty:>5} {row.episodes:>9} {rate:>8.3f}  "
        f"[{row.low:.3f}, {row.high:.3f}] {row.turns:>6.2f}"
    )


def verdict(rows: Sequence[Row], env: ToolEnv[Any]) -> Finding:
    """Return whether the oracle always succeeded and what must fail did, but for chance."""
    missed = [row for row in rows if row.player == "oracle" and row.successes < row.episodes]
    above = [
        row
        for row in rows
        if must_fail(row.player)
        and row.successes / row.episodes > greatest_floor(env.chance(row.difficulty), row.episodes, 0.05)
    ]
    wrong = ", ".join(f"{row.player} at {row.difficulty}" for row in [*missed, *above])
    return Finding(
        "baselines", not wrong, wrong or "oracle 1.00 everywhere, the floors at most 0.05 above chance"
    )


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Measure the scripted players of an environment.")
    parser.add_argument("--env", choices=[entry.id for entry in ENVIRONMENTS], default=ENVIRONMENTS[0].id)
    parser.add_argument("--episodes", type=int, default=500, help="a player and difficulty (default 500)")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--players", nargs="+", help="names of players (default: all)")
    parser.add_argument("--difficulties", nargs="+", type=int, help="levels (default: all)")
    parser.add_argument("--split", choices=("train", "test"), default="test")
    parser.add_argument("--reader", choices=("ocr", "truth"), default="ocr")
    parser.add_argument("--mode", help="of an environment that has several (default: its own)")
    parser.add_argument("--output", type=Path, help="JSON file to write or add to")
    options = parser.parse_args()
    env = open_env(options.env, **chosen(options, "truth"))
    options.players = options.players or list(env.players())
    options.difficulties = options.difficulties or list(env.source.difficulties)
    print(f"{'player':28} {'level':>5} {'episodes':>9} {'success':>8}  {'95 % interval':14} {'turns':>6}")
    start = time.perf_counter()
    rows = measure(options)
    finding = verdict(rows, env)
    print(f"{time.perf_counter() - start:.0f} s. {'ok' if finding.ok else 'FAIL'}: {finding.measured}")
    if options.output:
        mode = {"mode": options.mode} if options.mode else {}
        save(options.output, {"split": options.split, "reader": chosen(options).get("reader"), **mode}, rows)


def save(path: Path, settings: dict[str, Any], rows: Sequence[Row]) -> None:
    """Write rows to a file; those of other players and levels it holds for the same settings stay."""
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    kept = before["rows"] if {key: before.get(key) for key in settings} == settings else []
    table = {(row["player"], row["difficulty"]): row for row in [*kept, *map(asdict, rows)]}
    path.write_text(json.dumps({**settings, "rows": list(table.values())}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
