"""The Pareto front and its hypervolume against their definitions, and the collapse point by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from diversity_of_runs import collapse_point, hypervolume, pareto_front
from hypothesis import given
from hypothesis import strategies as st

from pixelis.errors import RewardError

POINTS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=8)


def test_the_front_by_hand():
    runs = [(0.9, 0.2), (0.5, 0.5), (0.4, 0.4), (0.2, 0.9), (0.9, 0.1)]
    assert pareto_front(runs) == [3, 1, 0]
    assert pareto_front([(1, 1), (1, 1), (0, 1)]) == [0, 1]
    assert pareto_front([(3.0,), (7.0,)]) == [1]


@given(POINTS)
def test_the_front_is_what_no_other_point_dominates(points):
    def dominated(point):
        return any(other != point and other[0] >= point[0] and other[1] >= point[1] for other in points)

    assert sorted(pareto_front(points)) == [n for n, point in enumerate(points) if not dominated(point)]


def test_hypervolume_by_hand():
    assert hypervolume([(2, 1), (1, 3)], (0, 0)) == 4  # 2 × 1 and 1 × 3, which share 1 × 1
    assert hypervolume([(2, 1), (1, 3)], (1, 0)) == 1
    assert hypervolume([(2, 1)], (2, 0)) == 0
    assert hypervolume([(0.5, 0.5)], (-1, -1)) == 2.25


@given(POINTS, st.tuples(st.integers(-2, 3), st.integers(-2, 3)))
def test_hypervolume_counts_the_cells_of_a_grid(points, reference):
    cells = [
        cell
        for cell in itertools.product(range(-2, 6), repeat=2)
        if cell >= reference and cell[1] >= reference[1]
        if any(x > cell[0] and y > cell[1] for x, y in points)
    ]
    assert hypervolume(points, reference) == len(cells)


@given(POINTS)
def test_only_the_front_has_volume_and_a_point_more_never_takes_some(points):
    front = [points[number] for number in pareto_front(points)]
    assert hypervolume(front, (0, 0)) == hypervolume(points, (0, 0))
    assert hypervolume([*points, (3, 3)], (0, 0)) >= hypervolume(points, (0, 0))


def test_the_collapse_point_by_hand():
    steps, diversity = [0, 10, 20, 30], [0.8, 0.5, 0.3, 0.6]
    assert collapse_point(steps, diversity) == 20  # the first below 0.4
    assert collapse_point(steps, diversity, share=0.7) == 10
    assert collapse_point(steps, diversity, share=0.3) is None
    assert collapse_point([5], [1.0]) is None
    assert collapse_point([0, 1], [1.0, 0.5]) is None  # at the share is not below it


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pareto_front([]), "finite points"),
        (lambda: pareto_front([(1, np.inf)]), "finite points"),
        (lambda: hypervolume([(1, 2, 3)], (0, 0)), r"\[n, 2\]"),
        (lambda: hypervolume([(1, 2)], (0, np.nan)), "finite reference"),
        (lambda: collapse_point([0], []), "as many steps"),
        (lambda: collapse_point([], []), "as many steps"),
        (lambda: collapse_point([0, 1], [0.0, 0.1]), "first above 0"),
        (lambda: collapse_point([0, 1], [1.0, np.nan]), "finite values"),
        (lambda: collapse_point([1, 1], [1.0, 0.5]), "rising steps"),
        (lambda: collapse_point([0], [1.0], share=0), "share above 0"),
    ],
)
def test_what_cannot_be_measured_is_an_error(call, words):
    with pytest.raises(RewardError, match=words):
        call()
