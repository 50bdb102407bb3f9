"""Measure what writing metrics costs a training: at once, in threads, and all of it where it is trained.

Usage: python benchmarks/speed/metrics_speed.py [--rows 300] [--work 20] [--log-to wandb,trackio]

Rows are those of a stored GRPO run's last step (102 metrics), one a step; between two rows the thread works
on matrices for about ``--work`` milliseconds, as a training step would. Three ways, each in a folder of its
own: ``synchronous`` writes the line and TensorBoard's events before it goes on, a scalar an event, as it was
done before there was a thread; ``one event`` the same with a row an event; ``in threads`` is what runs do.
What a row costs is the time inside the call, also as processor time of the calling thread, which other work
on the machine changes less. The ways take turns, in five rounds; medians of the rounds are told.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

import pixelis
from pixelis.agents.runs.metrics import MetricsLog, Row
from pixelis.agents.runs.sinks.board import Board
from pixelis.agents.runs.sinks.sink import RunFacts, StepSample
from pixelis.agents.runs.system import SystemMeter

ROUNDS = 5
METRICS = 102
SAMPLE_EVERY = 10


def row_of(step: int) -> Row:
    """Return a row as long as one of GRPO's."""
    return {"step": step, **{f"group{number % 9}/metric{number}": 0.1 * number for number in range(METRICS)}}


def sample_of(step: int) -> StepSample | None:
    """Return what a step with pictures looks like, every so many steps."""
    if step % SAMPLE_EVERY:
        return None
    generator = np.random.default_rng(step)
    histograms = {"rewards": generator.normal(size=64), "token_surprise": generator.exponential(size=4096)}
    pictures = {"first": generator.integers(0, 256, (448, 448, 3), dtype=np.uint8)}
    return StepSample(histograms, pictures, {"episode": "word " * 500})


class Inline:
    """Writes everything before it goes on.

    Args:
        folder: where.
        one_event: whether a row is one event of TensorBoard's; else each number is one.
    """

    def __init__(self, folder: Path, one_event: bool) -> None:
        self._file = (folder / "metrics.jsonl").open("w", encoding="utf-8")
        self._board = Board(folder / "tensorboard", RunFacts(folder))
        self._board.open()
        self._one_event = one_event

    def write(self, row: Row, sample: StepSample | None) -> None:
        """Write a row and a sample."""
        self._file.write(json.dumps(row) + "\n")
        self._file.flush()
        if self._one_event:
            self._board.write(row, sample)
            return
        for name, value in row.items():
            self._board.writer.add_scalar(name, value, int(row["step"] or 0))
        if sample is not None:
            self._board.write({"step": row["step"]}, sample)

    def close(self) -> None:
        """Close the files."""
        self._file.close()
        self._board.close()


def work(milliseconds: float) -> None:
    """Multiply matrices for so long, most of it outside the interpreter's lock."""
    until = time.perf_counter() + milliseconds / 1000
    matrix = torch.ones(256, 256)
    while time.perf_counter() < until:
        matrix = (matrix @ matrix).clamp(max=1.0)


def measure(make: Callable[[Path], Inline | MetricsLog], rows: int, steps_of: float) -> tuple[float, float]:
    """Return the median microseconds inside a write, by the clock and of the calling thread's processor."""
    with tempfile.TemporaryDirectory() as name:
        log, clock, processor = make(Path(name)), [], []
        for step in range(1, rows + 1):
            work(steps_of)
            row, sample = row_of(step), sample_of(step)
            before, spent = time.perf_counter(), time.thread_time()
            log.write(row, sample)
            clock.append(time.perf_counter() - before)
            processor.append(time.thread_time() - spent)
        log.close()
    return 1e6 * statistics.median(clock), 1e6 * statistics.median(processor)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--work", type=float, default=20.0)
    parser.add_argument("--log-to", default="", help="further sinks of the way in threads, as of runs")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    sinks = [name for name in arguments.log_to.split(",") if name]
    ways: dict[str, Callable[[Path], Inline | MetricsLog]] = {
        "synchronous": lambda folder: Inline(folder, one_event=False),
        "one event": lambda folder: Inline(folder, one_event=True),
        "in threads": lambda folder: MetricsLog(
            folder / "metrics.jsonl", folder / "tensorboard", log_to=sinks
        ),
    }
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, make in ways.items():
            found[name].append(measure(make, arguments.rows, arguments.work))
    print(f"pixelis {pixelis.__version__}, {arguments.rows} rows of {METRICS} metrics")
    medians = {name: [statistics.median(each) for each in zip(*found[name], strict=True)] for name in ways}
    for name, (clock, processor) in medians.items():
        share = processor / medians["synchronous"][1]
        print(
            f"{name:12} {clock:8.0f} µs a row, {processor:8.0f} µs of processor ({share:.1%} of synchronous)"
        )
    meter, spent = SystemMeter(torch.device("cpu")), time.thread_time()
    for _ in range(200):
        meter.read()
    print(f"{'system/':12} {1e6 * (time.thread_time() - spent) / 200:.0f} µs of processor a row")


if __name__ == "__main__":
    main()
