"""Which seeds of painted scenes are for training and which for testing."""

from __future__ import annotations

import hashlib

import numpy as np

from pixelis.envs.tasks import check_split

SEEDS = 2**32


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
