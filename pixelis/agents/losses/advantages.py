"""Group-relative advantages: how much better an episode did than the others played on the same task."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pixelis.registry import Registry

AdvantageScale = str
STD_EPSILON = 1e-4
ZERO_STD = 1e-8

AdvantageFunction = Callable[[np.ndarray], np.ndarray]
ADVANTAGES: Registry[AdvantageFunction] = Registry("advantage")


def group_advantages(rewards: np.ndarray, scale: AdvantageScale = "group") -> np.ndarray:
    """Return the advantage of each episode, with its group as baseline.

    What it estimates: how far the return of an episode lies above the policy's expected return on its task,
    without a value network; the members of a group, played on the same task, are the baseline.

    Args:
        rewards: float [P, G], P groups of G members; NaN marks an episode without a score (it is left out of
            every mean and deviation).
        scale: a name in ``ADVANTAGES``; with its function come formula and source.

    Returns:
        float64 [P, G]; 0 for unscored episodes and for groups with fewer than two scored members.

    Raises:
        ConfigError: no such name is registered.
        ValueError: rewards of another shape, or infinite.
    """
    rewards = _checked(rewards)
    advantages = ADVANTAGES.find(scale)(rewards)
    return np.where(_scored_members(rewards)[:, None] >= 2, np.nan_to_num(advantages, nan=0.0), 0.0)


@ADVANTAGES.register("group")
def over_group_deviation(rewards: np.ndarray) -> np.ndarray:
    """Return ``A[p, g] = (r[p, g] - mean r[p]) / (std r[p] + 1e-4)``, the deviation with n - 1.

    Args:
        rewards: float64 [P, G], NaN where there is no score.

    Returns:
        float64 [P, G]; what stands where there is no score is not read.

    Source: Shao et al. 2024, DeepSeekMath (arXiv 2402.03300), section 4.1.2.
    """
    return centred(rewards) / (_sample_std(rewards, axis=1)[:, None] + STD_EPSILON)


@ADVANTAGES.register("batch")
def over_batch_deviation(rewards: np.ndarray) -> np.ndarray:
    """Return ``(r[p, g] - mean r[p]) / (s + 1e-4)``, s the deviation of all rewards of the batch.

    The centre is the group's all the same. Shapes as in `over_group_deviation`.
    """
    return centred(rewards) / (_sample_std(rewards.reshape(1, -1), axis=1) + STD_EPSILON)


@ADVANTAGES.register("none")
def centred(rewards: np.ndarray) -> np.ndarray:
    """Return ``r[p, g] - mean r[p]``: no deviation, so that hard and easy tasks weigh what they weigh.

    Shapes as in `over_group_deviation`. Source: Liu et al. 2025, Dr. GRPO (arXiv 2503.20783), section 3.
    """
    return rewards - _mean(rewards)


@ADVANTAGES.register("leave_one_out")
def leave_one_out(rewards: np.ndarray) -> np.ndarray:
    """Return ``r[p, g] - mean of the other members' rewards``: a baseline the episode has no part in.

    That makes it unbiased. With n scored members it is n / (n - 1) times what ``none`` gives.

    Shapes as in `over_group_deviation`. Source: Ahmadian et al. 2024, Back to Basics (arXiv 2402.14740),
    RLOO, after Kool et al. 2019.
    """
    members = _scored_members(rewards)[:, None]
    return centred(rewards) * members / np.maximum(members - 1, 1)


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
