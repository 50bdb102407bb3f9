"""Rewards of episodes in play: what reward terms make of the steps that a rollout takes at the same time."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from pixelis.agents.episodes.episode_runner import Seat
from pixelis.errors import RewardError
from pixelis.rewards.stack.stack import EpisodeMemory, RewardStack
from pixelis.rewards.terms.term import Transition
from pixelis.user_code import place_of_function
from pixelis.wrappers.scoring.scoring import Step, term_that_needs_calls


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

        A term that raises, or whose value is no finite number, fails the episodes in which it does.

        Raises:
            RewardError: the env does not report what a term needs; the message names the term.
        """
        playing = [(seat, _memory(seat, self.stack)) for seat in seats if seat.episode.valid_for_training]
        if not playing:
            return
        kept = _copied([memory for _, memory in playing])
        batch = self._batch(playing)
        try:
            scored = self.stack.score(batch)
        except Exception as error:  # which episodes it was is found out one by one
            self._score_apart([seat for seat, _ in playing], kept, error)
            return
        for (seat, _), paid in zip(playing, scored, strict=True):
            seat.pay(paid)

    def _score_apart(
        self, seats: Sequence[Seat], memories: Sequence[EpisodeMemory] | None, error: Exception
    ) -> None:
        """Score seats one by one, from what was remembered before; all fail where that could not be kept."""
        for number, seat in enumerate(seats):
            if memories is None:
                self._blame(seat, error)
                continue
            seat.memory = memories[number]
            try:
                seat.pay(self.stack.score(self._batch([(seat, memories[number])]))[0])
            except Exception as own:
                self._blame(seat, own)

    def _blame(self, seat: Seat, error: Exception) -> None:
        if not isinstance(error, RewardError):
            seat.blame("a reward term", error)
            return
        term = self.stack.terms.get(str(error).partition(":")[0])
        seat.fail(str(error), None if term is None else place_of_function(type(term).score))

    def _batch(
        self, playing: Sequence[tuple[Seat, EpisodeMemory]]
    ) -> list[tuple[EpisodeMemory, Transition, float]]:
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
        return [(step.memory, step.transition(component, needed), step.reward) for step in steps]


def _copied(memories: list[EpisodeMemory]) -> list[EpisodeMemory] | None:
    """Return copies, None where a stranger's memory cannot be copied."""
    try:
        return copy.deepcopy(memories)
    except Exception:
        return None


def _memory(seat: Seat, stack: RewardStack) -> EpisodeMemory:
    if seat.memory is None:
        seat.memory = stack.begin()
    return seat.memory
