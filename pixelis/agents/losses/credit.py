"""Credit by turn: how much better a turn and what followed went than the same turn of the group's others.

An episode's reward says nothing about which of its turns earned it. Where an env pays each step, the return
from a turn on leaves out what was paid before it, which the turn cannot have caused.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.losses.advantages import STD_EPSILON, ZERO_STD, AdvantageScale

TURN_SCALES = ("group", "batch", "none")


def returns_to_go(rewards: Sequence[float] | np.ndarray, gamma: float = 1.0) -> np.ndarray:
    """Return ``R[k] = sum_{j >= k} gamma^(j - k) r[j]``, the discounted return from each turn on.

    Args:
        rewards: one a turn, [K].
        gamma: discount a turn, in (0, 1].

    Returns:
        float64 [K].

    Source: Sutton and Barto 2018, Reinforcement Learning, eq. 3.8.
    """
    if not 0 < gamma <= 1:
        raise ValueError(f"gamma must be in (0, 1], got {gamma}")
    returns = np.array(rewards, dtype=np.float64)
    for turn in range(len(returns) - 2, -1, -1):
        returns[turn] += gamma * returns[turn + 1]
    return returns


def turn_advantages(returns: np.ndarray, scale: AdvantageScale = "group") -> np.ndarray:
    """Return advantages by turn, with the group's mean return from that turn on as baseline.

        A[p, g, k] = (R[p, g, k] - b[p, k]) / (s + 1e-4)

    ``b[p, k]`` is the mean of ``R[p, :, k]`` over the members that play turn k. Where only one member gets
    that far, there is nobody to compare it with, and the baseline of the turn before is kept: for a reward at
    the end and no discount, that is the group's estimate at the last turn it shared. ``s`` is for

    - ``group``: the deviation within turns of group p, ``s^2 = sum_gk (R - b)^2 / (N - M)`` over its N turns,
      M being the number of turns with a mean of their own;
    - ``batch``: the sample deviation (n - 1) of all returns of the batch;
    - ``none``: the division is left out.

    With one turn an episode, this is `group_advantages` for each scale. With a reward at the end, no discount
    and equally many turns, every turn gets what `group_advantages` gives its episode (``group``, ``none``).

    Args:
        returns: float [P, G, K] from `returns_to_go`, P groups of G members of at most K turns; NaN behind an
            episode's last turn and for every turn of an episode without a score.
        scale: see above.

    Returns:
        float64 [P, G, K]; 0 where ``returns`` is NaN and for groups with fewer than two scored members.

    Source: the step-relative advantage of Feng et al. 2025, GiGPO (arXiv 2505.10978), the turn's number in
    place of their anchor state; credit by turn in GRPO: Zeng et al. 2025 (arXiv 2505.11821).
    """
    returns = _checked(returns, scale)
    residuals, means = _residuals(returns)
    if scale == "group":
        count = np.isfinite(residuals).sum(axis=(1, 2)) - means
        squares = np.nansum(residuals**2, axis=(1, 2))
        residuals = residuals / (np.sqrt(squares / np.maximum(count, 1)) + STD_EPSILON)[:, None, None]
    elif scale == "batch":
        played = returns[np.isfinite(returns)]
        residuals = residuals / ((np.std(played, ddof=1) if len(played) > 1 else 0.0) + STD_EPSILON)
    return np.nan_to_num(residuals, nan=0.0)


def zero_variance_turn_groups(returns: np.ndarray) -> np.ndarray:
    """Return which groups carry no signal by turn: every return equals its baseline.

    Args:
        returns: as for `turn_advantages`.

    Returns:
        bool [P]; every advantage of such a group is 0, whatever the scale.
    """
    residuals, _ = _residuals(_checked(returns, "none"))
    return np.max(np.nan_to_num(np.abs(residuals), nan=0.0), axis=(1, 2), initial=0.0) <= ZERO_STD


def turn_returns(episode: Episode, extra: float = 0.0, gamma: float = 1.0) -> np.ndarray:
    """Return the return from each written segment on, float64 [turns].

    Args:
        episode: with one reward for each segment the policy wrote.
        extra: reward that is no env's; it comes with the last turn.
        gamma: discount a turn, in (0, 1].

    Raises:
        ValueError: the episode's rewards are not those of its turns.
    """
    written = sum(segment.sampled for segment in episode.segments)
    if len(episode.turn_rewards) != written:
        raise ValueError(
            f"credit by turn needs a reward for each of the {written} written segments, got "
            f"{len(episode.turn_rewards)}"
        )
    rewards = np.array(episode.turn_rewards, dtype=np.float64)
    if written:
        rewards[-1] += extra
    return returns_to_go(rewards, gamma)


def by_token(episode: Episode, values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Spread one value a turn over the tokens of the written segments.

    Args:
        episode: whose tokens.
        values: at least as many as it has written segments.

    Returns:
        float64 [T], 0 at tokens that the policy read.
    """
    spread, turn = [], 0
    for segment in episode.segments:
        spread.append(np.where(segment.loss_mask, values[turn] if segment.sampled else 0.0, 0.0))
        turn += segment.sampled
    return np.concatenate(spread) if spread else np.zeros(0)


def _checked(returns: np.ndarray, scale: AdvantageScale) -> np.ndarray:
    returns = np.asarray(returns, dtype=np.float64)
    if returns.ndim != 3:
        raise ValueError(f"returns must have shape [groups, members, turns], got {returns.shape}")
    if np.isinf(returns).any():
        raise ValueError("returns must be finite, or NaN where a turn was not played; got an infinite one")
    if scale not in TURN_SCALES:
        raise ValueError(f"scale must be one of {TURN_SCALES}, got {scale!r}")
    return returns


def _residuals(returns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``R - b`` (NaN where there is no return or no baseline) and the number of means, int [P]."""
    residuals = np.full_like(returns, np.nan)
    baseline = np.full(len(returns), np.nan)
    means = np.zeros(len(returns), int)
    for turn in range(returns.shape[2]):
        here = returns[:, :, turn]
        players = np.isfinite(here).sum(axis=1)
        shared = players >= 2
        baseline = np.where(shared, np.nansum(here, axis=1) / np.maximum(players, 1), baseline)
        means += shared
        residuals[:, :, turn] = here - baseline[:, None]
    return residuals, means
