"""The cache keeps what was used last, and drops what is too old."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.errors import ConfigError
from pixelis.rewards.lru_cache import AgedCache


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


@given(st.lists(st.tuples(st.booleans(), KEYS), max_size=40), st.integers(1, 4))
def test_keeps_exactly_the_keys_used_last(uses: list[tuple[bool, bytes]], capacity: int):
    cache, order = AgedCache(capacity), list[bytes]()
    for is_put, key in uses:
        if is_put:
            cache.put(key, 0.0, 0)
        found = is_put or cache.get(key, 0) is not None
        assert found == (is_put or key in order)
        if found:
            order = [*[other for other in order if other != key], key][-capacity:]
    assert {key for key in (b"a", b"b", b"c", b"d", b"e") if key in cache} == set(order)


def test_state_keeps_values_order_and_counts():
    cache = AgedCache(capacity=2)
    cache.put(b"a", 0.1, 4)
    cache.put(b"\xff", 0.2, 5)
    cache.get(b"a", 5)
    other = AgedCache(capacity=2)
    other.restore(json.loads(json.dumps(cache.state())))
    assert other.state() == cache.state()
    other.put(b"c", 0.3, 5)
    assert b"a" in other and b"\xff" not in other


@pytest.mark.parametrize(("capacity", "age"), [(0, 1), (1, -1)])
def test_sizes_that_make_no_sense(capacity: int, age: int):
    with pytest.raises(ConfigError, match="capacity >= 1 and max_age >= 0"):
        AgedCache(capacity, age)
