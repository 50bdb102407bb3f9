"""Telling when a reward rises while a score that nobody is paid by falls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Change:
    """How a series moved from one window of steps to the next.

    Attributes:
        before: mean of the first window.
        after: mean of the second.
        error: standard error of their difference.
    """

    before: float
    after: float
    error: float

    @property
    def difference(self) -> float:
        """What came to it."""
        return self.after - self.before


def change_between(values: Sequence[float], window: int) -> Change:
    """Return the change between the last two adjacent windows of k values.

    With means m₁, m₂ and sample variances s₁², s₂² of the windows, the difference m₂ − m₁ has the standard
    error √(s₁²/k + s₂²/k) (Welch 1947). A trend inside a window counts as noise, so a steady drift is judged
    cautiously.

    Args:
        values: at least 2 k of them, oldest first.
        window: k, at least 2.
    """
    first, second = np.asarray(values[-2 * window : -window], float), np.asarray(values[-window:], float)
    error = np.sqrt((first.var(ddof=1) + second.var(ddof=1)) / window)
    return Change(float(first.mean()), float(second.mean()), float(error))


def parts_ways(reward: Change, watched: Change, z: float) -> bool:
    """Return whether the reward rose and the watched score fell, each by more than z standard errors.

    m₂ − m₁ > z · SE of the reward, and m₁ − m₂ > z · SE of the score. Overoptimisation looks so: what a
    policy is paid by rises on, and what was meant falls (Gao et al. 2022, arXiv:2210.10760).
    """
    return reward.difference > z * reward.error and -watched.difference > z * watched.error
