"""Rewards of episodes in play: what reward terms make of the steps that a rollout takes at the same time."""

from __future__ import annotations

from collections.abc import Sequence

from pixelis.agents.seat import Seat
from pixelis.rewards.stack import EpisodeMemory, RewardStack, StepReward
from pixelis.wrappers.scoring import Step, term_that_needs_calls


class Rewarder:
    """Pays the episodes of a rollout by a stack of reward terms instead of by the env alone.

    What the wrappers do for one env, or for a vector of them, this does for a rollout: a turn of all its
    episodes is one batch. Nothing is learnt in between, so the members of a group are paid by the same
    measure; whoever trains calls the stack's ``learn`` between rollouts.

    Args:
        stack: the terms, with or without an orchestrator.
    """

    def __init__(self, stack: RewardStack) -> None:
        self.stack = stack
        self._needs_calls = term_that_needs_calls(stack)

    def score(self, seats: Sequence[Seat]) -> None:
        """Pay the last step of each seat; those that failed are left out of it, as they are of training.

        Raises:
            RewardError: a term's value is not finite, or the env does not report what a term needs; the
                message names the term.
        """
        playing = [(seat, _memory(seat, self.stack)) for seat in seats if seat.episode.valid_for_training]
        if not playing:
            return
        for (seat, _), scored in zip(playing, self._scored(playing), strict=True):
            seat.pay(scored)

    def _scored(self, playing: Sequence[tuple[Seat, EpisodeMemory]]) -> list[StepReward]:
        steps = [
            Step(
                memory,
                seat.before,
                seat.action,
                seat.observation,
                seat.episode.turn_rewards[-1],
                seat.episode.terminated,
                seat.episode.truncated,
                seat.info,
            )
            for seat, memory in playing
        ]
        component, needed = self._needs_calls or "rewards", self._needs_calls is not None
        return self.stack.score(
            [(step.memory, step.transition(component, needed), step.reward) for step in steps]
        )


def _memory(seat: Seat, stack: RewardStack) -> EpisodeMemory:
    if seat.memory is None:
        seat.memory = stack.begin()
    return seat.memory
