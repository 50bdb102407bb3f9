"""Formulas, by hand and by their properties."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.agents.ued.scores import (
    PRIOR_LEARNABILITY,
    band_weight,
    beta_mean,
    beta_spread,
    learnability,
    positive_advantage,
    proportional_weights,
    rank_weights,
    replay_weights,
    smoothed_learnability,
    staleness_weights,
)

scores = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=40)
ages = st.lists(st.integers(0, 10**6), min_size=40, max_size=40)
rates = st.floats(0, 1)


@pytest.mark.parametrize(
    ("successes", "members", "expected"),
    [(0, 8, 0.0), (8, 8, 0.0), (4, 8, 16 / 56), (1, 8, 7 / 56), (1, 2, 0.5), (2, 4, 1 / 3)],
)
def test_learnability_by_hand(successes, members, expected):
    assert learnability(successes, members) == pytest.approx(expected)


@given(st.floats(0, 1), st.integers(2, 12))
def test_learnability_is_unbiased(rate, members):
    chances = [math.comb(members, k) * rate**k * (1 - rate) ** (members - k) for k in range(members + 1)]
    mean = sum(chance * learnability(k, members) for k, chance in enumerate(chances))
    assert mean == pytest.approx(rate * (1 - rate), abs=1e-12)


@pytest.mark.parametrize(("successes", "members"), [(1, 1), (-1, 4), (5, 4), (0, 0)])
def test_what_is_no_group_has_no_learnability(successes, members):
    with pytest.raises(ValueError, match="members >= 2"):
        learnability(successes, members)


def test_positive_advantage_by_hand():
    assert positive_advantage([1.0, 0.0, 0.0, 0.0]) == pytest.approx(0.25 * 0.75)  # p (1 - p) of 0/1
    assert positive_advantage([2.0, 4.0]) == pytest.approx(0.5)
    assert positive_advantage([0.3] * 5) == 0.0


def test_smoothing_by_hand():
    assert beta_mean(0, 0) == 0.5 and beta_mean(3, 4) == pytest.approx(4 / 6)
    # the integral of p (1 - p) over [0, 1], by the midpoint rule
    grid = (np.arange(1000) + 0.5) / 1000
    assert pytest.approx(float((grid * (1 - grid)).mean()), abs=1e-6) == PRIOR_LEARNABILITY
    assert smoothed_learnability(0, 0) == PRIOR_LEARNABILITY
    assert smoothed_learnability(0.5, 2) == pytest.approx((1 / 6 + 0.5) / 3)


def test_the_spread_of_a_beta_distribution():
    assert beta_spread(np.array(1.0), np.array(1.0)) == pytest.approx(PRIOR_LEARNABILITY)
    drawn = np.random.default_rng(0).beta(3.0, 7.0, 100_000)
    assert beta_spread(np.array(3.0), np.array(7.0)) == pytest.approx((drawn * (1 - drawn)).mean(), abs=2e-3)


@pytest.mark.parametrize(
    ("rate", "expected"), [(0.0, 0.0), (0.15, 0.5), (0.3, 1.0), (0.4, 1.0), (0.5, 1.0), (0.75, 0.5), (1.0, 0)]
)
def test_the_band_by_hand(rate, expected):
    assert band_weight(rate, 0.3, 0.5) == pytest.approx(expected)


@given(rates, rates, rates)
def test_the_band_is_one_inside_and_less_outside(rate, low, high):
    low, high = min(low, high, 0.9), min(max(low, high), 0.9)
    weight = band_weight(rate, low, high)
    assert 0 <= weight <= 1
    assert (weight == 1) == (low <= rate <= high) or math.isclose(weight, 1)


def test_ranks_by_hand():
    # scores .2, .1, .2 with regrets .5, .9, .7: ranks 2, 3, 1; beta 1/2 squares 1/rank
    weights = rank_weights([(0.2, 0.5), (0.1, 0.9), (0.2, 0.7)], 0.5)
    np.testing.assert_allclose(weights, np.array([1 / 4, 1 / 9, 1]) / (1 + 1 / 4 + 1 / 9))


def test_proportions_by_hand():
    weights = proportional_weights(np.array([0.1, 0.2, 0.1]), 0.5)
    np.testing.assert_allclose(weights, [1 / 6, 4 / 6, 1 / 6])
    np.testing.assert_allclose(proportional_weights(np.array([1e-9, 0.2]), 0.001), [0.0, 1.0])


def test_staleness_by_hand():
    np.testing.assert_allclose(staleness_weights([0, 3, 1]), [0, 0.75, 0.25])
    np.testing.assert_allclose(staleness_weights([0, 0]), [0.5, 0.5])


def test_replay_by_hand():
    weights = replay_weights([(1.0, 0.0), (0.0, 0.0)], [1, 3], beta=1.0, rho=0.5)
    np.testing.assert_allclose(weights, [0.5 * 2 / 3 + 0.5 / 4, 0.5 / 3 + 0.5 * 3 / 4])


@given(scores, ages, st.floats(0.01, 100), st.floats(0, 1))
def test_probabilities_sum_to_one(scores, ages, beta, rho):
    weights = replay_weights(scores, ages[: len(scores)], beta, rho)
    assert weights.sum() == pytest.approx(1.0) and (weights >= 0).all()


@given(scores, st.floats(0.05, 100))
def test_what_ranks_higher_is_never_less_likely(scores, beta):
    weights = rank_weights(scores, beta)
    order = sorted(range(len(scores)), key=lambda place: scores[place], reverse=True)
    assert (np.diff(weights[order]) <= 1e-12).all()


@given(ages, st.integers(1, 100))
def test_what_waits_longer_becomes_likelier(ages, more):
    if sum(ages) == 0:
        ages = [1, *ages[1:]]
    before = staleness_weights(ages)[0]
    assert staleness_weights([ages[0] + more, *ages[1:]])[0] >= before
