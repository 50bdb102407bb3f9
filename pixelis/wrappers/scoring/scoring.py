"""What the reward wrappers of one env and of a vector of envs share: steps in, rewards and info out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pixelis.errors import RewardError, RewardWarning, WrapperOrderError
from pixelis.rewards.stack.stack import EpisodeMemory, RewardStack, StepReward
from pixelis.rewards.terms.term import CALLS_KEY, Transition, as_mapping, reported_calls
from pixelis.rewards.terms.weights import TASK

TASK_KEY = "reward_task"
"""``info`` key of the reward before any wrapper of ours; the innermost one sets it."""
TERMS_KEY, PARTS_KEY = "reward_terms", "reward_parts"
READ_KEYS = (TASK_KEY, TERMS_KEY, CALLS_KEY)

CUT_IN_A_ROW = 10
"""Episodes in a row that are reset before their end; then a warning asks for the reason."""
LEARN_EVERY = 256
"""Steps after which terms learn though no episode has ended, so that endless ones pile nothing up."""


class LearningSchedule:
    """Lets a stack learn: at an episode's end, and after ``LEARN_EVERY`` steps in which none has ended.

    Args:
        stack: what learns.
    """

    def __init__(self, stack: RewardStack) -> None:
        self._stack, self._steps = stack, 0

    def count(self, steps: int, ended: bool) -> None:
        """Count scored steps, and learn when it is time; ``ended`` tells whether an episode has."""
        self._steps += steps
        if ended or self._steps >= LEARN_EVERY:
            self._stack.learn()
            self._steps = 0


class CutEpisodes:
    """Notices when no episode ever ends before it is reset, as where a wrapper outside cuts them off.

    Args:
        wrapper: whose warning this is.
    """

    def __init__(self, wrapper: str) -> None:
        self._wrapper, self._steps, self._cut, self._begun = wrapper, 0, 0, False

    def begin(self) -> bool:
        """Take note of a reset; return whether to look at the callers: at the first one, or after a cut."""
        cut, first = self._steps > 0, not self._begun
        self._begun = True
        self._cut += cut
        self._steps = 0
        if cut and self._cut == CUT_IN_A_ROW:
            warnings.warn(
                f"{self._wrapper}: {CUT_IN_A_ROW} episodes in a row were reset before they ended, and so "
                "were paid nothing for their end. Where a wrapper outside ends episodes, put it inside. This "
                "is said once",
                RewardWarning,
                stacklevel=3,
            )
        return cut or first

    def count(self, ended: bool) -> None:
        """Take note of a step; ``ended`` tells whether an episode ended with it."""
        self._steps = 0 if ended else self._steps + 1
        if ended:
            self._cut = 0


def as_text(action: Any) -> str:
    """Return an action as terms take it.

    Text stays as it is. Of anything else it is what ``str`` makes of it with NumPy's scalars as Python's
    numbers and its arrays as lists, so that an action gives the same text before and after it was recorded.
    """
    return action if isinstance(action, str) else str(_plain(action))


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):  # all of it: NumPy's own text leaves the middle of a large one out
        return value.tolist()
    if isinstance(value, Mapping):
        return {_plain(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return (list if isinstance(value, list) else tuple)(_plain(each) for each in value)
    return value


def reported_terms(info: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return ``info["reward_terms"]``, empty where there is none.

    Raises:
        RewardError: it is no mapping.
    """
    reported = info.get(TERMS_KEY)
    if reported is not None and not isinstance(reported, Mapping):
        raise RewardError(
            f"{TERMS_KEY}: expected info['{TERMS_KEY}'] to be a mapping of name to value, got {reported!r}; "
            "the wrappers report there, let the env use another key"
        )
    return reported or {}


@dataclass(frozen=True)
class ReportedTransition(Transition):
    """A step with the values that wrappers and the env have put into ``info["reward_terms"]``."""

    reported: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class EnvStep:
    """What a wrapper saw of one step of one env: of ``info`` at least what ``READ_KEYS`` names.

    ``progress`` is what the env said of it after the step, None where it was not asked.
    """

    memory: EpisodeMemory
    observation: Any
    action: Any
    next_observation: Any
    reward: float
    terminated: bool
    truncated: bool
    info: Mapping[str, Any]
    progress: float | None = None

    @property
    def ended(self) -> bool:
        """Whether this was the episode's last step."""
        return self.terminated or self.truncated

    def transition(self, component: str, needs_calls: bool) -> ReportedTransition:
        """Return the step as terms take it.

        Args:
            component: whose errors these are.
            needs_calls: whether it cannot do without tool calls.

        Raises:
            RewardError: ``info`` has no tool calls but a term needs them, or they are no list of records.
        """
        return ReportedTransition(
            as_mapping(self.observation),
            as_text(self.action),
            as_mapping(self.next_observation),
            reported_calls(self.info, component, needs_calls),
            self.terminated,
            self.truncated,
            self.progress,
            reported_terms(self.info),
        )


