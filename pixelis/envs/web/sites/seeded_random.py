"""Draws for levels, equal on every machine: nothing but ``random.Random.random`` underneath."""

from __future__ import annotations

import random
import zlib
from collections.abc import Sequence
from typing import Any, TypeVar

T = TypeVar("T")

TEST_SHARE = 4
"""One in so many words of a pool belongs to the split ``test``."""


class SeededRandom:
    """A seeded generator. Python promises the sequence of ``random()`` for a seed, so only that is used."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random

    def below(self, count: int) -> int:
        """Return an integer from 0 to ``count`` − 1."""
        return int(self._random() * count)

    def between(self, low: int, high: int) -> int:
        """Return an integer from ``low`` to ``high``, both included."""
        return low + self.below(high - low + 1)

    def chance(self, probability: float) -> bool:
        """Return true with this probability."""
        return self._random() < probability

    def one(self, items: Sequence[T]) -> T:
        """Return one of the items."""
        return items[self.below(len(items))]

    def some(self, items: Sequence[T], count: int) -> list[T]:
        """Return ``count`` different items in random order (all of them if there are fewer)."""
        pool = list(items)
        for index in range(min(count, len(pool))):
            other = index + self.below(len(pool) - index)
            pool[index], pool[other] = pool[other], pool[index]
        return pool[:count]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return the items in random order."""
        return self.some(items, len(items))

    def fork(self) -> int:
        """Return a seed for another generator."""
        return self.below(2**48)


def of_split(pool: Sequence[T], split: str) -> list[T]:
    """Return the items of a pool that belong to a split: a quarter to ``test``, by a hash of their text.

    A level whose data hold a word of such a pool is in one split only.
    """
    return [item for item in pool if (_hash(item) % TEST_SHARE == 0) == (split == "test")]


def _hash(item: Any) -> int:
    return zlib.crc32(str(item).encode())
