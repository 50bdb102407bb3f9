"""Paired differences: tables by hand, symmetry, and how often the interval covers the truth."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.runs.evaluate import wilson_interval
from pixelis.agents.runs.paired import bootstrap_interval, compare, mcnemar_p, newcombe_interval
from pixelis.errors import ConfigError

counts = st.integers(0, 60)


def played(outcomes: str, rewards: list[float] | None = None) -> list[Episode]:
    """Return an episode for each letter: ``+`` solved, ``-`` not, ``x`` failed infrastructure."""
    return [
        Episode(
            "",
            seed,
            seed,
            0,
            success=letter == "+",
            reward=rewards[seed] if rewards else float(letter == "+"),
            valid_for_training=letter != "x",
        )
        for seed, letter in enumerate(outcomes)
    ]


def test_a_table_by_hand():
    found = compare(played("++--+x"), played("+-++-+", [1, 0, 1, 1, 0.5, 1]))
    assert (found.pairs, found.left_out) == (5, 1)
    assert (found.both, found.only_a, found.only_b, found.neither) == (1, 2, 2, 0)
    assert found.difference == 0.0 and found.p_value == 1.0
    # rewards: 1-1, 0-1, 1-0, 1-0, 0.5-1
    assert found.reward_difference == pytest.approx((0 - 1 + 1 + 1 - 0.5) / 5)
    assert found.interval[0] < 0 < found.interval[1]


def test_mcnemar_by_hand():
    assert mcnemar_p(0, 0) == 1.0
    assert mcnemar_p(0, 5) == pytest.approx(2 / 32)
    assert mcnemar_p(1, 5) == pytest.approx(2 * (1 + 6) / 64)
    assert mcnemar_p(3, 3) == 1.0
    assert mcnemar_p(0, 2000) < 1e-300  # no overflow


def test_the_interval_by_hand():
    # 36 both, 12 and 2 discordant, 0 neither: p 0.76 and 0.96, φ < 0 as 36·0 - 12·2 = -24.
    low, high = newcombe_interval(36, 2, 12, 0)
    (low_a, high_a), (low_b, high_b) = wilson_interval(38, 50), wilson_interval(48, 50)
    phi = -24 / math.sqrt(38 * 12 * 48 * 2)
    below = (0.96 - low_b) ** 2 + (high_a - 0.76) ** 2 - 2 * phi * (0.96 - low_b) * (high_a - 0.76)
    above = (high_b - 0.96) ** 2 + (0.76 - low_a) ** 2 - 2 * phi * (high_b - 0.96) * (0.76 - low_a)
    assert (low, high) == pytest.approx((0.2 - math.sqrt(below), 0.2 + math.sqrt(above)))
    # Nothing discordant, one margin empty: φ is 0, and Wilson's lower end of 10 of 10 is 0.7225.
    assert newcombe_interval(10, 0, 0, 0) == pytest.approx((-0.2775, 0.2775), abs=1e-4)
    assert newcombe_interval(0, 0, 0, 0) == (-1.0, 1.0)


def test_agreement_makes_the_interval_narrow():
    same = newcombe_interval(50, 5, 5, 40)
    apart = newcombe_interval(30, 25, 25, 20)  # the same two success rates
    assert same[1] - same[0] < 0.7 * (apart[1] - apart[0])


@given(counts, counts, counts, counts)
def test_both_ways_round(both, only_a, only_b, neither):
    low, high = newcombe_interval(both, only_a, only_b, neither)
    n = both + only_a + only_b + neither
    assert -1 <= low <= ((only_b - only_a) / n if n else 0) <= high <= 1
    assert newcombe_interval(both, only_b, only_a, neither) == pytest.approx((-high, -low))
    assert 0 < mcnemar_p(only_a, only_b) == mcnemar_p(only_b, only_a) <= 1


@pytest.mark.parametrize("shares", [(0.3, 0.1, 0.3, 0.3), (0.05, 0.02, 0.6, 0.33), (0.7, 0.1, 0.1, 0.1)])
def test_the_interval_covers_the_truth_as_often_as_it_says(shares):
    tables = np.random.default_rng(0).multinomial(60, shares, size=2000)
    truth = shares[2] - shares[1]
    covered = [low <= truth <= high for low, high in (newcombe_interval(*map(int, t)) for t in tables)]
    assert 0.935 < np.mean(covered) < 0.985  # 95 % within three standard errors, a little on the safe side


def test_the_bootstrap_of_rewards():
    rng = np.random.default_rng(1)
    gains = rng.normal(0.3, 1.0, 400)
    low, high = bootstrap_interval(gains[:, None])
    error = 1.96 * gains.std() / 20
    assert (low, high) == pytest.approx((gains.mean() - error, gains.mean() + error), abs=0.015)
    assert bootstrap_interval(gains[:, None]) == (low, high)
    assert bootstrap_interval([[0.5], [0.5]]) == (0.5, 0.5)
    assert bootstrap_interval([]) == (-math.inf, math.inf)
    assert bootstrap_interval([[0.0] * 9, [1.0]]) == (0.0, 1.0)  # two tasks, however often one was played


def test_a_task_that_is_played_again_counts_once():
    """Three tasks, 40 times each: B solves the two that A does not."""
    a, b = (
        [replace(each, info={"task": {"hash": f"h{each.seed % 3}"}}) for each in played(outcomes)]
        for outcomes in ("+--" * 40, "+++" * 40)
    )
    found = compare(a, b)
    assert (found.pairs, found.tasks, found.only_b) == (120, 3, 80)
    assert found.difference == pytest.approx(2 / 3)
    once = compare(a[:3], b[:3])
    assert found.interval == pytest.approx(once.interval)
    assert found.p_value == once.p_value == 0.5  # two coins; of 80 pairs it would be 1e-24
    assert found.reward_interval == once.reward_interval


def test_what_nobody_knows_is_in_no_table():
    """Of three tasks the second is unlabelled: one is won of two, and the reward is compared in all three."""
    unknown = {"unlabelled": True}
    a = [Episode("E-v0", seed, seed, 0, success=False, reward=0.0) for seed in range(3)]
    b = [Episode("E-v0", seed, seed, 0, success=True, reward=1.0) for seed in range(2)]
    b.append(Episode("E-v0", 2, 2, 0, success=False, reward=0.5))
    for each in (a[1], b[1]):
        each.success, each.info = None, unknown
    found = compare(a, b)
    assert (found.pairs, found.difference, found.reward_difference) == (3, 0.5, pytest.approx(2.5 / 3))
    assert found.interval == newcombe_interval(0, 0, 1, 1)
    assert not compare(a[1:2], b[1:2]).says_success


def test_what_cannot_be_compared():
    with pytest.raises(ConfigError, match="the same seeds"):
        compare(played("++"), played("+"))
    nothing = compare(played("x"), played("+"))
    assert nothing.pairs == 0 and math.isnan(nothing.difference)
    row = nothing.to_json()
    assert row["difference"] is row["reward_difference"] is row["reward_interval"] is None
