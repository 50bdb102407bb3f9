"""``EpisodeReward``: what the reward wrappers of one environment share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import gymnasium as gym

from pixelis.rewards.stack.stack import EpisodeMemory, RewardStack
from pixelis.rewards.terms.weights import TASK, check_number
from pixelis.wrappers.scoring.order import check_calling_wrappers, is_orchestrator, is_term, layers
from pixelis.wrappers.scoring.scoring import (
    TASK_KEY,
    TERMS_KEY,
    CutEpisodes,
    EnvStep,
    LearningSchedule,
    Scored,
    as_text,
)
from pixelis.wrappers.scoring.traits import progress_of


class StepScorer(Protocol):
    """Gives steps of different episodes their rewards."""

    stack: RewardStack

    def score(self, steps: Any) -> list[Scored]:
        """Return the new reward of each step."""
        ...


class EpisodeReward(gym.Wrapper[Any, Any, Any, Any]):
    """Follows the episodes of an environment and lets a scorer change their rewards.

    An episode ends where the wrapped environment says so: a limit must be set inside (``gym.make`` does). One
    outside is refused at the first ``reset``.

    Args:
        env: the environment.
        scorer: gives the rewards.
    """

    def __init__(self, env: gym.Env[Any, Any], scorer: StepScorer) -> None:
        super().__init__(env)
        self._scorer = scorer
        self._memory: EpisodeMemory | None = None
        self._observation: Any = None
        self._innermost = not any(is_term(layer) or is_orchestrator(layer) for layer in layers(env))
        self._learning = LearningSchedule(scorer.stack)
        self._asks = scorer.stack.needs_progress
        self._cut = CutEpisodes(type(self).__name__)

    @property
    def stack(self) -> RewardStack:
        """The reward stack behind this wrapper, with ``state`` and ``load_state_dict``."""
        return self._scorer.stack

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; one that was going on is dropped.

        Raises:
            WrapperOrderError: a wrapper outside ends episodes.
        """
        if self._cut.begin():
            check_calling_wrappers(self)
        observation, info = self.env.reset(seed=seed, options=options)
        self._memory, self._observation = self.stack.begin(), observation
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play a step and score it.

        Raises:
            RewardError: the env's reward or a term is not finite; the message names the component.
            gymnasium.error.ResetNeeded: there is no episode, or it has ended.
        """
        said = as_text(action)  # before the env can change it
        observation, reward, terminated, truncated, info = self.env.step(action)
        if self._memory is None:
            raise gym.error.ResetNeeded("the episode has not begun or has ended; call reset() first")
        if self._innermost and TASK_KEY in info:  # the env's own, which is not what this key means
            info = {key: value for key, value in info.items() if key != TASK_KEY}
        paid = check_number(reward, TASK)
        near = progress_of(self.env) if self._asks else None
        before = self._observation
        step = EnvStep(self._memory, before, said, observation, paid, terminated, truncated, info, near)
        (scored,) = self._scorer.score([step])
        self._observation = observation
        self._learning.count(1, step.ended)
        self._cut.count(step.ended)
        if step.ended:
            self._memory = None
        return observation, scored.reward, terminated, truncated, _merged(info, scored.info)


def _merged(info: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``info`` with more entries, the reward terms of both."""
    merged = {**info, **more}
    if TERMS_KEY in more:
        merged[TERMS_KEY] = {**(info.get(TERMS_KEY) or {}), **more[TERMS_KEY]}
    return merged
