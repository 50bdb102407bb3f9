from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixelis.envs.pixel.chart_read.axis import (
    AXIS_KINDS,
    KEEP_AWAY,
    VALUES,
    Axis,
    axis_through,
    label_value,
    sample_ticks,
    tick_label,
)

SEEDS = st.integers(0, 2**32 - 1)
ASKED = st.floats(*VALUES)
SHARES = st.floats(0.3, 0.95)


def test_a_linear_axis_by_hand():
    axis = Axis(20.0, 60.0, False)
    assert [axis.value(share) for share in (0, 0.25, 1)] == [20.0, 30.0, 60.0]
    assert [axis.share(value) for value in (20, 50, 60)] == [0.0, 0.75, 1.0]


def test_a_logarithmic_axis_by_hand():
    axis = Axis(0.1, 1000.0, True)
    assert [axis.value(share) for share in (0, 0.25, 0.5, 1)] == pytest.approx([0.1, 1, 10, 1000])
    assert [axis.share(value) for value in (0.1, 1, 100)] == pytest.approx([0, 0.25, 0.75])


@pytest.mark.parametrize(
    ("value", "label"),
    [
        (0, "0.000"),
        (0.0421, "0.042"),
        (4.17, "4.170"),
        (9.9994, "9.999"),
        (9.9996, "10.00"),
        (41.7, "41.70"),
        (99.996, "100.0"),
        (417, "417.0"),
        (999.96, "1.00k"),
        (4170, "4.17k"),
        (9996, "10.0k"),
        (41_700, "41.7k"),
    ],
)
def test_labels_by_hand(value, label):
    assert tick_label(value) == label


def test_label_values_by_hand():
    texts = ("0.000", "0.042", "41.70", "417.0", "4.17k", "41.7k")
    assert [label_value(text) for text in texts] == [0, 0.042, 41.7, 417, 4170, 41_700]
    for text in ("", "k", "4,170", "4.17m"):
        with pytest.raises(ValueError, match="could not convert"):
            label_value(text)


@given(st.floats(0, 99_000))
def test_a_label_has_five_characters_and_says_its_value(value):
    label = tick_label(value)
    assert len(label) == 5
    assert abs(label_value(label) - value) <= max(0.0005, 0.0051 * value)


@given(SEEDS, st.sampled_from(AXIS_KINDS), ASKED, SHARES)
def test_an_axis_goes_through_the_value_at_its_height(seed, kind, value, share):
    axis = axis_through(np.random.default_rng(seed), kind, value, share)
    assert axis.value(share) == pytest.approx(value, rel=1e-9)
    assert axis.share(value) == pytest.approx(share, abs=1e-9)
    assert axis.log == (kind == "log")
    assert (axis.low == 0) == (kind == "zero")
    if kind == "offset":
        assert 0.3 <= axis.low / (axis.high - axis.low) <= 0.8
    if kind == "log":
        assert 1.2 <= np.log10(axis.high / axis.low) <= 1.8


@settings(deadline=None)
@given(SEEDS, st.sampled_from(AXIS_KINDS), ASKED, SHARES, st.sampled_from([None, 3, 4, 5]))
def test_ticks_are_on_the_axis_apart_and_away_from_the_value(seed, kind, value, share, count):
    rng = np.random.default_rng(seed)
    axis = axis_through(rng, kind, value, share)
    labels = sample_ticks(rng, axis, kind, value, count)
    values = np.array([label_value(label) for label in labels])
    places = np.array([axis.share(v) for v in values])
    assert len(labels) >= 3 and {len(label) for label in labels} == {5}
    assert (np.diff(places) > 0.05).all() and places[0] >= 0 and places[-1] <= 1
    assert (np.abs(values - value) > KEEP_AWAY * value).all()
    assert places[-1] - places[0] >= 0.4


def test_ticks_of_a_linear_axis_are_multiples_of_a_step():
    for seed in range(50):
        rng = np.random.default_rng(seed)
        axis = axis_through(rng, "zero", 37.0, 0.5)
        values = [label_value(label) for label in sample_ticks(rng, axis, "zero", 37.0, None)]
        assert values == pytest.approx([values[1] * number for number in range(len(values))])


def test_steps_are_no_round_numbers():
    """Of 200 first labels of axes to 74, no one is common: who counts steps does not know the value."""
    firsts = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        axis = axis_through(rng, "zero", 37.0, 0.5)
        firsts.append(sample_ticks(rng, axis, "zero", 37.0, None)[1])
    assert max(map(firsts.count, firsts)) <= 12
