"""Metrics in buckets: what is kept of many rows is what can be counted by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pixelis.monitor.reading.series import AXES, MOST_METRICS, MOST_POINTS, RunSeries


def rows(count: int, first: int = 1) -> list[dict]:
    return [
        {"step": step, "a": float(step), "episodes/count": 2, "tokens/sampled": 10, "time/elapsed": 30 * step}
        for step in range(first, first + count)
    ]


def filled(count: int, **keywords: int) -> RunSeries:
    series = RunSeries(**keywords)
    series.add(rows(count))
    return series


def test_the_moving_mean_and_its_interval_by_hand():
    series = RunSeries()
    series.add([{"step": step, "a": value} for step, value in enumerate([1.0, 3.0, 5.0, 5.0], start=1)])
    line = series.line("a", window=2)
    assert line.x.tolist() == [1, 2, 3, 4]
    assert line.raw.tolist() == [1, 3, 5, 5]
    assert line.mean.tolist() == [1, 2, 4, 5]
    # of 1 and 3: mean 2, sample deviation sqrt(2), standard error 1
    assert line.band[1] == pytest.approx(1.959964)
    assert math.isnan(line.band[0]) and line.band[3] == 0


@pytest.mark.parametrize(("axis", "ends"), [("step", 3), ("episodes", 6), ("minutes", 1.5), ("tokens", 30)])
def test_axes(axis: str, ends: float):
    assert filled(3).line("a", axis).x[-1] == ends


def test_buckets_double_and_lose_no_row():
    series = filled(100, capacity=8)
    assert (series.rows, series.stride, series.buckets) == (100, 16, 7)
    assert series.ends("step").tolist() == [16, 32, 48, 64, 80, 96, 100]
    assert series.means("a")[0] == np.mean(range(1, 17))
    assert series.means("a")[-1] == np.mean(range(97, 101))
    line = series.line("a", window=32)
    assert line.mean[-1] == np.mean(range(81, 101))
    assert (line.low[0], line.high[0]) == (1, 16)


@pytest.mark.parametrize("size", [1, 3, 8, 1_000])
def test_slices_make_no_difference(size: int):
    whole, sliced = filled(100, capacity=16), RunSeries(capacity=16)
    for start in range(0, 100, size):
        sliced.add(rows(min(size, 100 - start), start + 1))
    for axis in ("step", "episodes", "minutes", "tokens"):
        np.testing.assert_array_equal(whole.ends(axis), sliced.ends(axis))
    np.testing.assert_allclose(whole.line("a").band, sliced.line("a").band)
    assert sliced.last == whole.last


def test_a_metric_that_few_steps_tell_has_a_mean_wherever_it_is_drawn():
    """4,000 steps, evaluated every 100: 300 points of 14 steps, of which a window of 10 misses some."""
    series = RunSeries()
    series.add([{"step": step, **({"a": step / 100} if step % 100 == 0 else {})} for step in range(1, 4_001)])
    line = series.line("a", window=10)
    assert line.mean.tolist() == line.raw.tolist() == [float(number) for number in range(1, 41)]
    wide = series.line("a", window=200)  # two evaluations in each window but the first
    assert wide.mean.tolist() == [1.0, *(number - 0.5 for number in range(2, 41))]


def test_a_step_has_its_place_on_every_axis():
    series = filled(100, capacity=16)  # buckets of 8 steps
    assert [series.place_of(9.0, axis) for axis in AXES] == [9.0, 32.0, 8.0, 160.0]  # that of step 16
    assert math.isnan(series.place_of(101.0, "tokens")) and series.place_of(101.0, "step") == 101.0


def test_memory_does_not_grow_with_the_rows():
    few, many = filled(64, capacity=64), filled(6_400, capacity=64)
    assert few.nbytes == many.nbytes
    assert len(filled(5_000).line("a").x) <= MOST_POINTS


def test_what_is_no_number_is_left_out_of_its_metric_alone():
    strange = [None, math.nan, math.inf, "1", [1.0], {"x": 1}, 10**400, True]
    series = RunSeries()
    series.add([{"step": step, "a": value, "b": 2.0} for step, value in enumerate(strange, start=1)])
    assert series.line("b").mean.tolist() == [2.0] * len(strange)
    assert series.line("a").x.tolist() == [8]
    series.add([{"step": 9, "a": [1.0]}, {"step": 10, "a": [2.0]}])
    assert series.line("a").x.tolist() == [8]


def test_what_is_absent_counts_as_nothing_only_where_asked():
    series = RunSeries()
    series.add([{"step": 1, "a": 1.0}, {"step": 2}, {"step": 3, "a": 0.5}])
    assert series.line("a", window=1).x.tolist() == [1, 3]
    assert series.line("a", window=1, absent_is_zero=True).mean.tolist() == [1.0, 0.0, 0.5]


def test_no_more_names_than_are_kept():
    series = RunSeries(capacity=4)
    series.add([{"step": 1, **{f"m{number}": 1.0 for number in range(MOST_METRICS + 10)}}])
    assert len(series.names) == MOST_METRICS
    assert series.left_out


def test_a_part_of_the_rows_has_no_sums():
    series = RunSeries(whole=False)
    series.add(rows(3))
    assert series.line("a", "tokens").x.tolist() == []
    assert series.line("a", "minutes").x.tolist() == [0.5, 1.0, 1.5]


def test_nothing_yet():
    assert filled(0).line("a").x.tolist() == []
    assert RunSeries().best("a") is None


def test_one_huge_value_spoils_no_later_mean():
    series = RunSeries()
    values = [1e18 if step == 50 else 1.0 + step % 2 for step in range(300)]
    series.add([{"step": step, "a": value} for step, value in enumerate(values, start=1)])
    line = series.line("a", window=10)
    assert line.mean[100:].tolist() == [1.5] * 200
    assert line.band[100:] == pytest.approx(np.full(200, 1.959964 * math.sqrt(2.5 / 9 / 10)), rel=1e-6)
