"""Slopes and moving means by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.rewards.stack.metric_series import MetricSeries, slope


def test_slopes_by_hand():
    assert slope([(0, 1.0), (1, 3.0), (2, 5.0)]) == 2.0
    assert slope([(0, 1.0), (10, 3.0)]) == pytest.approx(0.2)  # a change a step, whatever the steps
    assert slope([(0, 0.0), (1, 1.0), (2, 0.0)]) == 0.0
    assert slope([(4, 1.0)]) == slope([]) == 0.0


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30))
def test_slopes_agree_with_numpy(values):
    expected = np.polyfit(np.arange(len(values)), values, 1)[0]
    assert slope(list(enumerate(values))) == pytest.approx(expected, abs=1e-8)


def test_moving_means_go_on_when_values_are_cleared():
    series = MetricSeries(["x_ma3", "x"], length=2)
    for step, value in enumerate([3.0, 5.0, None, 7.0, 9.0]):
        series.add(step, {"x": value})
    assert series.last("x_ma3", 9) == [(3.0, 5.0), (4.0, 7.0)]
    assert series.mean("x", 2) == 8.0
    assert (series.count("x"), series.mean("x", 3)) == (4, None)
    series.clear()
    assert (series.count("x"), series.last("x", 9), series.mean("x", 1)) == (0, [], None)
    series.add(5, {"x": 2.0})
    assert series.last("x_ma3", 9) == [(5.0, 6.0)]


def test_a_mean_that_the_trainer_computes_is_taken_from_it():
    series = MetricSeries(["x_ma3"], length=2)
    series.add(0, {"x": 1.0, "x_ma3": 0.25})
    assert series.last("x_ma3", 1) == [(0.0, 0.25)]
