"""Group-relative advantages against values worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pixelis.agents.losses.advantages import ADVANTAGES, group_advantages, zero_variance_groups
from pixelis.errors import ConfigError

NAN = math.nan


def test_group_scale_by_hand():
    # mean 2, deviations -1 0 0 1, sample variance 2/3
    got = group_advantages(np.array([[1.0, 2.0, 2.0, 3.0]]))
    std = math.sqrt(2 / 3)
    np.testing.assert_allclose(got, [[-1 / (std + 1e-4), 0, 0, 1 / (std + 1e-4)]], rtol=1e-12)


def test_none_scale_only_centres():
    np.testing.assert_allclose(
        group_advantages(np.array([[0.0, 1.0], [4.0, 2.0]]), "none"), [[-0.5, 0.5], [1, -1]]
    )


def test_batch_scale_divides_by_the_deviation_of_all_rewards():
    # all rewards: 0 2 4 4, mean 2.5, squares 6.25 + 0.25 + 2.25 + 2.25 = 11, sample variance 11/3
    got = group_advantages(np.array([[0.0, 2.0], [4.0, 4.0]]), "batch")
    std = math.sqrt(11 / 3) + 1e-4
    np.testing.assert_allclose(got, [[-1 / std, 1 / std], [0, 0]], rtol=1e-12)


def test_leave_one_out_by_hand():
    # 0 against (1 + 5) / 2 = 3, 1 against (0 + 5) / 2 = 2.5, 5 against (0 + 1) / 2 = 0.5
    got = group_advantages(np.array([[0.0, 1.0, 5.0]]), "leave_one_out")
    np.testing.assert_allclose(got, [[-3.0, -1.5, 4.5]], rtol=1e-12)


def test_leave_one_out_leaves_unscored_members_out():
    # 1 against 3, 3 against 1
    got = group_advantages(np.array([[1.0, NAN, 3.0], [2.0, NAN, NAN]]), "leave_one_out")
    np.testing.assert_allclose(got, [[-2.0, 0.0, 2.0], [0.0, 0.0, 0.0]], rtol=1e-12)


def test_unscored_members_are_left_out_of_mean_and_deviation():
    # scored 0 and 1: mean 1/2, sample variance 1/2
    got = group_advantages(np.array([[0.0, NAN, 1.0]]))
    half = 0.5 / (math.sqrt(0.5) + 1e-4)
    np.testing.assert_allclose(got, [[-half, 0, half]], rtol=1e-12)


@pytest.mark.parametrize("scale", ["group", "batch", "none", "leave_one_out"])
def test_a_lone_scored_member_has_no_advantage(scale):
    got = group_advantages(np.array([[5.0, NAN, NAN], [0.0, 1.0, 2.0]]), scale)
    assert (got[0] == 0).all()


def test_zero_variance_groups():
    rewards = np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 0.0], [NAN, NAN, 3.0], [2.0, NAN, 2.0], [NAN, NAN, NAN]])
    assert zero_variance_groups(rewards).tolist() == [True, False, True, True, True]


@pytest.mark.parametrize("bad", [np.zeros(4), np.zeros((1, 2, 3)), np.array([[np.inf, 0.0]])])
def test_shapes_and_infinities_are_refused(bad):
    with pytest.raises(ValueError, match="rewards must"):
        group_advantages(bad)


def test_unknown_scale_is_refused():
    with pytest.raises(ConfigError, match="no advantage is registered as 'median'"):
        group_advantages(np.zeros((1, 2)), "median")


rewards_strategy = arrays(np.float64, (3, 4), elements=st.floats(-5, 5))


scales = st.sampled_from(["group", "batch", "none", "leave_one_out"])


@given(rewards_strategy, scales)
def test_every_group_sums_to_zero(rewards, scale):
    np.testing.assert_allclose(group_advantages(rewards, scale).sum(axis=1), 0, atol=1e-6)


@given(rewards_strategy, st.floats(-10, 10), scales)
def test_a_constant_added_to_all_rewards_changes_nothing(rewards, constant, scale):
    np.testing.assert_allclose(
        group_advantages(rewards + constant, scale), group_advantages(rewards, scale), atol=1e-6
    )


@given(rewards_strategy, st.floats(-10, 10))
def test_leave_one_out_has_no_part_in_its_own_baseline(rewards, raised):
    # what one member gains, its own advantage gains in full, and each of the other 3 loses a third of it
    after = rewards.copy()
    after[1, 2] += raised
    change = group_advantages(after, "leave_one_out") - group_advantages(rewards, "leave_one_out")
    expected = np.zeros((3, 4))
    expected[1] = -raised / 3
    expected[1, 2] = raised
    np.testing.assert_allclose(change, expected, atol=1e-9)


def test_an_advantage_of_ones_own():
    try:
        ADVANTAGES.register("test_rank")(lambda rewards: rewards.argsort(axis=1).argsort(axis=1) - 1.0)
        got = group_advantages(np.array([[5.0, -1.0, 0.0]]), "test_rank")
    finally:
        ADVANTAGES.pop("test_rank", None)
    assert got.tolist() == [[1.0, -1.0, 0.0]]


@given(rewards_strategy)
def test_dropped_groups_have_no_advantage(rewards):
    assert np.abs(group_advantages(rewards)[zero_variance_groups(rewards)]).max(initial=0) < 1e-3
