"""From a step's episodes to what is trained on: rewards, advantages, groups without signal left out."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.losses.advantages import AdvantageScale, group_advantages, zero_variance_groups
from pixelis.agents.losses.aggregation import StepCounts
from pixelis.agents.losses.credit import by_token, turn_advantages, turn_returns, zero_variance_turn_groups
from pixelis.agents.rl.comparison import GroupComparison, compared
from pixelis.agents.rl.shaping import ShapingSettings, extra_rewards
from pixelis.agents.rl.vote import unlabelled, voted
from pixelis.agents.runs.metrics import Row
from pixelis.agents.settings.vote import VoteSettings
from pixelis.errors import ConfigError

Credit = Literal["episode", "turn"]


@dataclass(frozen=True)
class BatchSettings:
    """What a step's episodes are compared by, and which of them are trained on.

    Attributes:
        credit: ``episode``: every token of an episode gets its advantage; ``turn``: every turn its own, see
            `turn_advantages`.
        gamma: discount a turn of ``credit="turn"``, in (0, 1].
        shaping: what is added to the rewards; None: nothing.
        mask_truncated: leave truncated episodes out of the loss; they stay in their group's baseline.
        advantage_clip: advantages are held in ±this; None: not.
        advantage_threshold: episodes none of whose tokens has an advantage of at least this size are not
            trained on.
        comparison: what takes the place of the rewards of whole episodes; None: nothing does.
        vote: how members of a group vote for what counts as right, which takes the place of the env's rewards
            before anything is added; None: they do not.
    """

    credit: Credit = "episode"
    gamma: float = 1.0
    shaping: ShapingSettings | None = None
    mask_truncated: bool = False
    advantage_clip: float | None = None
    advantage_threshold: float = 0.0
    comparison: GroupComparison | None = None
    vote: VoteSettings | None = None


@dataclass(frozen=True)
class StepBatch:
    """The episodes of one step with their advantages.

    Attributes:
        episodes: those that are trained on, see `reading_order`.
        advantages: float64 [B'], one for each of them; or [B', T], one for each of their tokens, right padded
            with 0.
        counts: of *all* valid episodes of the step; None when there is nothing to train on.
        groups: how many groups were played.
        dropped: how many of them had no variance in their rewards.
        left_out: how many of those have no place in the step, see `pixelis.agents.rl.refill`.
        masked: valid episodes left out because they were truncated.
        filtered: episodes left out because their advantages were below the threshold.
        tokens: sampled tokens that `counts` counts, or would if there were something to train on.
        sequences: episodes, likewise.
        replayed: how many of ``episodes`` come from earlier steps.
    """

    episodes: tuple[Episode, ...]
    advantages: np.ndarray
    counts: StepCounts | None
    groups: int
    dropped: int
    left_out: int = 0
    masked: int = 0
    filtered: int = 0
    tokens: int = 0
    sequences: int = 0
    replayed: int = 0


@dataclass(frozen=True)
class Scores:
    """How the episodes of P groups of G members compare.

    Attributes:
        advantages: float64 [P, G], or [P, G, K] for credit by turn.
        scored: bool [P, G], whose reward counts.
        zero_variance: bool [P], groups without signal.
    """

    advantages: np.ndarray
    scored: np.ndarray
    zero_variance: np.ndarray


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


def score(
    episodes: Sequence[Episode],
    groups: int,
    group_size: int,
    scale: AdvantageScale = "group",
    settings: BatchSettings | None = None,
    penalties: np.ndarray | None = None,
) -> Scores:
    """Compare episodes with the others of their group; arguments as in `make_batch`."""
    settings = settings or BatchSettings()
    rewards = reward_matrix(episodes, groups, group_size)
    if settings.vote is not None:
        rewards = voted(rewards, episodes, settings.vote)
    extra = np.zeros(len(episodes))
    if settings.shaping is not None:
        seen = episodes if settings.vote is None else unlabelled(episodes, rewards)
        extra += extra_rewards(seen, settings.shaping)
    if penalties is not None:
        extra -= penalties
    if settings.credit == "turn":
        returns = _return_tensor(episodes, extra, rewards, settings.gamma)
        advantages, zero_variance = turn_advantages(returns, scale), zero_variance_turn_groups(returns)
    else:
        for episode, more in zip(episodes, extra, strict=True):
            rewards[episode.group, episode.member] += more
        if settings.comparison is not None:
            rewards = compared(rewards, episodes, settings.comparison)
        advantages, zero_variance = group_advantages(rewards, scale), zero_variance_groups(rewards)
    if settings.advantage_clip is not None:
        advantages = np.clip(advantages, -settings.advantage_clip, settings.advantage_clip)
    return Scores(advantages, np.isfinite(rewards), zero_variance)


def make_batch(
    episodes: Sequence[Episode],
    *,
    groups: int,
    group_size: int,
    scale: AdvantageScale = "group",
    max_completion_length: int,
    settings: BatchSettings | None = None,
    left_out: Collection[int] = (),
    penalties: np.ndarray | None = None,
) -> StepBatch:
    """Score a step's episodes against their groups.

    Args:
        episodes: all of them, each with its ``group`` in [0, groups) and ``member`` in [0, group_size).
        groups: number of groups.
        group_size: members a group.
        scale: see `group_advantages`.
        max_completion_length: see `StepCounts`.
        settings: see `BatchSettings`.
        left_out: groups that count nowhere, because others have their place.
        penalties: what is taken off the rewards before they are compared, float64, one for each episode.
    """
    settings = settings or BatchSettings()
    inside = [episode.group not in left_out for episode in episodes]
    here = [episode for episode, counts in zip(episodes, inside, strict=True) if counts]
    paid = None if penalties is None else penalties[inside]
    scores = score(here, groups, group_size, scale, settings, paid)
    valid = [each for each in here if scores.scored[each.group, each.member]]
    counted = [each for each in valid if not (settings.mask_truncated and each.truncated)]
    with_signal = [
        each for each in counted if not scores.zero_variance[each.group] and each.completion_length > 0
    ]
    sizes = [np.abs(scores.advantages[each.group, each.member]).max() for each in with_signal]
    kept = [
        each for each, size in zip(with_signal, sizes, strict=True) if not size < settings.advantage_threshold
    ]
    kept = [kept[index] for index in reading_order(kept)]
    tokens = sum(episode.completion_length for episode in counted)
    return StepBatch(
        episodes=tuple(kept),
        advantages=_rows(kept, scores.advantages),
        counts=StepCounts(tokens, len(counted), max_completion_length) if kept else None,
        groups=groups,
        dropped=int(scores.zero_variance.sum()),
        left_out=len(left_out),
        masked=len(valid) - len(counted),
        filtered=len(with_signal) - len(kept),
        tokens=tokens,
        sequences=len(counted),
    )


def batch_metrics(batch: StepBatch) -> Row:
    """Return what a batch leaves out, and how large its advantages are."""
    sizes = np.abs(batch.advantages[batch.advantages != 0])
    return {
        "groups/count": batch.groups,
        "groups/dropped": batch.dropped,
        "groups/filter_rate": batch.dropped / batch.groups if batch.groups else None,
        "groups/left_out": batch.left_out,
        "episodes/trained": len(batch.episodes),
        "episodes/masked": batch.masked,
        "episodes/filtered": batch.filtered,
        "advantage/mean_size": float(sizes.mean()) if len(sizes) else None,
        "advantage/max_size": float(sizes.max()) if len(sizes) else None,
    }


def sampled_logprobs(episodes: Sequence[Episode]) -> torch.Tensor:
    """Return the log-probabilities recorded when sampling, float32 [b, T], right padded with 0."""
    rows = [torch.from_numpy(episode.logprobs) for episode in episodes]
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)


def reading_order(episodes: Sequence[Episode]) -> list[int]:
    """Return the order, as indices, in which episodes go through the model.

    Groups stay together, as the members of a micro-batch share the prefixes they have in common; the group
    with the shortest longest episode comes first, so that micro-batches are evenly long.
    """
    longest: dict[int, int] = {}
    for each in episodes:
        longest[each.group] = max(len(each), longest.get(each.group, 0))
    keys = [(longest[each.group], each.group, len(each)) for each in episodes]
    return sorted(range(len(episodes)), key=keys.__getitem__)


def padded(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Return rows of several lengths as one float64 [B, T], right padded with 0."""
    table = np.zeros((len(rows), max(map(len, rows), default=0)))
    for index, row in enumerate(rows):
        table[index, : len(row)] = row
    return table


def _rows(episodes: Sequence[Episode], advantages: np.ndarray) -> np.ndarray:
    """Pick the advantages of some episodes, by token where they are by turn."""
    values = [advantages[each.group, each.member] for each in episodes]
    if advantages.ndim == 2:
        return np.array(values)
    return padded([by_token(each, turns) for each, turns in zip(episodes, values, strict=True)])


def _return_tensor(
    episodes: Sequence[Episode], extra: np.ndarray, rewards: np.ndarray, gamma: float
) -> np.ndarray:
    """Return the returns by turn, float64 [P, G, K]; NaN where ``rewards`` is and behind the last turn."""
    turns = max((len(episode.turn_rewards) for episode in episodes), default=0)
    returns = np.full((*rewards.shape, max(turns, 1)), np.nan)
    for episode, more in zip(episodes, extra, strict=True):
        if np.isfinite(rewards[episode.group, episode.member]):
            played = turn_returns(episode, float(more), gamma)
            returns[episode.group, episode.member, : len(played)] = played
    return returns
