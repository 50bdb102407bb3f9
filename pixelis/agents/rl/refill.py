"""Dynamic sampling: groups without signal give their place to groups played afresh, within a bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pixelis.agents.episodes.episode import Episode


@dataclass(frozen=True)
class StepRollouts:
    """What a step played.

    Attributes:
        episodes: all of them; groups are numbered in the order of play.
        groups: how many groups were played.
        left_out: groups without signal that have no place in the step, as many as were played beyond its
            places: those a later group took the place of, and later ones that brought no signal either.
        scored_only: groups that were played for their level's score and are not trained on, see
            `pixelis.agents.ued`.
    """

    episodes: list[Episode]
    groups: int
    left_out: frozenset[int] = frozenset()
    scored_only: frozenset[int] = frozenset()

    @property
    def is_training(self) -> bool:
        """Whether there are groups to train on."""
        return len(self.scored_only) < self.groups


PlayRound = Callable[[int, int, int], list[Episode]]
"""From (round, first group, number of groups) to the episodes of these groups."""
ZeroVarianceGroups = Callable[[Sequence[Episode], int], np.ndarray]
"""From (episodes, number of groups) to which groups have no signal, bool [groups]."""


def play_step(
    play: PlayRound, zero_variance: ZeroVarianceGroups, *, groups: int, group_size: int, extra: int
) -> StepRollouts:
    """Play a step's groups, then others for those without signal, as long as there is room for whole groups.

    The groups with signal are kept as they are. Each round plays as many fresh groups as there are places
    without signal; those that turn out to have one take the places of the earliest that have none. When
    nothing is left to spend, the remaining places stay without signal.

    Args:
        play: plays one round.
        zero_variance: tells groups without signal.
        groups: places of the step.
        group_size: episodes a group.
        extra: most episodes to play beyond ``groups * group_size``, >= 0.

    Source: dynamic sampling, Yu et al. 2025, DAPO (arXiv 2503.14476), section 3.2; there without a bound.
    """
    episodes, total, budget = play(0, 0, groups), groups, extra // group_size
    places = np.flatnonzero(zero_variance(episodes, groups)).tolist() if budget else []
    left_out: set[int] = set()
    number = 1
    while places and budget:
        fresh = range(total, total + min(len(places), budget))
        episodes = [*episodes, *play(number, total, len(fresh))]
        is_without_variance = zero_variance(episodes, fresh.stop)
        for group in fresh:
            left_out.add(group if is_without_variance[group] else places.pop(0))
        total, budget, number = fresh.stop, budget - len(fresh), number + 1
    return StepRollouts(episodes, total, frozenset(left_out))
