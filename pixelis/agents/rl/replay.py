"""A small store of the best episodes, which are trained on again while they are fresh enough.

They keep the log-probabilities they were sampled with, so the loss knows how far the policy has moved since.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from pixelis.agents.episodes.episode import Episode, Segment
from pixelis.agents.losses.aggregation import StepCounts
from pixelis.agents.rl.batch import StepBatch, padded, reading_order


@dataclass(frozen=True)
class ReplayEntry:
    """An episode with the advantage it had when it was played.

    Attributes:
        episode: its segments and where it came from; no tool results or infos.
        advantage: float64 [1], or [T] for credit by turn.
        step: the training step that played it.
    """

    episode: Episode
    advantage: np.ndarray
    step: int

    @property
    def worth(self) -> float:
        """Its largest advantage."""
        return float(self.advantage.max())


class ReplayBuffer:
    """Keeps the episodes with the largest positive advantages of the last steps.

    Self-imitation (Oh et al. 2018, arXiv 1806.05635) is the idea: what went better than expected is worth a
    second look. Episodes with a negative advantage are not kept: pushing down what the policy no longer does
    is what makes off-policy training diverge.

    Args:
        capacity: most episodes kept.
        staleness: an episode of step n can be replayed up to step ``n + staleness``.
    """

    def __init__(self, capacity: int = 100, staleness: int = 10) -> None:
        self.capacity, self.staleness = capacity, staleness
        self._stored: list[ReplayEntry] = []

    def __len__(self) -> int:
        """Return how many episodes are kept."""
        return len(self._stored)

    @property
    def stored(self) -> tuple[ReplayEntry, ...]:
        """What is kept, the largest advantage first; of equal ones the newest first."""
        return tuple(self._stored)

    def forget(self, step: int) -> None:
        """Drop what is too old to be replayed in ``step``."""
        self._stored = [each for each in self._stored if step - each.step <= self.staleness]

    def draw(self, count: int, generator: np.random.Generator) -> list[ReplayEntry]:
        """Return up to ``count`` different episodes, each kept one as likely as the others."""
        count = min(count, len(self._stored))
        chosen = generator.choice(len(self._stored), count, replace=False) if count else []
        return [self._stored[index] for index in sorted(chosen)]

    def add(self, batch: StepBatch, step: int) -> None:
        """Offer a step's own episodes; those with a positive advantage among the best are kept."""
        for episode, advantage in zip(batch.episodes, batch.advantages, strict=True):
            row = np.atleast_1d(advantage)[: len(episode)]
            if row.max() > 0:
                self._stored.append(ReplayEntry(_stripped(episode), row.copy(), step))
        self._stored.sort(key=lambda each: (-each.worth, -each.step))
        del self._stored[self.capacity :]

    def state_dict(self) -> dict[str, Any]:
        """Return the contents as tensors and plain data."""
        return {
            "stored": [
                {
                    "step": each.step,
                    "advantage": torch.from_numpy(each.advantage),
                    "env_id": each.episode.env_id,
                    "seed": each.episode.seed,
                    "member": each.episode.member,
                    "segments": [_segment_state(segment) for segment in each.episode.segments],
                }
                for each in self._stored
            ]
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over the contents of another instance."""
        self._stored = [
            ReplayEntry(
                Episode(
                    each["env_id"],
                    each["seed"],
                    -1,
                    each["member"],
                    [_segment_of(segment) for segment in each["segments"]],
                ),
                each["advantage"].numpy(),
                each["step"],
            )
            for each in state["stored"]
        ]

    def take_over(self, state: Mapping[str, Any], step: int, *, by_turn: bool) -> int:
        """Take another run's episodes as if its last step, ``step``, had come just before the first here.

        Args:
            state: what `state_dict` returned there.
            step: its last one.
            by_turn: whether advantages are given by turn here. Episodes whose own are given otherwise are not
                taken: one number for an episode says nothing of its turns, nor the other way round.

        Returns:
            How many were not taken for that.
        """
        self.load_state_dict(state)
        fit = [each for each in self._stored if (len(each.advantage) > 1) == by_turn]
        others = len(self._stored) - len(fit)
        self._stored = [replace(each, step=each.step - step) for each in fit][: self.capacity]
        return others


def with_replay(batch: StepBatch, drawn: Sequence[ReplayEntry], max_completion_length: int) -> StepBatch:
    """Return a batch with stored episodes added; each has a negative ``group`` of its own.

    The counts grow by what is added, so a replayed token weighs as much as a fresh one.
    """
    if not drawn:
        return batch
    replayed = [replace(each.episode, group=-1 - index) for index, each in enumerate(drawn)]
    episodes = [*batch.episodes, *replayed]
    advantages = [*batch.advantages, *(each.advantage for each in drawn)]
    order = reading_order(episodes)
    rows = [np.atleast_1d(advantages[index])[: len(episodes[index])] for index in order]
    counts = StepCounts(
        batch.tokens + sum(each.completion_length for each in replayed),
        batch.sequences + len(replayed),
        max_completion_length,
    )
    return replace(
        batch,
        episodes=tuple(episodes[index] for index in order),
        advantages=np.concatenate(rows) if batch.advantages.ndim == 1 else padded(rows),
        counts=counts,
        replayed=len(replayed),
    )


def _stripped(episode: Episode) -> Episode:
    """Return what a loss needs of an episode."""
    return Episode(episode.env_id, episode.seed, -1, episode.member, list(episode.segments))


def _segment_state(segment: Segment) -> dict[str, Any]:
    return {
        "tokens": torch.from_numpy(segment.tokens),
        "loss_mask": torch.from_numpy(segment.loss_mask),
        "logprobs": torch.from_numpy(segment.logprobs),
        "images": dict(segment.images),
        "text": segment.text,
        "finish_reason": segment.finish_reason,
        "weights_version": segment.weights_version,
    }


def _segment_of(state: Mapping[str, Any]) -> Segment:
    arrays = (state[name].numpy() for name in ("tokens", "loss_mask", "logprobs"))
    # An older state says neither.
    told = {name: state.get(name) for name in ("finish_reason", "weights_version")}
    return Segment(*arrays, images=dict(state["images"]), text=state["text"], **told)
