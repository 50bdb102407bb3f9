"""Which of a round's episodes are demonstrations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from pixelis.agents.episodes.episode import Episode

Rule = Literal["best", "all"]


def select(episodes: Sequence[Episode], rule: Rule = "best", min_reward: float = 0.0) -> list[Episode]:
    """Return the episodes to learn from, in the order of their groups.

    Args:
        episodes: of one round; those that are not valid for training, have no finite reward or no sampled
            token are never kept.
        rule: ``best`` keeps the episode of highest reward of each group (the first of equals); ``all`` keeps
            every one.
        min_reward: a kept episode's reward is above this.
    """
    good = [
        episode
        for episode in episodes
        if episode.valid_for_training
        and episode.completion_length > 0
        and math.isfinite(episode.reward)
        and episode.reward > min_reward
    ]
    good.sort(key=lambda episode: (episode.group, episode.member))
    if rule == "all":
        return good
    best: dict[int, Episode] = {}
    for episode in good:
        if episode.group not in best or episode.reward > best[episode.group].reward:
            best[episode.group] = episode
    return list(best.values())
