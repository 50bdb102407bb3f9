"""Group-relative advantages: how much better an episode did than the others played on the same task."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

AdvantageScale = Literal["group", "batch", "none"]
ADVANTAGE_SCALES: tuple[str, ...] = get_args(AdvantageScale)
STD_EPSILON = 1e-4
ZERO_STD = 1e-8


def group_advantages(rewards: np.ndarray, scale: AdvantageScale = "group") -> np.ndarray:
    """Return advantages with the mean of the group as baseline.

    What it estimates: how far the return of an episode lies above the policy's expected return on its task,
    without a value network; the members of a group, played on the same task, are the baseline.

        A[p, g] = (r[p, g] - mean_g r[p]) / (s + 1e-4)

    where ``s`` is the sample standard deviation (n - 1) of the group's rewards for ``scale="group"``, of all
    rewards of the batch for ``"batch"``, and the division is left out for ``"none"``. The centre is always
    the group's.

    Args:
        rewards: float [P, G], P groups of G members; NaN marks an episode without a score (it is left out of
            every mean and deviation).
        scale: see above.

    Returns:
        float64 [P, G]; 0 for unscored episodes and for groups with fewer than two scored members.

    Source: Shao et al. 2024, DeepSeekMath (arXiv 2402.03300), eq. 3 and section 4.1.2; ``none`` is Liu et
    al. 2025, Dr. GRPO (arXiv 2503.20783).
    """
    rewards = _checked(rewards)
    if scale not in ADVANTAGE_SCALES:
        raise ValueError(f"scale must be one of {ADVANTAGE_SCALES}, got {scale!r}")
    centred = rewards - _mean(rewards)
    if scale == "group":
        centred = centred / (_sample_std(rewards, axis=1)[:, None] + STD_EPSILON)
    elif scale == "batch":
        centred = centred / (_sample_std(rewards.reshape(1, -1), axis=1) + STD_EPSILON)
    return np.where(_scored_members(rewards)[:, None] >= 2, np.nan_to_num(centred, nan=0.0), 0.0)


def zero_variance_groups(rewards: np.ndarray) -> np.ndarray:
    """Return which groups carry no signal: all scored rewards equal, or fewer than two of them.

    Args:
        rewards: float [P, G], NaN where there is no score.

    Returns:
        bool [P]; every advantage of such a group is 0, whatever the scale.
    """
    rewards = _checked(rewards)
    std = _sample_std(rewards, axis=1)
    return (_scored_members(rewards) < 2) | (std <= ZERO_STD)


def _checked(rewards: np.ndarray) -> np.ndarray:
    rewards = np.asarray(rewards, dtype=np.float64)
    if rewards.ndim != 2:
        raise ValueError(f"rewards must have shape [groups, members], got {rewards.shape}")
    if np.isinf(rewards).any():
        raise ValueError("rewards must be finite, or NaN where an episode has no score; got an infinite one")
    return rewards


def _scored_members(rewards: np.ndarray) -> np.ndarray:
    return np.isfinite(rewards).sum(axis=1)


def _mean(rewards: np.ndarray) -> np.ndarray:
    scored = np.maximum(_scored_members(rewards), 1)
    return (np.nansum(rewards, axis=1) / scored)[:, None]


def _sample_std(rewards: np.ndarray, axis: int) -> np.ndarray:
    """Sample standard deviation (n - 1) over the scored entries; 0 where there are fewer than two."""
    count = np.isfinite(rewards).sum(axis=axis)
    mean = np.nansum(rewards, axis=axis) / np.maximum(count, 1)
    with np.errstate(over="ignore"):  # rewards too large to square have an infinite deviation
        squares = np.nansum((rewards - np.expand_dims(mean, axis)) ** 2, axis=axis)
    return np.sqrt(squares / np.maximum(count - 1, 1))
