"""Potential-based shaping leaves the best policy as it is; proved on small MDPs by value iteration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.errors import ConfigError, RewardError
from pixelis.rewards.stack.stack import RewardStack
from pixelis.rewards.terms.potential import PotentialTerm
from pixelis.rewards.terms.term import Transition

STATES, ACTIONS, GAMMA = 6, 3, 0.9
END = STATES - 1


def random_mdp(seed):
    """Return transition probabilities [S, A, S] and rewards [S, A, S] with an absorbing end."""
    rng = np.random.default_rng(seed)
    moves = rng.dirichlet(np.full(STATES, 0.3), (STATES, ACTIONS))
    return moves, rng.normal(size=(STATES, ACTIONS, STATES))


def optimal_values(moves, rewards, gamma=GAMMA):
    """Return Q* [S, A] by value iteration; the last state is terminal."""
    values = np.zeros((STATES, ACTIONS))
    for _ in range(2_000):
        best = values.max(1)
        best[END] = 0.0
        updated = (moves * (rewards + gamma * best)).sum(2)
        updated[END] = 0.0
        if np.abs(updated - values).max() < 1e-13:
            break
        values = updated
    return values


def shaping(term):
    """Return the term's value of every transition, [S, A, S]."""
    added = np.zeros((STATES, ACTIONS, STATES))
    for before in range(STATES - 1):
        for after in range(STATES):
            step = Transition({"value": before}, "", {"value": after}, terminated=after == END)
            added[before, :, after] = term.score([(term.begin(), step)])[0]
    return added


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("weight", [0.3, 20.0])
def test_the_optimal_policy_is_unchanged(seed, weight):
    moves, rewards = random_mdp(seed)
    heights = np.random.default_rng(seed + 100).uniform(size=STATES)
    term = PotentialTerm(potential=lambda observation: heights[observation["value"]], gamma=GAMMA)
    plain = optimal_values(moves, rewards)
    shaped = optimal_values(moves, rewards + weight * shaping(term))
    # Q*_shaped(s, a) = Q*(s, a) − weight·Φ(s): Ng, Harada and Russell 1999, corollary 2.
    np.testing.assert_allclose(shaped[:END], (plain - weight * heights[:, None])[:END], atol=1e-9)
    assert (shaped[:END].argmax(1) == plain[:END].argmax(1)).all()


def test_a_bonus_that_is_no_potential_does_change_it():
    """The same heights, paid for arriving: the check above can fail."""
    changed = 0
    for seed in range(8):
        moves, rewards = random_mdp(seed)
        heights = np.random.default_rng(seed + 100).uniform(size=STATES)
        plain, farmed = optimal_values(moves, rewards), optimal_values(moves, rewards + 20.0 * heights)
        changed += (farmed[:END].argmax(1) != plain[:END].argmax(1)).any()
    assert changed >= 6


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30))
def test_without_discount_every_episode_is_worth_minus_the_first_potential(heights):
    """Whatever is done on the way, and the stack's bound on a running sum never cuts it."""
    stack = RewardStack(
        [PotentialTerm(potential=lambda observation: observation["value"])], None, {"potential": 1.0}
    )
    memory = stack.begin()
    last = len(heights) - 2
    total = 0.0
    for place, (before, after) in enumerate(itertools.pairwise(heights)):
        step = Transition({"value": before}, "", {"value": after}, truncated=place == last)
        total += stack.score([(memory, step, 0.0)])[0].reward
    assert total == pytest.approx(-heights[0], abs=1e-9)


def test_bad_potentials():
    step = Transition({"value": 0}, "", {"value": 1})
    for value in (1.5, -0.1):
        with pytest.raises(RewardError, match=r"potential: expected a potential in \[0, 1\]"):
            PotentialTerm(potential=lambda observation, value=value: value).score([(None, step)])
    with pytest.raises(RewardError, match="mine: expected a finite number"):
        PotentialTerm(potential=lambda observation: float("nan"), name="mine").score([(None, step)])
    for gamma in (0.0, 1.1, "1", True):
        with pytest.raises(ConfigError, match="gamma"):
            PotentialTerm(potential=lambda observation: 0.0, gamma=gamma)
