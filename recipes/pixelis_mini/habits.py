"""Habits: what goes wrong in a demonstration, and how often."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

CAREFUL = "careful"

Habits = Mapping[str, float]
"""Habit → share; the shares add up to 1."""


def drawn_habit(habits: Habits, rng: np.random.Generator) -> str:
    """Return one of the habits, drawn by their shares."""
    return str(rng.choice(list(habits), p=list(habits.values())))


@dataclass(frozen=True)
class Demonstration:
    """A played episode in words.

    Attributes:
        turns: what was read and what was said to it, in order.
        habit: what the demonstrator did, ``careful`` where nothing was to go wrong.
        success: whether the task was solved; None where it was not judged.
    """

    turns: tuple[tuple[str, str], ...]
    habit: str
    success: bool | None = None
