"""Window statistics against NumPy and by hand, and the z-scores made of them."""

from __future__ import annotations

import json
import math
from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.errors import ConfigError, StateError
from pixelis.rewards.stack.normalisation import (
    Normaliser,
    NormaliserSettings,
    WindowStatistics,
)


def test_a_window_of_three_by_hand():
    statistics = WindowStatistics(3)
    seen = []
    for value in (1.0, 2.0, 6.0, 4.0, 2.0):
        statistics.push(value)
        seen.append((statistics.count, statistics.mean, round(statistics.std**2, 9)))
    assert seen == [
        (1, 1.0, 0.0),
        (2, 1.5, 0.25),
        (3, 3.0, 4.666666667),
        (3, 4.0, 2.666666667),
        (3, 4.0, 2.666666667),
    ]


@pytest.mark.parametrize("offset", [0.0, 1e6, -1e9])
@pytest.mark.parametrize("window", [1, 7, 1000])
def test_long_streams_agree_with_numpy(window, offset):
    values = np.random.default_rng(3).normal(offset, 1.0, 4_500)
    statistics, kept = WindowStatistics(window), deque(maxlen=window)
    for place, value in enumerate(values):
        statistics.push(float(value))
        kept.append(value)
        if place % 97 == 0 or place > 4_480:
            np.testing.assert_allclose(statistics.mean, np.mean(kept), rtol=1e-12)
            np.testing.assert_allclose(statistics.std, np.std(kept), rtol=1e-6, atol=1e-12)


def test_a_huge_value_leaves_nothing_behind():
    statistics = WindowStatistics(10)
    for value in [1e15, *np.linspace(0, 1, 10)]:
        statistics.push(float(value))
    assert statistics.std == pytest.approx(np.std(np.linspace(0, 1, 10)), rel=1e-12)


@given(st.lists(st.floats(-1e6, 1e6), max_size=60), st.integers(1, 9), st.integers(0, 60))
def test_a_restored_window_goes_on_with_the_same_bits(values, window, cut):
    whole, first = WindowStatistics(window), WindowStatistics(window)
    for value in values[:cut]:
        whole.push(value)
        first.push(value)
    second = WindowStatistics(window)
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert (second.mean, second.std, second.count) == (whole.mean, whole.std, whole.count)
    for value in values[cut:]:
        whole.push(value)
        second.push(value)
        assert (second.mean, second.std) == (whole.mean, whole.std)


def test_a_ring_that_was_being_overwritten_is_read_from_its_oldest_value():
    statistics = WindowStatistics(3)
    statistics.load_state_dict(
        {"version": 1, "window": 3, "ring": [4.0, 2.0, 6.0], "next": 2}
    )  # 6 is the oldest
    statistics.push(0.0)
    assert statistics.mean == 2.0 and statistics.state_dict()["ring"] == [4.0, 2.0, 0.0]


def test_first_ten_are_raw_and_a_score_does_not_know_its_own_value():
    normaliser = Normaliser()
    for value in (0.0, 2.0) * 5:
        assert normaliser.normalise(value) == value
        assert not normaliser.warm
        normaliser.update(value)
    assert normaliser.normalise(3.0) == 2.0  # mean 1, deviation 1
    assert normaliser.normalise(3.0) == 2.0
    assert normaliser.normalise(500.0) == 10.0
    assert normaliser.normalise(-500.0) == -10.0


def test_equal_values_are_divided_by_the_floor():
    normaliser = Normaliser(NormaliserSettings(warmup=2, std_floor=0.5))
    for _ in range(4):
        normaliser.update(3.0)
    assert normaliser.scale == 0.5
    assert normaliser.normalise(4.0) == 2.0
    assert normaliser.normalise(3.0) == 0.0


@pytest.mark.parametrize(
    "settings",
    [
        {"window": 0},
        {"window": 1.5},
        {"warmup": -1},
        {"warmup": 11, "window": 10},
        {"std_floor": 0.0},
        {"std_floor": "small"},
        {"clip": -1.0},
        {"clip": math.nan},
        {"warmup": True},
    ],
)
def test_bad_settings_name_themselves(settings):
    with pytest.raises(ConfigError, match=next(iter(settings))):
        NormaliserSettings(**settings)


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 2},
        {"window": 9},
        {"next": 5},
        {"ring": [0.0] * 11},
        {"ring": [math.nan], "next": 1},
        {"ring": ["x"], "next": 1},
        {"ring": 3},
        {"next": None},
    ],
)
def test_a_state_that_does_not_fit_is_refused(changes):
    statistics = WindowStatistics(10)
    statistics.push(1.0)
    with pytest.raises(StateError, match="window statistics"):
        WindowStatistics(10).load_state_dict({**statistics.state_dict(), **changes})
    with pytest.raises(StateError, match="no 'ring'"):
        WindowStatistics(10).load_state_dict({"version": 1, "window": 10})