@dataclass(frozen=True)
class Scored:
    """A step's new reward, and what is added to its ``info``."""

    reward: float
    info: Mapping[str, Any]


class TermScorer:
    """Adds one term's reward to whatever an env pays.

    Args:
        stack: of this one term, without an orchestrator.
    """

    def __init__(self, stack: RewardStack) -> None:
        self.stack = stack
        (self.name,) = stack.terms
        self._needs_calls = stack.needs_calls is not None

    def score(self, steps: Sequence[EnvStep]) -> list[Scored]:
        """Return reward + weight × value of each step, and the raw value for its ``info``."""
        for step in steps:
            if self.name in reported_terms(step.info):
                raise RewardError(
                    f"{self.name}: the env or a wrapper inside it already reports a term of this name; "
                    f"give this one another, for example name='{self.name}_2'"
                )
        batch = [(step.memory, step.transition(self.name, self._needs_calls), step.reward) for step in steps]
        return [
            Scored(
                scored.reward,
                {
                    TERMS_KEY: {self.name: scored.terms[self.name]},
                    TASK_KEY: float(step.info.get(TASK_KEY, step.reward)),
                },
            )
            for step, scored in zip(steps, self.stack.score(batch), strict=True)
        ]


class OrchestratorScorer:
    """Replaces rewards by the totals of an orchestrator over values that ``info`` reports.

    Args:
        stack: of ``ReportedTerm``s and an orchestrator.
    """

    def __init__(self, stack: RewardStack) -> None:
        self.stack = stack

    def score(self, steps: Sequence[EnvStep]) -> list[Scored]:
        """Return 0 for a step and the total for an episode's last one, with its parts for ``info``."""
        for step in steps:
            if TASK_KEY in step.info and not self.stack.terms:
                raise WrapperOrderError(
                    "RewardOrchestrator: reward wrappers inside the environments report the terms "
                    f"{sorted(reported_terms(step.info))}; name those to use, for example "
                    "RewardOrchestrator(envs, weights={'coherence': 0.2})"
                )
        tasks = [float(step.info.get(TASK_KEY, step.reward)) for step in steps]
        batch = [
            (step.memory, step.transition("RewardOrchestrator", False), task)
            for step, task in zip(steps, tasks, strict=True)
        ]
        return [
            Scored(scored.reward, {TASK_KEY: task, **_parts_info(scored)})
            for task, scored in zip(tasks, self.stack.score(batch), strict=True)
        ]


def _parts_info(scored: StepReward) -> dict[str, Any]:
    parts = {name: part.to_json() for name, part in scored.parts.items()}
    return {PARTS_KEY: parts} if parts else {}


class ReportedTerm:
    """A term whose values somebody else has put into ``info["reward_terms"]``; a step without one counts 0.

    Args:
        name: the term.
        paid_by_step: whether an orchestrator pays it with every step, as the term itself says.
    """

    def __init__(self, name: str, paid_by_step: bool = False) -> None:
        self.name, self.paid_by_step = name, paid_by_step

    def begin(self) -> list[bool]:
        """Return the memory of an episode that begins: whether a value was seen, as its one item."""
        return [False]

    def score(self, steps: Sequence[tuple[list[bool], Transition]]) -> list[float]:
        """Return what was reported for each step.

        Raises:
            RewardError: an episode ended in which nobody reported the term.
        """
        return [self._score(seen, step) for seen, step in steps]

    def learn(self) -> dict[str, float]:
        """Learn nothing: whoever reports the term does that."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """Return nothing: whoever reports the term keeps its state."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Do nothing."""

    def _score(self, seen: list[bool], step: Transition) -> float:
        reported = step.reported if isinstance(step, ReportedTransition) else {}
        seen[0] |= self.name in reported
        if step.ended and not seen[0]:
            raise RewardError(
                f"{self.name}: the orchestrator has a weight for this component, but no wrapper inside it "
                f"and no env reported it in info['reward_terms']; known: {sorted({TASK, *reported})}"
            )
        return reported.get(self.name, 0.0)
