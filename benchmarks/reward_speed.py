"""Measure what scoring a step with curiosity costs; print medians, spreads and targets.

Usage: python benchmarks/reward_speed.py [--threads 1 2] [--rounds 40] [--output FILE]

Steps are of ZoomRead: views of 384 × 384 pixels and texts of tools, each in arrays of its own. Rows:

* ``hit``: the whole call of ``score`` for a step in the cache, looks at its observations included:
  ``hit, step follows`` continues an episode (its state is the last step's next one), ``hit, first step``
  looks at both pictures.
* ``miss``: the whole call for a step that is not, encoding of text and picture included; ``model only`` is
  the forward pass and the error on encodings that are there.
* ``learn, one update``: of both models, on a batch of 64.

Next to other work these times mean little, those of two threads nothing at all: quiet the machine.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from curiosity_worlds import play_zoom_read

from pixelis.rewards.curiosity import CuriosityMemory, CuriosityTerm
from pixelis.rewards.experience import ROW_DIMS, Rows
from pixelis.rewards.features import HashedEncoder
from pixelis.rewards.term import Transition

BATCH = 256
TARGETS = {
    "hit, step follows": 30.0,
    "miss at batch 1": 400.0,
    f"miss at batch {BATCH}, model only": 25.0,
}
Batch = list[tuple[CuriosityMemory, Transition]]


def distinct_steps(steps: Sequence[Transition]) -> list[Transition]:
    """Return copies that share no object with another, as steps of different environments."""

    def copy(observation: Any) -> dict[str, Any]:
        return {"text": observation["text"], "image": observation["image"].copy()}

    return [Transition(copy(step.observation), step.action, copy(step.next_observation)) for step in steps]


def timed(call: Callable[[], Any], per: int) -> float:
    """Return the microseconds that a call takes, divided by the number of things it does."""
    start = time.perf_counter()
    call()
    return 1e6 * (time.perf_counter() - start) / per


def continued(term: CuriosityTerm, step: Transition) -> Batch:
    """Return a step whose episode has just come to its state."""
    return [(CuriosityMemory(step.observation, term.encoder.look(step.observation)), step)]


def hits(steps: Sequence[Transition], follows: bool) -> list[float]:
    """Return the times of cached steps."""
    term = CuriosityTerm(cache_size=10 * len(steps))
    for step in steps:
        term.score([(term.begin(), step)])
    batches = [continued(term, step) if follows else [(term.begin(), step)] for step in steps]
    return [timed(lambda batch=batch: term.score(batch), 1) for batch in batches]


def misses(steps: Sequence[Transition], size: int) -> list[float]:
    """Return the times per transition of steps that were never seen, in batches."""
    term = CuriosityTerm(cache_size=1)
    term.measure(steps[:2])
    groups = [steps[start : start + size] for start in range(0, len(steps) - size + 1, size)]
    batches = [[pair for step in group for pair in continued(term, step)] for group in groups]
    for batch in batches:  # the step before has encoded the state
        for memory, step in batch:
            assert memory.look is not None
            memory.look.features = HashedEncoder()(step.observation)
    return [timed(lambda batch=batch: term.score(batch), size) for batch in batches]


def model_only(size: int, rounds: int) -> list[float]:
    """Return the times per transition of the forward pass and the squared error."""
    model = CuriosityTerm().model
    rows = Rows.unpacked(torch.randn(size, ROW_DIMS, generator=torch.Generator().manual_seed(0)).half())
    model.rewards(rows)
    return [timed(lambda: model.rewards(rows).tolist(), size) for _ in range(rounds)]


def updates(rounds: int) -> list[float]:
    """Return the times of one update of the models."""
    term = CuriosityTerm()
    rows = torch.randn(16 * (rounds + 8), ROW_DIMS, generator=torch.Generator().manual_seed(0)).half()
    term.model.learn(rows[:128])
    each = term.settings.updates_per_batch
    return [timed(lambda part=part: term.model.learn(part), each) for part in rows[128:].split(16)]


def measure(steps: Sequence[Transition], rounds: int) -> dict[str, dict[str, float]]:
    """Return name → median and spread, in microseconds."""
    copies = itertools.islice(itertools.cycle(steps), BATCH * 20)
    numbered = [
        Transition(step.observation, f"{step.action}{index}", step.next_observation)
        for index, step in enumerate(copies)
    ]
    encoder, looks = HashedEncoder(), [HashedEncoder().look(step.next_observation) for step in steps]
    rows = {
        "hit, step follows": hits(steps, follows=True),
        "hit, first step": hits(steps, follows=False),
        "miss at batch 1": misses(steps, 1),
        "miss at batch 1, model only": model_only(1, rounds * 10),
        f"miss at batch {BATCH}": misses(numbered, BATCH),
        f"miss at batch {BATCH}, model only": model_only(BATCH, rounds),
        "look at a picture and its text": [
            timed(lambda step=step: encoder.look(step.next_observation), 1) for step in steps
        ],
        "encode one look": [timed(lambda look=look: encoder.encode([look]), 1) for look in looks],
        "learn, one update": updates(rounds),
    }
    return {name: _spread(values) for name, values in rows.items()}


def _spread(values: Sequence[float]) -> dict[str, float]:
    low, high = np.percentile(values, [10, 90])
    numbers = {"median": statistics.median(values), "10 %": float(low), "90 %": float(high)}
    return {**{name: round(value, 1) for name, value in numbers.items()}, "n": len(values)}


def report(threads: int, rows: dict[str, dict[str, float]]) -> None:
    """Print a table and the targets."""
    print(f"{f'µs, {threads} thread(s)':34} {'median':>9} {'10 %':>9} {'90 %':>9} {'n':>5}   target")
    for name, row in rows.items():
        target = TARGETS.get(name)
        met = "met" if target and row["median"] <= target else "MISSED"
        judged = f"≤ {target:g}: {met}" if target else ""
        print(f"{name:34} {row['median']:9.1f} {row['10 %']:9.1f} {row['90 %']:9.1f} {row['n']:5}   {judged}")


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Measure the speed of curiosity.")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--output", type=Path, help="a JSON file for the numbers")
    options = parser.parse_args()
    cv2.setNumThreads(1)
    steps = distinct_steps([sample.transition for sample in play_zoom_read(range(40))])
    results: dict[str, Any] = {}
    for threads in options.threads:
        torch.set_num_threads(threads)
        results[str(threads)] = measure(steps, options.rounds)
        report(threads, results[str(threads)])
    if options.output:
        options.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
