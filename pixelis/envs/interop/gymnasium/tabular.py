"""The best policy of an environment that says its transitions: value iteration (Sutton & Barto 2018, 4.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

DISCOUNT = 0.99
CHANGE = 1e-8
"""Of every value, below which iteration ends."""
MOST_SWEEPS = 10_000
Transitions = Mapping[int, Mapping[int, Sequence[tuple[float, int, float, bool]]]]
"""State → action → (probability, next state, reward, whether that ends the episode), Gymnasium's ``P``."""


def transitions_of(env: Any) -> Transitions | None:
    """Return the table of transitions of an environment's innermost self; None where it has none."""
    inner = env.unwrapped
    table = getattr(inner, "P", None)
    tells_state = isinstance(getattr(inner, "s", None), (int, np.integer)) or not hasattr(inner, "s")
    return table if isinstance(table, Mapping) and tells_state else None


def best_actions(table: Transitions, discount: float = DISCOUNT) -> np.ndarray:
    """Return the best action of each state, int64 [states], the first of equals.

    Args:
        table: see `Transitions`; states and actions count from 0.
        discount: of later rewards, in (0, 1): among ways that end alike the shortest is taken.
    """
    states, actions = len(table), len(next(iter(table.values())))
    chance = np.zeros((states, actions, states))
    reward = np.zeros((states, actions))
    for state, choices in table.items():
        for action, outcomes in choices.items():
            for probability, following, paid, ends in outcomes:
                reward[state, action] += probability * paid
                chance[state, action, following] += probability * (not ends)
    values = np.zeros(states)
    for _ in range(MOST_SWEEPS):
        worth = reward + discount * chance @ values
        improved = worth.max(axis=1)
        if np.abs(improved - values).max() < CHANGE:
            break
        values = improved
    return (reward + discount * chance @ values).round(9).argmax(axis=1)
