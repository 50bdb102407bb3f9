"""What credit by turn makes of rewards for progress: generalised advantages, the progress as the critic."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.agents.losses.credit import returns_to_go, turn_advantages, zero_variance_turn_groups
from pixelis.agents.losses.gae import gae
from pixelis.rewards.terms.potential import ProgressTerm
from pixelis.rewards.terms.term import Transition

HEIGHTS = st.lists(st.floats(0, 0.99), min_size=1, max_size=8)


def paid(heights, success, weight=0.5):
    """What an episode is paid that was so near its goal after each turn but the last."""
    term, rewards = ProgressTerm(), []
    memory = term.begin()
    for place, height in enumerate([*heights, float(success)]):
        ended = place == len(heights)
        step = Transition({}, "", {}, terminated=ended, progress=height)
        rewards.append(weight * term.score([(memory, step)])[0] + success * ended)
    return rewards


@given(heights=HEIGHTS, success=st.booleans(), discount=st.floats(0.05, 1.0), weight=st.floats(0, 5))
def test_a_turns_return_is_a_generalised_advantage(heights, success, discount, weight):
    returns = returns_to_go(paid(heights, success, weight), discount)
    task = np.array([0.0] * len(heights) + [float(success)])
    values = weight * np.array([0.0, *heights])
    expected, _ = gae(task, values, 1.0, discount)
    np.testing.assert_allclose(returns, expected, atol=1e-9 * (1 + weight))


def test_a_group_in_which_all_failed_teaches_its_first_turn_with_a_discount_alone():
    """One of two looked at the right place, and both answered wrong."""
    members = [paid([0.6], False), paid([0.0], False)]
    assert [sum(rewards) for rewards in members] == pytest.approx([0.0, 0.0])

    def first_and_last(discount):
        returns = np.array([[returns_to_go(rewards, discount) for rewards in members]])
        assert not zero_variance_turn_groups(returns)[0]
        return turn_advantages(returns, "none")[0]

    np.testing.assert_allclose(first_and_last(1.0), [[0.0, -0.15], [0.0, 0.15]], atol=1e-12)
    np.testing.assert_allclose(first_and_last(0.7), [[0.045, -0.15], [-0.045, 0.15]], atol=1e-12)
