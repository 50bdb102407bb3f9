"""Rewards of episodes in play: what reward terms make of the steps that a rollout takes at the same time."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from pixelis.agents.episodes.episode_runner import EpisodeRunner
from pixelis.errors import RewardError
from pixelis.rewards.stack.stack import EpisodeMemory, RewardStack
from pixelis.rewards.terms.term import Transition, as_mapping, reported_calls
from pixelis.user_code import RAISED, place_of_function


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

    def score(self, runners: Sequence[EpisodeRunner]) -> None:
        """Pay the last step of each runner; those that failed are left out of it, as they are of training.

        A term that raises, or whose value is no finite number, fails the episodes in which it does.

        Raises:
            RewardError: the env does not report what a term needs; the message names the term.
        """
        for runner in runners if self.stack.needs_progress else ():
            if runner.episode.valid_for_training:
                runner.ask_progress()
        playing = [
            (runner, _memory(runner, self.stack)) for runner in runners if runner.episode.valid_for_training
        ]
        if not playing:
            return
        kept = _copied([memory for _, memory in playing])
        batch = self._batch(playing)
        try:
            scored = self.stack.score(batch)
        except RAISED as error:  # which episodes it was is found out one by one
            self._score_apart([runner for runner, _ in playing], kept, error)
            return
        for (runner, _), paid in zip(playing, scored, strict=True):
            runner.pay(paid)

    def _score_apart(
        self, runners: Sequence[EpisodeRunner], memories: Sequence[EpisodeMemory] | None, error: BaseException
    ) -> None:
        """Score runners one by one, from what was remembered; all fail where that could not be kept."""
        for number, runner in enumerate(runners):
            if memories is None:
                self._record_failure(runner, error)
                continue
            runner.memory = memories[number]
            try:
                runner.pay(self.stack.score(self._batch([(runner, memories[number])]))[0])
            except RAISED as own:
                self._record_failure(runner, own)

    def _record_failure(self, runner: EpisodeRunner, error: BaseException) -> None:
        if not isinstance(error, RewardError):
            runner.blame("a reward term", error)
            return
        term = self.stack.terms.get(str(error).partition(":")[0])
        runner.fail(str(error), None if term is None else place_of_function(type(term).score))

    def _batch(
        self, playing: Sequence[tuple[EpisodeRunner, EpisodeMemory]]
    ) -> list[tuple[EpisodeMemory, Transition, float]]:
        needy = self.stack.needs_calls
        return [
            (
                memory,
                Transition(
                    as_mapping(runner.before),
                    runner.action,
                    as_mapping(runner.observation),
                    reported_calls(runner.info, needy or "rewards", needy is not None),
                    runner.episode.terminated,
                    runner.episode.truncated,
                    runner.progress,
                ),
                runner.episode.turn_rewards[-1],
            )
            for runner, memory in playing
        ]


def _copied(memories: list[EpisodeMemory]) -> list[EpisodeMemory] | None:
    """Return copies, None where a stranger's memory cannot be copied."""
    try:
        return copy.deepcopy(memories)
    except Exception:
        return None


def _memory(runner: EpisodeRunner, stack: RewardStack) -> EpisodeMemory:
    if runner.memory is None:
        runner.memory = stack.begin()
    return runner.memory
