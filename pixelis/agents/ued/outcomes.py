"""From a step's episodes to what happened on each of its levels."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.ued.oracle import LevelOracle
from pixelis.agents.ued.sampler import LevelOutcome, SampledLevel
from pixelis.rewards.terms.weights import TASK


def outcomes_of(
    draws: Sequence[SampledLevel], episodes: Sequence[Episode], oracle: LevelOracle | None = None
) -> list[LevelOutcome]:
    """Return the outcome of each group.

    Episodes that are not valid for training, or have no finite reward, are left out. A group's successes are
    None unless the environment says of every member whether it succeeded.

    Args:
        draws: what was played; a group's number is its place.
        episodes: all of them.
        oracle: asked what each level pays at best; None: nobody is.
    """
    members: list[list[Episode]] = [[] for _ in draws]
    for episode in episodes:
        if episode.valid_for_training and math.isfinite(episode.reward):
            members[episode.group].append(episode)
    return [_outcome(draw, group, oracle) for draw, group in zip(draws, members, strict=True)]


def own_return(episode: Episode) -> float:
    """Return what the environment itself gave: the reward without the terms that a run adds to it."""
    return episode.reward_parts[TASK]["raw"] if TASK in episode.reward_parts else episode.reward


def _outcome(draw: SampledLevel, episodes: Sequence[Episode], oracle: LevelOracle | None) -> LevelOutcome:
    known = [episode.success for episode in episodes if episode.success is not None]
    played = oracle.play(draw.level) if oracle is not None and episodes else None
    return LevelOutcome(
        draw,
        tuple(episode.reward for episode in episodes),
        tuple(own_return(episode) for episode in episodes),
        sum(known) if episodes and len(known) == len(episodes) else None,
        None if played is None else played.value,
    )
