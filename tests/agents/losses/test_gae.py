"""Advantages from values: by hand, and at both ends of lambda."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.agents.episodes.episode import Episode, Segment
from pixelis.agents.losses.credit import returns_to_go
from pixelis.agents.losses.gae import gae, token_rewards

REWARDS, VALUES = [0.0, 1.0], [0.5, 0.25]


@pytest.mark.parametrize(
    ("gamma", "gae_lambda", "advantages", "returns"),
    [
        (1.0, 0.5, [0.125, 0.75], [0.625, 1.0]),  # deltas -1/4 and 3/4
        (1.0, 0.0, [-0.25, 0.75], [0.25, 1.0]),
        (0.5, 1.0, [0.0, 0.75], [0.5, 1.0]),
        (0.0, 1.0, [-0.5, 0.75], [0.0, 1.0]),
    ],
)
def test_by_hand(gamma, gae_lambda, advantages, returns):
    found = gae(np.array(REWARDS), np.array(VALUES), gamma, gae_lambda)
    np.testing.assert_allclose(found, (advantages, returns), atol=1e-12)


def test_nothing_and_wrong_shapes():
    assert [part.tolist() for part in gae(np.zeros(0), np.zeros(0))] == [[], []]
    with pytest.raises(ValueError, match="share a shape"):
        gae(np.zeros(2), np.zeros(3))
    with pytest.raises(ValueError, match=r"in \[0, 1\]"):
        gae(np.zeros(1), np.zeros(1), gae_lambda=1.5)


numbers = st.lists(st.tuples(st.floats(-5, 5), st.floats(-5, 5)), min_size=1, max_size=12)


@given(numbers, st.floats(0.1, 1), st.floats(0, 1))
def test_lambda_one_gives_returns_and_true_values_give_zero(pairs, gamma, gae_lambda):
    rewards, values = np.array(pairs).T
    returns = returns_to_go(rewards, gamma)
    np.testing.assert_allclose(gae(rewards, values, gamma, 1.0)[1], returns, atol=1e-9)
    np.testing.assert_allclose(gae(rewards, returns, gamma, gae_lambda)[0], 0, atol=1e-9)


def test_a_turn_is_paid_at_its_last_token():
    segments = [Segment.given([1]), Segment.written([2, 2]), Segment.given([1, 1]), Segment.written([3])]
    episode = Episode("Toy-v0", 0, 0, 0, segments, turn_rewards=[0.5, 2.0])
    assert token_rewards(episode).tolist() == [0, 0.5, 2]
    assert token_rewards(episode, extra=-1.0).tolist() == [0, 0.5, 1]
    episode.turn_rewards.pop()
    with pytest.raises(ValueError, match="each of the 2 written segments, got 1"):
        token_rewards(episode)
