"""Pass@k, best@k and the diversity-efficiency ratio: by hand, and against all draws there are."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.errors import RewardError
from pixelis.rewards.text.diversity import best_at_k, efficiency_ratio, pass_at_k


@pytest.mark.parametrize(
    ("samples", "passing", "k", "expected"),
    [
        (5, 2, 1, 0.4),
        (5, 2, 2, 0.7),  # 1 − C(3, 2) / C(5, 2) = 1 − 3/10
        (5, 2, 4, 1.0),  # four of five cannot miss both
        (4, 0, 3, 0.0),
        (1, 1, 1, 1.0),
        (10_000, 1, 100, 0.01),
    ],
)
def test_pass_at_k_by_hand(samples, passing, k, expected):
    assert pass_at_k(samples, passing, k) == pytest.approx(expected, abs=1e-12)


@given(st.data())
def test_pass_at_k_is_the_share_of_all_draws_with_a_pass(data):
    samples = data.draw(st.integers(1, 8))
    passing = data.draw(st.integers(0, samples))
    k = data.draw(st.integers(1, samples))
    draws = list(itertools.combinations([True] * passing + [False] * (samples - passing), k))
    assert pass_at_k(samples, passing, k) == pytest.approx(sum(map(any, draws)) / len(draws), abs=1e-12)


def test_best_at_k_by_hand():
    # Of the pairs of 1, 2, 4 the greater ones are 2, 4, 4.
    assert best_at_k([4.0, 1.0, 2.0], 2) == pytest.approx(10 / 3)
    assert best_at_k([4.0, 1.0, 2.0], 1) == pytest.approx(7 / 3)
    assert best_at_k([4.0, 1.0, 2.0], 3) == 4.0
    assert best_at_k([-0.5], 1) == -0.5


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=8), st.data())
def test_best_at_k_is_the_mean_maximum_of_all_draws(rewards, data):
    k = data.draw(st.integers(1, len(rewards)))
    draws = [max(draw) for draw in itertools.combinations(rewards, k)]
    assert best_at_k(rewards, k) == pytest.approx(sum(draws) / len(draws), abs=1e-9)


@given(st.integers(1, 40), st.data())
def test_best_at_k_of_zeros_and_ones_is_pass_at_k(samples, data):
    passing = data.draw(st.integers(0, samples))
    k = data.draw(st.integers(1, samples))
    rewards = [1.0] * passing + [0.0] * (samples - passing)
    assert best_at_k(rewards, k) == pytest.approx(pass_at_k(samples, passing, k), abs=1e-9)


def test_large_counts_do_not_overflow():
    assert best_at_k([1.0] * 5_000, 2_500) == pytest.approx(1.0)
    assert pass_at_k(5_000, 2, 2_500) == pytest.approx(1 - math.comb(4_998, 2_500) / math.comb(5_000, 2_500))


def test_the_efficiency_ratio_by_hand():
    assert efficiency_ratio(0.25, 0.25, 4) == 0.25  # four answers that all fail together
    assert efficiency_ratio(0.25, 1.0, 4) == 1.0  # every answer solves another prompt
    assert efficiency_ratio(0.4, 0.7, 2) == pytest.approx(0.875)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pass_at_k(5, 2, 6), "from 1 to the 5 answers there are, got 6; draw more"),
        (lambda: pass_at_k(5, 2, 0), "got 0"),
        (lambda: pass_at_k(5, 6, 1), "0 to 5 passing answers, got 6"),
        (lambda: best_at_k([], 1), "0 answers"),
        (lambda: best_at_k([1.0, math.nan], 1), "finite rewards"),
        (lambda: efficiency_ratio(0.0, 0.0, 4), "without any success"),
        (lambda: efficiency_ratio(0.5, 0.4, 4), "from 0.5000 to 1.0000, got 0.4"),
        (lambda: efficiency_ratio(0.1, 0.5, 4), "from 0.1000 to 0.4000"),
    ],
)
def test_what_cannot_be_measured_is_an_error(call, words):
    with pytest.raises(RewardError, match=words):
        call()
