"""Which seeds of painted scenes are for training and which for testing."""

from __future__ import annotations

import hashlib

import numpy as np

from pixelis.envs.pixel.drawing.noise import SEEDS
from pixelis.envs.tasks import Task, check_split
from pixelis.errors import TaskError, shown


def seed_split(seed: int) -> str:
    """The split a scene's seed belongs to: a fifth of all is "test", by the SHA-256 of its digits."""
    return "test" if hashlib.sha256(str(seed).encode()).digest()[0] % 5 == 0 else "train"


def sample_seed(rng: np.random.Generator, split: str) -> int:
    """Draw a seed of one split, 0 to 2**32 - 1.

    Raises:
        SplitError: if split is unknown.
    """
    check_split(split)
    while True:
        seed = int(rng.integers(SEEDS))
        if seed_split(seed) == split:
            return seed


def asked_index(task: Task, name: str, count: int, what: str) -> int:
    """Return the index of what a task's data say under ``name`` that is asked for.

    Args:
        task: whose.
        name: of the field.
        count: how many there are in the scene.
        what: they are.

    Raises:
        TaskError: it is no index of one of them.
    """
    index = task.data.get(name)
    if type(index) is not int or not 0 <= index < count:
        raise TaskError(
            f"{name} must be the index of one of the scene's {count} {what}, got {shown(index, 40)}"
        )
    return index
