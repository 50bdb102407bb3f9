"""What a second process brings: ``python benchmarks/speed/several_processes.py lessons/ZoomRead``.

The same steps by the same settings: by one process of one thread, by one process of two threads, by two of
one thread that ``torchrun`` starts, and by workers of Ray that play. Printed: the median seconds of a step
with its range (the first step left out), its parts apart, and how many times one process of one thread they
are. Other words are settings of ``pixelis train``.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks" / "learning"))

from result_tables import markdown_table  # noqa: E402  # pyright: ignore[reportMissingImports]

PARTS = {"generation": "time/generation", "environments": "time/env", "update": "time/update"}
HEAD = ("configuration", "processes × threads", "seconds a step", *PARTS, "ratio")


class Way(NamedTuple):
    """Who trains.

    Attributes:
        name: for the table.
        processes: that train.
        threads: of each.
        words: settings.
    """

    name: str
    processes: int
    threads: int
    words: tuple[str, ...] = ()


def by_workers(count: int, staleness: int) -> Way:
    """Return training with workers that play, in step or ahead."""
    ahead = f", {staleness} steps ahead" if staleness else ""
    return Way(
        f"1 × 1, {count} workers{ahead}",
        1,
        1,
        ("--workers", str(count), "--max-staleness", str(staleness)),
    )


WAYS = (
    Way("1 × 1", 1, 1),
    Way("1 × 2", 1, 2),
    Way("2 × 1", 2, 1),
    *(by_workers(count, staleness) for count in (1, 2, 4) for staleness in (0, 1)),
)


def steps_of(config: str, way: Way, steps: int, words: list[str]) -> list[dict[str, float]]:
    """Return the metrics of so many steps, the first one left out."""
    processes, threads = way.processes, way.threads
    team = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "run"
        command = [sys.executable, *(team if processes > 1 else []), "-m", "pixelis", "train"]
        own = ["--config", config, "--output", str(output), "--steps", str(steps + 1), "--eval-episodes", "0"]
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        done = subprocess.run(
            [*command, *own, "--minutes", "null", *way.words, *words],
            env=environment,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise SystemExit(done.stdout + done.stderr)
        rows = (output / "metrics.jsonl").read_text().splitlines()
    return [json.loads(row) for row in rows[1:]]


def row_of(name: str, way: Way, rows: list[dict[str, float]], one: float) -> list[str]:
    """Return a row of the table, ``one`` the seconds of one process of one thread."""
    seconds = [row["time/step"] for row in rows]
    middle = statistics.median(seconds)
    parts = [f"{statistics.median(row[part] for row in rows):.1f}" for part in PARTS.values()]
    told = f"{middle:.1f} ({min(seconds):.1f}–{max(seconds):.1f})"
    return [name, way.name, told, *parts, f"{middle / one:.2f}"]


def main() -> None:
    """Train, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("configs", nargs="+", help="names or files, as --config takes them")
    parser.add_argument("--steps", type=int, default=5, help="steps that are timed")
    given, more = parser.parse_known_args()
    table = []
    for name in given.configs:
        one = 0.0
        for way in WAYS:
            rows = steps_of(name, way, given.steps, more)
            one = one or statistics.median(row["time/step"] for row in rows)
            table.append(row_of(name, way, rows, one))
            print(markdown_table(HEAD, table[-1:]), flush=True)
    print(markdown_table(HEAD, table))


if __name__ == "__main__":
    main()
