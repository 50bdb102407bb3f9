"""What sharing frozen weights out saves and costs: ``python benchmarks/speed/shared_weights.py smollm2``.

The same steps by two processes that ``torchrun`` starts, with the weights whole in each and with ``--shard``.
Printed for each process, the first step left out: resident memory, and the part of it that is its own
(without what it shares with others, as a file that both have mapped), at its least and its most, read from
outside as often as it goes; its seconds on a processor, a step; and for the run the median seconds of a step
by the clock, with its range, and its parts. Other words are settings of ``pixelis train``. glibc is told to
give freed layers back at once (`GIVE_BACK`), as whoever shares weights out on a CPU should tell it too.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import psutil

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks" / "learning"))

from result_tables import markdown_table  # noqa: E402  # pyright: ignore[reportMissingImports]

TASK = "--env Pixelis/TweetReply-v0 --groups 2 --group-size 2 --max-new-tokens 4 --eval-episodes 0"
ALWAYS = "--algorithm ppo --dtype float32 --device cpu --lr 0.0001 --beta 0"
"""PPO learns from every episode; a group of GRPO without a difference would cost no gradient."""
GIVE_BACK = {"MALLOC_MMAP_THRESHOLD_": "65536"}
"""Bytes from which an allocation is a mapping of its own; by itself that grows with what is freed."""
PARTS = {"generation": "time/generation", "update": "time/update"}
HEAD = ("weights", "process", "resident, MiB", "its own", "CPU seconds", "seconds a step", *PARTS)


class Seen(NamedTuple):
    """What a process was at a time.

    Attributes:
        resident: memory, bytes.
        own: the part of it that no other process has, bytes.
        seconds: that it has had a processor for.
    """

    resident: int
    own: int
    seconds: float


def look_at(started: subprocess.Popen[bytes], seen: dict[str, list[Seen]]) -> None:
    """Add what each process of ``torchrun`` is now, under its number."""
    for each in psutil.Process(started.pid).children(recursive=True):
        try:
            if (rank := each.environ().get("RANK")) is not None and "pixelis" in each.cmdline():
                times = each.cpu_times()
                memory = each.memory_full_info()
                now = Seen(memory.rss, memory.uss, times.user + times.system)
                seen.setdefault(rank, []).append(now)
        except psutil.Error:  # it has just ended
            continue


def run(processes: int, steps: int, words: list[str]) -> tuple[dict[str, list[Seen]], list[dict[str, float]]]:
    """Train; return what was seen of each process after the first step, and the metrics of the others."""
    with tempfile.TemporaryDirectory() as folder:
        output, said = Path(folder) / "run", Path(folder) / "said"
        team = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
        own = [*TASK.split(), *ALWAYS.split(), "--steps", str(1 + steps), "--output", str(output)]
        command = [sys.executable, *team, "-m", "pixelis", "train", *own, *words]
        seen: dict[str, list[Seen]] = {}
        environment = {**os.environ, "OMP_NUM_THREADS": "1", **GIVE_BACK}
        with said.open("wb") as log:
            started = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
            metrics = output / "metrics.jsonl"
            while started.poll() is None:
                time.sleep(0.1)
                if metrics.exists() and 0 < metrics.read_text().count("\n") < 1 + steps:
                    look_at(started, seen)
        if started.returncode:
            raise SystemExit(said.read_text())
        return seen, [json.loads(row) for row in metrics.read_text().splitlines()[1:]]


def ranged(sizes: list[int]) -> str:
    """Return the least and the most of some bytes, in MiB."""
    return f"{min(sizes) / 2**20:,.0f}–{max(sizes) / 2**20:,.0f}"


def main() -> None:
    """Train, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="name or folder, as --model takes it")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--steps", type=int, default=3, help="steps that are measured")
    given, more = parser.parse_known_args()
    table = []
    for name, words in {"whole": [], "shared out": ["--shard"]}.items():
        seen, rows = run(given.processes, given.steps, ["--model", given.model, *words, *more])
        seconds = [row["time/step"] for row in rows]
        told = f"{statistics.median(seconds):.1f} ({min(seconds):.1f}–{max(seconds):.1f})"
        parts = [f"{statistics.median(row[part] for row in rows):.1f}" for part in PARTS.values()]
        for rank, looks in sorted(seen.items()):
            memory = [ranged([each.resident for each in looks]), ranged([each.own for each in looks])]
            busy = (looks[-1].seconds - looks[0].seconds) / given.steps
            table.append([name, rank, *memory, f"{busy:.1f}", told, *parts])
        print(markdown_table(HEAD, table), flush=True)


if __name__ == "__main__":
    main()
