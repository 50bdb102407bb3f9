"""The cache keeps what was used last, and drops what is too old."""

from __future__ import annotations

import json
from collections import OrderedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.errors import ConfigError
from pixelis.rewards.curiosity.lru_cache import AgedCache, LRUCache


def test_hit_refreshes():
    cache = AgedCache(capacity=2)
    cache.put(b"a", 1.0, 0)
    cache.put(b"b", 2.0, 0)
    assert cache.get(b"a", 0) == 1.0
    cache.put(b"c", 3.0, 0)
    assert b"a" in cache and b"b" not in cache and b"c" in cache


def test_putting_again_refreshes_and_replaces():
    cache = AgedCache(capacity=2)
    for key, value in ((b"a", 1.0), (b"b", 2.0), (b"a", 5.0), (b"c", 3.0)):
        cache.put(key, value, 0)
    assert cache.get(b"a", 0) == 5.0
    assert cache.get(b"b", 0) is None
    assert len(cache) == 2


@pytest.mark.parametrize(("version", "expected"), [(10, 1.0), (13, 1.0), (14, None)])
def test_old_value_is_stale(version: int, expected: float | None):
    cache = AgedCache(max_age=3)
    cache.put(b"a", 1.0, 10)
    assert cache.get(b"a", version) == expected
    assert cache.stale == (expected is None)
    assert (b"a" in cache) is (expected is not None)


def test_hit_does_not_make_a_value_younger():
    cache = AgedCache(max_age=3)
    cache.put(b"a", 1.0, 0)
    assert cache.get(b"a", 3) == 1.0
    assert cache.get(b"a", 4) is None


def test_rates():
    cache = AgedCache()
    assert cache.hit_rate == 0.0
    cache.get(b"a", 0)
    cache.put(b"a", 1.0, 0)
    for _ in range(3):
        cache.get(b"a", 0)
    assert (cache.hits, cache.misses, cache.hit_rate) == (3, 1, 0.75)


KEYS = st.sampled_from([b"a", b"b", b"c", b"d", b"e"])
USES = st.lists(st.tuples(st.booleans(), KEYS, st.integers(0, 2)), max_size=60)


class Oracle:
    """What the cache must do, on an ordered dict in the plainest way."""

    def __init__(self, capacity: int, max_age: int) -> None:
        self.capacity, self.max_age, self.version = capacity, max_age, 0
        self.entries: OrderedDict[bytes, tuple[float, int]] = OrderedDict()
        self.hits = self.misses = self.stale = 0

    def get(self, key: bytes) -> float | None:
        if key not in self.entries:
            self.misses += 1
            return None
        value, version = self.entries.pop(key)
        if self.version - version > self.max_age:
            self.misses, self.stale = self.misses + 1, self.stale + 1
            return None
        self.entries[key] = (value, version)
        self.hits += 1
        return value

    def put(self, key: bytes, value: float) -> None:
        self.entries.pop(key, None)
        self.entries[key] = (value, self.version)
        while len(self.entries) > self.capacity:
            del self.entries[next(iter(self.entries))]


@given(USES, st.integers(1, 4), st.integers(0, 5))
def test_does_what_an_ordered_dict_does(uses: list[tuple[bool, bytes, int]], capacity: int, max_age: int):
    cache, oracle = AgedCache(capacity, max_age), Oracle(capacity, max_age)
    for index, (is_put, key, steps) in enumerate(uses):
        oracle.version += steps
        if is_put:
            cache.put(key, float(index), oracle.version)
            oracle.put(key, float(index))
        else:
            assert cache.get(key, oracle.version) == oracle.get(key)
    assert cache.state_dict() == {
        "entries": [[key.hex(), *entry] for key, entry in oracle.entries.items()],
        "counts": [oracle.hits, oracle.misses, oracle.stale],
    }
    assert len(cache) == len(oracle.entries) <= capacity


def test_state_keeps_values_order_and_counts():
    cache = AgedCache(capacity=2)
    cache.put(b"a", 0.1, 4)
    cache.put(b"\xff", 0.2, 5)
    cache.get(b"a", 5)
    other = AgedCache(capacity=2)
    other.load_state_dict(json.loads(json.dumps(cache.state_dict())))
    assert other.state_dict() == cache.state_dict()
    other.put(b"c", 0.3, 5)
    assert b"a" in other and b"\xff" not in other


@pytest.mark.parametrize(
    ("capacity", "age", "message"), [(0, 1, "capacity .* got 0"), (1, -1, "age .* got -1")]
)
def test_sizes_that_make_no_sense(capacity: int, age: int, message: str):
    with pytest.raises(ConfigError, match=message):
        AgedCache(capacity, age)


def test_plain_cache_keeps_any_value():
    cache: LRUCache[list[int]] = LRUCache(2)
    cache.put(b"a", [])
    cache.put(b"b", [1])
    assert cache.get(b"a") == []  # an empty value counts as used, too
    cache.put(b"c", [2])
    assert cache.get(b"b") is None and cache.items() == [(b"a", []), (b"c", [2])]
    cache.drop(b"a")
    assert b"a" not in cache and len(cache) == 1


def test_damaged_state_changes_nothing():
    cache = AgedCache()
    cache.put(b"a", 1.0, 0)
    before = cache.state_dict()
    with pytest.raises(ValueError):
        cache.load_state_dict({"entries": [["00", 1.0, 2], ["zz", 1.0, 2]], "counts": [0, 0, 0]})
    assert cache.state_dict() == before
