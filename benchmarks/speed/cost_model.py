"""What a step costs by how many machines: ``python benchmarks/speed/cost_model.py lessons/ZoomRead``.

Measures the parts of a step in one process, then trains with 1, 2 and 4 workers that play, in step and one
step ahead, and prints beside what was measured what the model says. Then it extrapolates: to machines with a
processor for each worker and learner, a network, and prices. Other words are settings of ``pixelis train``.

The model, seconds a step of W workers and L learners:

    play     = (generation + environments + rewards of one process) / W
    transfer = (weights * W + episodes) / bandwidth
    learn    = (update + reference of one process) / L
    own      = the rest of the step, which one process does alone
    in step: play + transfer + learn + own;  ahead: max(play + transfer, learn + own)

On a machine with P processors a part in which more than P processes are busy takes that many times longer.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benchmarks" / "learning"), str(Path(__file__).parent)]

from result_tables import markdown_table  # noqa: E402  # pyright: ignore[reportMissingImports]
from several_processes import Way, by_workers, steps_of  # noqa: E402  # pyright: ignore[reportMissingImports]

PLAYED = ("time/generation", "time/env", "time/rewards")
LEARNT = ("time/update", "time/reference")
BANDWIDTH = 1250.0
"""MB/s of the network that is assumed: 10 Gbit/s."""
SCALES = ((1, 1), (4, 1), (16, 1), (64, 4), (256, 16), (1000, 64))
"""Workers and learners."""


@dataclass(frozen=True)
class StepParts:
    """A step in one process.

    Attributes:
        play: seconds of generation, environments and rewards.
        learn: seconds of update and reference.
        own: seconds of all else.
        weights: MB that a worker is sent.
        episodes: MB that come back.
    """

    play: float
    learn: float
    own: float
    weights: float = 0.0
    episodes: float = 0.0

    @classmethod
    def of(cls, rows: Sequence[dict[str, float]], sent: float = 0.0, received: float = 0.0) -> StepParts:
        """Return the medians of some steps."""
        play, learn = (
            statistics.median(sum(row[name] for name in names) for row in rows) for names in (PLAYED, LEARNT)
        )
        whole = statistics.median(row["time/step"] for row in rows)
        return cls(play, learn, max(0.0, whole - play - learn), sent, received)

    def seconds(
        self,
        workers: int,
        learners: int = 1,
        *,
        ahead: bool = False,
        processors: float = math.inf,
        bandwidth: float = math.inf,
    ) -> float:
        """Return the seconds of a step.

        Args:
            workers: at least 1.
            learners: likewise.
            ahead: whether workers play while learners learn.
            processors: of the one machine; infinite: each has its own.
            bandwidth: MB/s between workers and learner.
        """
        transfer = (self.weights * workers + self.episodes) / bandwidth
        play, learn = self.play / workers, self.learn / learners + self.own
        if ahead:
            both, rest = min(play, learn), abs(play - learn)
            left = workers if play > learn else learners
            crowded = both * _crowded(workers + learners, processors) + rest * _crowded(left, processors)
            return crowded + transfer
        return play * _crowded(workers, processors) + transfer + learn


def _crowded(busy: int, processors: float) -> float:
    """Return how many times longer a part takes in which so many processes are busy."""
    return max(1.0, busy / processors)


def compare(name: str, steps: int, words: list[str]) -> StepParts:
    """Measure and print; return the parts of a step in one process."""
    alone = StepParts.of(steps_of(name, Way("", 1, 1), steps, words))
    table: list[list[str]] = []
    parts = alone
    for count in (1, 2, 4):
        for staleness in (0, 1):
            rows = steps_of(name, by_workers(count, staleness), steps, words)
            sent, received = (
                (rows[-1][key] - rows[0][key]) / (len(rows) - 1) for key in ("system/sent", "system/received")
            )
            parts = StepParts(alone.play, alone.learn, alone.own, sent, received)
            measured = [row["time/step"] for row in rows]
            middle = statistics.median(measured)
            said = parts.seconds(count, ahead=staleness > 0, processors=psutil.cpu_count() or 1)
            how = "one step ahead" if staleness else "in step"
            told = f"{middle:.1f} ({min(measured):.1f}–{max(measured):.1f})"
            table.append([name, str(count), how, told, f"{said:.1f}", f"{said / middle:.2f}"])
            print(markdown_table(HEAD, table[-1:]), flush=True)
    print(markdown_table(HEAD, table))
    print(f"{name}: {parts}")
    return parts


HEAD = ("configuration", "workers", "how", "seconds a step", "model", "model ÷ measured")
FAR = ("workers", "learners", "in step, s", "ahead, s", "what takes longest", "dollars for 1,000 steps ahead")


def extrapolated(parts: StepParts, worker_price: float, learner_price: float) -> str:
    """Return the table of `SCALES`, prices in dollars an hour."""
    table = []
    for workers, learners in SCALES:
        far = {"learners": learners, "bandwidth": BANDWIDTH}
        step, ahead = (parts.seconds(workers, ahead=each, **far) for each in (False, True))
        lasts = {
            "playing": parts.play / workers,
            "learning": parts.learn / learners,
            "what one process does alone": parts.own,
            "sending weights": parts.weights * workers / BANDWIDTH,
        }
        price = (workers * worker_price + learners * learner_price) * ahead / 3600 * 1000
        most = max(lasts, key=lambda part: lasts[part])
        table.append([str(workers), str(learners), f"{step:.2f}", f"{ahead:.2f}", most, f"{price:.2f}"])
    return markdown_table(FAR, table)


def main() -> None:
    """Measure, compare, extrapolate."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("configs", nargs="+", help="names or files, as --config takes them")
    parser.add_argument("--repeats", type=int, default=4, help="steps that are timed")
    parser.add_argument("--worker-price", type=float, default=0.05, help="dollars an hour of a worker")
    parser.add_argument("--learner-price", type=float, default=0.05, help="likewise")
    given, more = parser.parse_known_args()
    for name in given.configs:
        parts = compare(name, given.repeats, more)
        print(extrapolated(parts, given.worker_price, given.learner_price))


if __name__ == "__main__":
    main()
