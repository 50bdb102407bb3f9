"""Sample episodes of a step as plain data, for people to read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.rl.batch import StepBatch
from pixelis.agents.runs.transcripts import episode_row


def sample_rows(episodes: Sequence[Episode], batch: StepBatch) -> list[dict[str, Any]]:
    """Return the members of one group as plain data: the first that was trained on, else the first.

    The advantage is a list, one a turn, where credit is given by turn.
    """
    trained = [each.group for each in batch.episodes if each.group >= 0]  # those below are replayed
    group = min(trained, default=0)
    advantages = {
        (each.group, each.member): _by_turn(each, value)
        for each, value in zip(batch.episodes, batch.advantages, strict=True)
    }
    return [
        episode_row(each) | {"advantage": advantages.get((each.group, each.member), 0.0)}
        for each in episodes
        if each.group == group
    ]


def _by_turn(episode: Episode, advantage: np.ndarray) -> float | list[float]:
    """Return an episode's advantage, or those of its turns when there is one for each token."""
    if np.ndim(advantage) == 0:
        return float(advantage)
    starts = np.cumsum([0, *map(len, episode.segments)])
    return [
        float(advantage[start + int(segment.loss_mask.argmax())])
        for start, segment in zip(starts, episode.segments, strict=False)
        if segment.sampled
    ]
