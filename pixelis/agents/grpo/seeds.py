"""Where a run's randomness comes from: numbers derived from (run seed, step), with no state to save.

A resumed run derives the same numbers as one that never stopped.
"""

from __future__ import annotations

import numpy as np

_TASKS, _SAMPLING = 1, 2


def task_seeds(run_seed: int, step: int, groups: int) -> list[int]:
    """Return the reset seeds of the ``groups`` tasks of a step, each in [0, 2**31)."""
    words = np.random.SeedSequence([run_seed, step, _TASKS]).generate_state(groups, np.uint32)
    return [int(word) >> 1 for word in words]


def sampling_seed(run_seed: int, step: int) -> int:
    """Return the number from which a step's episodes derive their generators, in [0, 2**32)."""
    return int(np.random.SeedSequence([run_seed, step, _SAMPLING]).generate_state(1, np.uint32)[0])
