"""Generalised advantage estimation over the sampled tokens of an episode."""

from __future__ import annotations

import numpy as np

from pixelis.agents.episodes.episode import Episode


def gae(
    rewards: np.ndarray, values: np.ndarray, gamma: float = 1.0, gae_lambda: float = 0.95
) -> tuple[np.ndarray, np.ndarray]:
    """Return the advantages of one episode's actions and the returns a value function is fitted to.

        delta[t] = r[t] + gamma V[t + 1] - V[t]
        A[t] = sum_{l >= 0} (gamma lambda)^l delta[t + l]
        R[t] = A[t] + V[t]

    with ``V[n] = 0`` behind the last action. That holds for truncated episodes too: the turn limit is part of
    the task, and what would have come behind it is never paid.

    Args:
        rewards: float [n], what each action was paid.
        values: float [n], the estimate of the return before each action.
        gamma: discount an action, in [0, 1].
        gae_lambda: 0: one-step differences; 1: returns minus values; in [0, 1].

    Returns:
        Advantages and returns, float64 [n] each.

    Source: Schulman et al. 2016, GAE (arXiv 1506.02438), eq. 16.
    """
    rewards, values = np.asarray(rewards, np.float64), np.asarray(values, np.float64)
    if rewards.ndim != 1 or rewards.shape != values.shape:
        raise ValueError(f"rewards and values must share a shape [n], got {rewards.shape}, {values.shape}")
    if not (0 <= gamma <= 1 and 0 <= gae_lambda <= 1):
        raise ValueError(f"gamma and gae_lambda must be in [0, 1], got {gamma} and {gae_lambda}")
    following = np.append(values[1:], 0.0) if len(values) else values
    advantages = rewards + gamma * following - values
    for step in range(len(rewards) - 2, -1, -1):
        advantages[step] += gamma * gae_lambda * advantages[step + 1]
    return advantages, advantages + values


def token_rewards(episode: Episode, extra: float = 0.0) -> np.ndarray:
    """Return what each sampled token was paid: a turn's reward comes with its last token.

    Args:
        episode: with one reward for each segment the policy wrote.
        extra: reward that is no env's; it comes with the last token.

    Returns:
        float64 [n], n sampled tokens.

    Raises:
        ValueError: the episode's rewards are not those of its turns.
    """
    lengths = [int(segment.loss_mask.sum()) for segment in episode.segments if segment.sampled]
    if len(lengths) != len(episode.turn_rewards):
        raise ValueError(
            f"there must be a reward for each of the {len(lengths)} written segments, got "
            f"{len(episode.turn_rewards)}"
        )
    rewards = np.zeros(sum(lengths))
    if lengths:
        rewards[np.cumsum(lengths) - 1] = episode.turn_rewards
        rewards[-1] += extra
    return rewards
