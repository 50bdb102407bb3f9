"""Verdicts on episodes, the answers they are about, how near they are, and the verifier that most need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import gymnasium as gym

from pixelis.envs.tasks import Task
from pixelis.errors import RewardError
from pixelis.rewards.answers import text_matches

if TYPE_CHECKING:
    from pixelis.envs.tool_env import ToolEnv

W_contra = TypeVar("W_contra", contravariant=True)


@dataclass(frozen=True)
class Verdict:
    """A verifier's judgement of a finished episode.

    Attributes:
        success: whether the task was solved; kept apart from the reward. None where nobody knows, as the
            task has no label.
        terms: reward terms, name → value, each in [0, 1] by custom.
        weights: name → weight; a term that is not named here weighs 0 and is a metric.
    """

    success: bool | None
    terms: Mapping[str, float]
    weights: Mapping[str, float] = field(default_factory=lambda: {"task": 1.0})

    @property
    def reward(self) -> float:
        """The weighted sum of the terms."""
        return float(sum(self.weights.get(name, 0.0) * value for name, value in self.terms.items()))


class Verifier(Protocol[W_contra]):
    """Judges the answer (``None`` when the episode ended without one) and the final state."""

    def __call__(self, task: Task, answer: str | None, workspace: W_contra) -> Verdict:
        """Return the verdict; the same arguments always give the same one."""
        ...


@dataclass(frozen=True)
class FinalAnswer:
    """What an episode has answered so far, where that is not what stands in the last turn's ``<answer>``.

    Attributes:
        text: the answer; empty without one.
        accepted: whether it may be worth something. False where the environment refused an answer or lacks
            one: then it makes no group more diverse, and the parts of its reward are not paid one by one.
    """

    text: str
    accepted: bool = True


def exact_answer(task: Task, answer: str | None, workspace: Any) -> Verdict:
    """Judge an answer: 1 when it is the task's, else 0; see `text_matches` for what is ignored."""
    success = answer is not None and text_matches(answer, task.answer)
    return Verdict(success, {"task": float(success)})


def progress_of(env: ToolEnv[Any]) -> float | None:
    """Return how near its goal an environment's episode is, 0-1; None where it does not know.

    What ``nearness`` says while the episode lasts; then 1 for a success, 0 for a failure, None for neither.

    Raises:
        gymnasium.error.ResetNeeded: there is no episode.
        RewardError: ``nearness`` is not in 0-1.
    """
    if env.task is None:
        raise gym.error.ResetNeeded("there is no episode to be near the goal of; call reset() first")
    if not env.reward_traits.has_progress:
        return None
    if env.verdict is not None:
        if env.verdict.success is None:
            return None
        return float(env.verdict.success and not env.failure)
    near = env.nearness()
    if near is not None and not 0 <= near <= 1:
        raise RewardError(f"{type(env).__name__}.nearness() must be in 0-1, got {near!r}; rescale it")
    return near
