"""From a step's episodes to what is trained on: rewards, advantages, groups without signal left out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from pixelis.agents.episode import Episode
from pixelis.agents.grpo.advantages import AdvantageScale, group_advantages, zero_variance_groups
from pixelis.agents.grpo.aggregation import StepCounts
from pixelis.errors import ConfigError


@dataclass(frozen=True)
class StepBatch:
    """The episodes of one step with their advantages.

    Attributes:
        episodes: those that are trained on, shortest first (so that micro-batches are evenly long).
        advantages: float64 [B'], one for each of them.
        counts: of *all* valid episodes of the step; None when there is nothing to train on.
        groups: how many groups were played.
        dropped: how many of them had no variance in their rewards.
    """

    episodes: tuple[Episode, ...]
    advantages: np.ndarray
    counts: StepCounts | None
    groups: int
    dropped: int


def reward_matrix(episodes: Sequence[Episode], groups: int, group_size: int) -> np.ndarray:
    """Return the rewards, float64 [groups, group_size]; NaN where there is none that can be trained on.

    That is an episode that is not valid for training, has no finite reward, or was never played.

    Raises:
        ConfigError: the episodes are not whole groups, or one is outside the matrix or there twice.
    """
    _check_places(episodes, groups, group_size)
    rewards = np.full((groups, group_size), np.nan)
    for episode in episodes:
        if episode.valid_for_training and math.isfinite(episode.reward):
            rewards[episode.group, episode.member] = episode.reward
    return rewards


def _check_places(episodes: Sequence[Episode], groups: int, group_size: int) -> None:
    expected = f"expected episodes of {groups} groups of {group_size}"
    if len(episodes) % group_size:
        raise ConfigError(f"{expected}, got {len(episodes)}, which are no whole groups; keep failed ones too")
    seen: set[tuple[int, int]] = set()
    for episode in episodes:
        place = (episode.group, episode.member)
        if not (0 <= episode.group < groups and 0 <= episode.member < group_size):
            raise ConfigError(f"{expected}, got member {episode.member} of group {episode.group}")
        if place in seen:
            raise ConfigError(f"{expected}, got member {episode.member} of group {episode.group} twice")
        seen.add(place)


def make_batch(
    episodes: Sequence[Episode],
    *,
    groups: int,
    group_size: int,
    scale: AdvantageScale = "group",
    max_completion_length: int,
) -> StepBatch:
    """Score a step's episodes against their groups.

    Args:
        episodes: all of them, each with its ``group`` in [0, groups) and ``member`` in [0, group_size).
        groups: number of groups.
        group_size: members a group.
        scale: see `group_advantages`.
        max_completion_length: see `StepCounts`.
    """
    rewards = reward_matrix(episodes, groups, group_size)
    advantages, dropped = group_advantages(rewards, scale), zero_variance_groups(rewards)
    scored = [each for each in episodes if np.isfinite(rewards[each.group, each.member])]
    kept = [each for each in scored if not dropped[each.group] and each.completion_length > 0]
    kept.sort(key=len)
    tokens = sum(episode.completion_length for episode in scored)
    return StepBatch(
        episodes=tuple(kept),
        advantages=np.array([advantages[each.group, each.member] for each in kept]),
        counts=StepCounts(tokens, len(scored), max_completion_length) if kept else None,
        groups=groups,
        dropped=int(dropped.sum()),
    )


def sampled_logprobs(episodes: Sequence[Episode]) -> torch.Tensor:
    """Return the log-probabilities recorded when sampling, float32 [b, T], right padded with 0."""
    rows = [torch.from_numpy(episode.logprobs) for episode in episodes]
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
