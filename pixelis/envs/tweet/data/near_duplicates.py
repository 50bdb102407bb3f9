"""Which texts of many are nearly the same: MinHash to find candidates, exact Jaccard to decide.

Two tweets are near-duplicates when the sets of their character 5-grams, of the normalised text, have a
Jaccard similarity of at least ``NEAR``. Characters rather than words, because a tweet has too few words for
their share to mean much, and because retweets differ by typing errors, endings and emoji. Comparing all pairs
takes n² time; MinHash (Broder 1997) with banding (Leskovec, Rajaraman and Ullman, Mining of Massive Datasets,
ch. 3) finds the pairs worth comparing: with b bands of r rows a pair of similarity s is a candidate with
probability 1 − (1 − s^r)^b, here 0.9998 at s = 0.5. Candidates are compared exactly, so no pair below
``NEAR`` is ever joined.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable

import numpy as np

from pixelis.envs.tweet.data.tweet_text import jaccard, shingles

NEAR = 0.5
BANDS, ROWS = 64, 3
MOST_COMPARED = 64
"""With how many earlier candidates of a band a text is compared; bounds the time on files of one template."""
_PRIME = np.uint64((1 << 31) - 1)


class DisjointSets:
    """Groups of the numbers 0 … n − 1, merged pair by pair (union by smaller number, paths halved)."""

    def __init__(self, count: int) -> None:
        self._parent = list(range(count))

    def find(self, item: int) -> int:
        """Return the least number of the item's group."""
        parent = self._parent
        while parent[item] != item:
            parent[item] = item = parent[parent[item]]
        return item

    def join(self, first: int, second: int) -> None:
        """Merge the groups of two items."""
        low, high = sorted((self.find(first), self.find(second)))
        self._parent[high] = low

    def groups(self) -> list[list[int]]:
        """Return the groups, each in order, by their least number."""
        members: dict[int, list[int]] = {}
        for item in range(len(self._parent)):
            members.setdefault(self.find(item), []).append(item)
        return list(members.values())


class BandKeys:
    """Makes the keys of texts; texts that share a key in the same band are candidates.

    The hash functions h(x) = (a x + b) mod (2³¹ − 1) are fixed by the seed, the same on every machine.
    """

    def __init__(self, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self._factors = rng.integers(1, int(_PRIME), (BANDS * ROWS, 1), dtype=np.uint64)
        self._offsets = rng.integers(0, int(_PRIME), (BANDS * ROWS, 1), dtype=np.uint64)

    def of(self, pieces: frozenset[str]) -> np.ndarray:
        """Return the keys of a set of shingles, uint64 [BANDS]."""
        codes = np.array([zlib.crc32(piece.encode("utf-8", "replace")) for piece in pieces], np.uint64)
        hashes = (self._factors * (codes % _PRIME)[None] + self._offsets) % _PRIME
        least = hashes.min(axis=1).reshape(BANDS, ROWS)
        keys = least[:, 0]
        for row in range(1, ROWS):
            keys = keys * np.uint64(0x9E3779B97F4A7C15) + least[:, row]
        return keys


def join_near_duplicates(
    sets: DisjointSets, texts: Iterable[str], text_at: Callable[[int], str], near: float = NEAR
) -> int:
    """Merge the groups of texts that are nearly the same; return how many pairs were.

    Memory: 8 · ``BANDS`` bytes a text; the texts themselves are asked for again to be compared.

    Args:
        sets: as many items as texts.
        texts: all texts, in the items' order.
        text_at: item → its text.
        near: least Jaccard similarity of near-duplicates, 0-1.
    """
    maker = BandKeys()
    keys = np.array([maker.of(shingles(text)) for text in texts], np.uint64).reshape(-1, BANDS)
    compared: set[tuple[int, int]] = set()
    pairs = 0
    for band in range(BANDS):
        for bucket in _buckets(keys[:, band]):
            for place, second in enumerate(bucket):
                for first in bucket[max(0, place - MOST_COMPARED) : place]:
                    pairs += _compare(sets, first, second, text_at, near, compared)
    return pairs


def _buckets(keys: np.ndarray) -> list[list[int]]:
    """Return the items that share a key, two or more together, in order."""
    order = np.argsort(keys, kind="stable")
    edges = np.flatnonzero(np.diff(keys[order])) + 1
    starts, ends = np.concatenate([[0], edges]), np.concatenate([edges, [len(keys)]])
    many = ends - starts > 1
    return [order[start:end].tolist() for start, end in zip(starts[many], ends[many], strict=True)]


def _compare(
    sets: DisjointSets,
    first: int,
    second: int,
    text_at: Callable[[int], str],
    near: float,
    compared: set[tuple[int, int]],
) -> bool:
    if (first, second) in compared or sets.find(first) == sets.find(second):
        return False
    compared.add((first, second))
    if jaccard(shingles(text_at(first)), shingles(text_at(second))) < near:
        return False
    sets.join(first, second)
    return True
