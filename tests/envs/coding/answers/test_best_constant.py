"""The constant that is right most often, by hand: with tolerances, in any order, with mixed comparisons."""

from __future__ import annotations

import math

import pytest

from pixelis.envs.coding.answers.best_constant import best_constant
from pixelis.envs.coding.answers.comparison import EXACT, AnswerComparison, compare

NEAR = AnswerComparison(float_tolerance=0.05)
BY_VALUE = AnswerComparison(same_number_type=False)


def count(rule, *values):
    """How many of some values the best constant is right for; it must be right for so many."""
    constant, right = best_constant([(value, rule) for value in values])
    assert sum(compare(value, constant, rule) for value in values) == right
    return right


@pytest.mark.parametrize(
    ("rule", "values", "right"),
    [
        (EXACT, (1, 2, 2, True, 2.0), 2),
        (EXACT, ([1, 2], [2, 1], [3]), 1),
        (AnswerComparison(unordered=True), ([1, 2], [2, 1], [3]), 2),
        (AnswerComparison(any_sequence=True), ([1, 2], (1, 2), [3]), 2),
        (BY_VALUE, (1, True, 1.0, 2), 3),
        (NEAR, (0.4, 0.5, 0.7), 2),  # 0.45 is
        (NEAR, (0.46, 0.48, 0.5, 0.52, 0.54, 1.0), 5),
        (NEAR, (0.0, 0.09, 0.18, 0.27), 2),  # a chain: each is near the next alone
        (NEAR, (math.nan, math.nan, math.inf, 1.0), 2),
        (NEAR, ((0.0, 0.0), (0.0, 0.1), (0.1, 0.1), (1.0, 0.1)), 3),  # (0.05, 0.05)
        (NEAR, ((0.0, 0.0), (0.0, 1.0), (0.08, 0.5)), 1),  # two share the first number, none both
        (NEAR, ({"a": 0.4, "b": 1}, {"b": 1, "a": 0.5}, {"a": 0.5, "b": 2}), 2),
        (AnswerComparison(relative_tolerance=0.1), (91.0, 109.0, 300.0), 2),  # 91 takes 81.9 to 100.1
        (AnswerComparison(float_tolerance=0.05, unordered=True), ([0.4, 2.0], [2.0, 0.5], [0.4]), 2),
        (AnswerComparison(float_tolerance=0.5, same_number_type=False), (1, 2, True), 3),  # 1.5 is
        (AnswerComparison(float_tolerance=0.5, same_number_type=False), (10**400, 1), 1),
    ],
)
def test_by_hand(rule, values, right):
    assert count(rule, *values) == right


def test_each_value_has_its_own_comparison():
    exact = AnswerComparison(same_number_type=False)
    wide = AnswerComparison(float_tolerance=0.5, same_number_type=False)
    constant, right = best_constant([(0.5, wide), (0.25, exact), (0.1, exact)])
    assert constant in (0.25, 0.1) and right == 2
    constant, right = best_constant([(1, BY_VALUE), (True, EXACT), (2, BY_VALUE)])
    assert (constant, right) == (True, 2) and type(constant) is bool


def test_what_takes_too_long_ends_with_what_was_found():
    rows = [[(31 * row * at % 97) / 97 for at in range(1, 101)] for row in range(1, 101)]
    _, right = best_constant([(row, AnswerComparison(float_tolerance=0.3)) for row in rows])
    assert 1 <= right < 100
