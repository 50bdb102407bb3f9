"""Credit by turn: by hand, and what it has in common with credit by episode."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from pixelis.agents.episodes.episode import Episode, Segment
from pixelis.agents.losses.advantages import group_advantages, zero_variance_groups
from pixelis.agents.losses.credit import (
    by_token,
    returns_to_go,
    turn_advantages,
    turn_returns,
    zero_variance_turn_groups,
)

NAN = math.nan
# Discount 1/2; step rewards (1, 0), (0, 1, 1) and (0): turn 0 has mean 7/12, turn 1 has 3/4, and turn 2,
# where only the second member plays, keeps the 3/4.
RETURNS = np.array([[[1, 0, NAN], [0.75, 1.5, 1], [0, NAN, NAN]]])
RESIDUALS = np.array([[[5 / 12, -0.75, 0], [1 / 6, 0.75, 0.25], [-7 / 12, 0, 0]]])


def episode(turn_rewards, tokens=(2, 1, 3)):
    segments = [Segment.given([1, 1])]
    for count in tokens[: len(turn_rewards)]:
        segments += [Segment.written([5] * count), Segment.given([6])]
    turns = len(turn_rewards)
    return Episode("Toy-v0", 0, 0, 0, segments[:-1], turns=turns, turn_rewards=list(turn_rewards))


def test_returns_by_hand():
    assert returns_to_go([0, 1, 1], 0.5).tolist() == [0.75, 1.5, 1]
    assert returns_to_go([1, 0, 2]).tolist() == [3, 2, 2]
    assert returns_to_go([]).tolist() == []


@pytest.mark.parametrize(
    ("scale", "deviation"),
    [
        ("none", None),
        # 6 turns less 2 means; squares 78/144 + 2 * 9/16 + 1/16
        ("group", math.sqrt((78 / 144 + 2 * 9 / 16 + 1 / 16) / 4)),
        # six returns with sum 4.25 and squares 4.8125
        ("batch", math.sqrt((4.8125 - 4.25**2 / 6) / 5)),
    ],
)
def test_advantages_by_hand(scale, deviation):
    divisor = 1.0 if deviation is None else deviation + 1e-4
    np.testing.assert_allclose(turn_advantages(RETURNS, scale), RESIDUALS / divisor, rtol=1e-12)


def test_a_last_turn_alone_is_compared_with_the_last_turn_that_was_shared():
    # the first member answers wrong at once, the second looks first and is right: both its turns are credited
    returns = np.array([[[0, NAN], [1, 1]]], float)
    assert turn_advantages(returns, "none").tolist() == [[[-0.5, 0], [0.5, 0.5]]]


def test_one_scored_member_gets_nothing():
    returns = np.array([[[1, 2], [NAN, NAN]], [[NAN, NAN], [NAN, NAN]]], float)
    assert not turn_advantages(returns).any()
    assert zero_variance_turn_groups(returns).tolist() == [True, True]


def test_equal_sums_can_differ_by_turn():
    # each got 1 in all, but one at the first turn and one at the second
    early, late = returns_to_go([1, 0]), returns_to_go([0, 1])
    returns = np.array([[early, late], [early, early]])
    assert zero_variance_turn_groups(returns).tolist() == [False, True]
    assert turn_advantages(returns, "none")[0].tolist() == [[0, -0.5], [0, 0.5]]


def test_returns_of_an_episode():
    assert turn_returns(episode([0, 1, 1]), gamma=0.5).tolist() == [0.75, 1.5, 1]
    assert turn_returns(episode([0, 1]), extra=-3.0).tolist() == [-2, -2]
    broken = episode([0, 1])
    broken.turn_rewards.append(1.0)
    with pytest.raises(ValueError, match="each of the 2 written segments, got 3"):
        turn_returns(broken)


def test_values_go_to_the_tokens_of_their_turn():
    assert by_token(episode([0, 0, 0]), [7, 8, 9]).tolist() == [0, 0, 7, 7, 0, 8, 0, 9, 9, 9]


@pytest.mark.parametrize("gamma", [0.0, -1.0, 1.5])
def test_a_discount_out_of_range(gamma):
    with pytest.raises(ValueError, match="gamma"):
        returns_to_go([1.0], gamma)


def test_shapes_and_infinities_are_refused():
    with pytest.raises(ValueError, match="shape"):
        turn_advantages(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="infinite"):
        turn_advantages(np.full((1, 2, 1), np.inf))


rewards = st.integers(-4, 4).map(lambda number: number / 4)


@given(npst.arrays(float, (3, 4), elements=rewards), st.sampled_from(["group", "batch", "none"]))
def test_one_turn_is_credit_by_episode(matrix, scale):
    np.testing.assert_allclose(
        turn_advantages(matrix[:, :, None], scale)[:, :, 0], group_advantages(matrix, scale), atol=1e-9
    )
    np.testing.assert_array_equal(zero_variance_turn_groups(matrix[:, :, None]), zero_variance_groups(matrix))


@given(npst.arrays(float, (2, 4), elements=rewards), st.integers(1, 4), st.sampled_from(["group", "none"]))
def test_a_reward_at_the_end_of_equally_many_turns_is_credit_by_episode(matrix, turns, scale):
    returns = np.repeat(matrix[:, :, None], turns, axis=2)
    expected = np.repeat(group_advantages(matrix, scale)[:, :, None], turns, axis=2)
    np.testing.assert_allclose(turn_advantages(returns, scale), expected, atol=1e-9)


@given(st.lists(st.lists(rewards, min_size=1, max_size=4), min_size=2, max_size=5))
def test_advantages_of_a_turn_sum_to_zero_and_ignore_what_was_paid_before(rows):
    turns = max(map(len, rows))
    returns = np.full((1, len(rows), turns), NAN)
    for member, row in enumerate(rows):
        returns[0, member, : len(row)] = returns_to_go(row)
    found = turn_advantages(returns, "none")[0]
    for turn in range(turns):
        if sum(len(row) > turn for row in rows) > 1:
            assert found[:, turn].sum() == pytest.approx(0, abs=1e-9)
    for member, row in enumerate(rows):
        returns[0, member, : len(row)] = returns_to_go([row[0] + 100.0 * member, *row[1:]])
    if turns > 1 and sum(len(row) > 1 for row in rows) > 1:
        np.testing.assert_allclose(turn_advantages(returns, "none")[0][:, 1:], found[:, 1:], atol=1e-9)


@given(npst.arrays(float, (2, 3, 3), elements=st.one_of(rewards, st.just(NAN))))
def test_flat_groups_have_no_advantage_and_others_have(returns):
    for played in returns.reshape(-1, 3):  # nothing comes behind the last turn
        played[np.isnan(played).cumsum() > 0] = NAN
    found, zero_variance = turn_advantages(returns), zero_variance_turn_groups(returns)
    assert np.isfinite(found).all() and not found[np.isnan(returns)].any()
    np.testing.assert_array_equal(np.abs(found).max(axis=(1, 2)) > 0, ~zero_variance)
