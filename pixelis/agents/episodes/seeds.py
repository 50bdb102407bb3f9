"""Where a run's randomness comes from: numbers derived from (run seed, step), with no state to save.

A resumed run derives the same numbers as one that never stopped. A step plays one round of tasks, and more
where groups without signal are replaced (`pixelis.agents.rl.refill`).
"""

from __future__ import annotations

import numpy as np

_TASKS, _SAMPLING, _REPLAY, _LEVELS = 1, 2, 3, 4


def task_seeds(run_seed: int, step: int, groups: int, round: int = 0) -> list[int]:
    """Return the reset seeds of the ``groups`` tasks of a step's round, each in [0, 2**31)."""
    words = _sequence(run_seed, step, _TASKS, round).generate_state(groups, np.uint32)
    return [int(word) >> 1 for word in words]


def sampling_seed(run_seed: int, step: int, round: int = 0) -> int:
    """Return the number from which a round's episodes derive their generators, in [0, 2**32)."""
    return int(_sequence(run_seed, step, _SAMPLING, round).generate_state(1, np.uint32)[0])


def replay_generator(run_seed: int, step: int) -> np.random.Generator:
    """Return the generator that draws a step's stored episodes."""
    return np.random.default_rng(_sequence(run_seed, step, _REPLAY, 0))


def level_generator(run_seed: int, step: int, round: int = 0) -> np.random.Generator:
    """Return the generator by which a round's levels are chosen."""
    return np.random.default_rng(_sequence(run_seed, step, _LEVELS, round))


def _sequence(run_seed: int, step: int, purpose: int, round: int) -> np.random.SeedSequence:
    # The first round has no number: runs of the versions that knew but one go on to the same tasks.
    return np.random.SeedSequence([run_seed, step, purpose, *([round] if round else [])])
