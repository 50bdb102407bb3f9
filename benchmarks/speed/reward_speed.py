"""Measure what scoring a step costs; print medians, spreads and targets.

Usage: python benchmarks/speed/reward_speed.py [--threads 1 2] [--clock wall] [--output FILE]

Steps are of ZoomRead: views of 384 × 384 pixels and texts of tools, each in arrays of its own. Rows:

* ``hit``: the whole call of ``score`` for a step in the cache, looks at its observations included:
  ``hit, step follows`` continues an episode (its state is the last step's next one), ``hit, first step``
  looks at both pictures.
* ``miss``: the whole call for a step that is not, encoding of text and picture included. ``looks taken``
  leaves out what a hit pays too, the look at the picture; ``model only`` is the forward pass and the error on
  encodings that are there.
* ``learn, one update``: of both models, on a batch of 32; every 16 transitions take 3.
* ``coherence + penalty``: both terms, a step.

After that, what the whole stack adds to an episode: see ``reward_episode.py``. Next to other work, wall times
mean little: quiet the machine, or take ``--threads 1 --clock cpu``.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "studies"))
from curiosity_worlds import play_zoom_read
from reward_episode import Clock, report_episodes

from pixelis.envs.pixel.zoom_read.env import ZoomReadEnv
from pixelis.rewards.curiosity.experience import ROW_DIMS, EncodedRows
from pixelis.rewards.curiosity.term import CuriosityMemory, CuriosityTerm
from pixelis.rewards.features.encoder import HashedEncoder
from pixelis.rewards.features.state_encoder import Look
from pixelis.rewards.terms.coherence import CoherenceTerm
from pixelis.rewards.terms.penalties import PenaltyTerm
from pixelis.rewards.terms.term import Transition

BATCH = 256
TARGETS = {
    "hit, step follows": 30.0,
    "miss at batch 1": 400.0,
    f"miss at batch {BATCH}, looks taken": 25.0,
    "coherence + penalty": 50.0,
}
Batch = list[tuple[CuriosityMemory, Transition]]


def distinct_steps(steps: Sequence[Transition]) -> list[Transition]:
    """Return copies that share no object with another, as steps of different environments."""

    def copy(observation: Any) -> dict[str, Any]:
        return {"text": observation["text"], "image": observation["image"].copy()}

    return [
        replace(step, observation=copy(step.observation), next_observation=copy(step.next_observation))
        for step in steps
    ]


def timed(call: Callable[[], Any], per: int) -> float:
    """Return the microseconds that a call takes, divided by the number of things it does."""
    start = Clock.now()
    call()
    return 1e6 * (Clock.now() - start) / per


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


class Prepared(HashedEncoder):
    """The default encoder for observations that were looked at before."""

    def look(self, observation: Any) -> Look:
        """Return the look itself."""
        return observation["look"]


def looked_at(observation: Mapping[str, Any]) -> dict[str, Look]:
    """Return an observation for `Prepared`."""
    return {"look": HashedEncoder().look(observation)}


def misses(steps: Sequence[Transition], size: int, prepared: bool = False) -> list[float]:
    """Return the times per transition of steps that were never seen, in batches."""
    term = CuriosityTerm(cache_size=1, encoder=Prepared() if prepared else "hashed")
    if prepared:
        steps = [
            replace(
                step,
                observation=looked_at(step.observation),
                next_observation=looked_at(step.next_observation),
            )
            for step in steps
        ]
    groups = [steps[start : start + size] for start in range(0, len(steps) - size + 1, size)]
    batches = [[pair for step in group for pair in continued(term, step)] for group in groups]
    for memory, _ in itertools.chain(*batches):  # the step before has encoded the state
        assert memory.look is not None
        memory.look.features = HashedEncoder().encode([memory.look])[0]
    return [timed(lambda batch=batch: term.score(batch), size) for batch in batches][1:]


def tool_terms(episodes: Sequence[Sequence[Transition]]) -> list[float]:
    """Return the times of coherence and penalty together, a step."""
    terms: tuple[Any, ...] = (CoherenceTerm(), PenaltyTerm())  # each has memories of its own
    for term in terms:
        term.adapt(ZoomReadEnv(reader="truth").reward_traits)

    def score(episode: Sequence[Transition]) -> None:
        memories = [term.begin() for term in terms]
        for step in episode:
            for term, memory in zip(terms, memories, strict=True):
                term.score([(memory, step)])

    return [timed(lambda episode=episode: score(episode), len(episode)) for episode in episodes]


def model_only(size: int, rounds: int) -> list[float]:
    """Return the times per transition of the forward pass and the squared error."""
    model = CuriosityTerm().model
    rows = EncodedRows.unpacked(
        torch.randn(size, ROW_DIMS, generator=torch.Generator().manual_seed(0)).half()
    )
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
    encoder, looks = HashedEncoder(), [HashedEncoder().look(step.next_observation) for step in steps]
    rows = {
        "hit, step follows": hits(steps, follows=True),
        "hit, first step": hits(steps, follows=False),
        "miss at batch 1": misses(steps, 1),
        "miss at batch 1, looks taken": misses(steps, 1, prepared=True),
        "miss at batch 1, model only": model_only(1, rounds * 10),
        f"miss at batch {BATCH}": misses(numbered(steps), BATCH),
        f"miss at batch {BATCH}, looks taken": misses(numbered(steps), BATCH, prepared=True),
        f"miss at batch {BATCH}, model only": model_only(BATCH, rounds),
        "look at a picture and its text": [
            timed(lambda step=step: encoder.look(step.next_observation), 1) for step in steps
        ],
        "encode one look": [timed(lambda look=look: encoder.encode([look]), 1) for look in looks],
        "learn, one update": updates(rounds),
        "coherence + penalty": tool_terms([steps[start : start + 8] for start in range(0, len(steps), 8)]),
    }
    return {name: _spread(values) for name, values in rows.items()}


def numbered(steps: Sequence[Transition]) -> list[Transition]:
    """Return many transitions that differ in their action only."""
    copies = itertools.islice(itertools.cycle(steps), BATCH * 20)
    return [replace(step, action=f"{step.action}{index}") for index, step in enumerate(copies)]


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
    parser = argparse.ArgumentParser(description="Measure the speed of rewards.")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--episodes", type=int, default=60)
    parser.add_argument("--output", type=Path, help="a JSON file for the numbers")
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall")
    options = parser.parse_args()
    Clock.cpu = options.clock == "cpu"
    cv2.setNumThreads(1)
    steps = distinct_steps([sample.transition for sample in play_zoom_read(range(40))])
    results: dict[str, dict[str, Any]] = {}
    for threads in options.threads:
        torch.set_num_threads(threads)
        results[str(threads)] = measure(steps, options.rounds)
        report(threads, results[str(threads)])
        results[str(threads)]["episodes"] = report_episodes(options.episodes, 1 + options.rounds // 10)
    if options.output:
        options.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
