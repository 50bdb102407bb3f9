"""What the reward wrappers of one env and of a vector of envs share: steps in, rewards and info out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pixelis.errors import RewardError, WrapperOrderError
from pixelis.rewards.stack import EpisodeMemory, RewardStack
from pixelis.rewards.term import Transition
from pixelis.rewards.weights import TASK

TASK_KEY = "reward_task"
"""``info`` key of the reward before any wrapper of ours; the innermost one sets it."""
TERMS_KEY, PARTS_KEY, CALLS_KEY = "reward_terms", "reward_parts", "tool_calls"
READ_KEYS = (TASK_KEY, TERMS_KEY, CALLS_KEY)

LEARN_EVERY = 256
"""Steps after which terms learn though no episode has ended, so that endless ones pile nothing up."""


def as_mapping(observation: Any) -> Mapping[str, Any]:
    """Return an observation as terms take it.

    A dict stays as it is; a string becomes ``text``, a uint8 array [H, W, 3] ``image``, and anything else
    ``value``.
    """
    if isinstance(observation, Mapping):
        return observation
    if isinstance(observation, str):
        return {"text": observation}
    if isinstance(observation, np.ndarray) and observation.dtype == np.uint8 and observation.ndim == 3:
        return {"image": observation}
    return {"value": observation}


@dataclass(frozen=True)
class ReportedTransition(Transition):
    """A step with the values that wrappers and the env have put into ``info["reward_terms"]``."""

    reported: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """What a wrapper saw of one step of one env: of ``info`` at least what ``READ_KEYS`` names."""

    memory: EpisodeMemory
    observation: Any
    action: Any
    next_observation: Any
    reward: float
    terminated: bool
    truncated: bool
    info: Mapping[str, Any]

    @property
    def ended(self) -> bool:
        """Whether this was the episode's last step."""
        return self.terminated or self.truncated

    def transition(self, needs_calls: str | None) -> ReportedTransition:
        """Return the step as terms take it.

        Args:
            needs_calls: name of a term that cannot do without tool calls, or None.

        Raises:
            RewardError: ``info`` has no tool calls but a term needs them, or they are no list of records.
        """
        calls = self.info.get(CALLS_KEY)
        if calls is None and needs_calls is not None:
            raise RewardError(
                f"{needs_calls}: info has no 'tool_calls'; this term needs an env that puts the records of "
                "each step's calls there (an empty list for none), see pixelis.rewards.term.Transition"
            )
        calls = () if calls is None else calls
        if not isinstance(calls, Sequence) or not all(isinstance(call, Mapping) for call in calls):
            raise RewardError(f"{needs_calls}: info['tool_calls'] must be a list of records, got {calls!r}")
        return ReportedTransition(
            as_mapping(self.observation),
            self.action if isinstance(self.action, str) else str(self.action),
            as_mapping(self.next_observation),
            tuple(calls),
            self.terminated,
            self.truncated,
            self.info.get(TERMS_KEY) or {},
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
        ((self.name, term),) = stack.terms.items()
        self._needs_calls = self.name if getattr(term, "needs_calls", False) else None

    def score(self, steps: Sequence[Step]) -> list[Scored]:
        """Return reward + weight × value of each step, and the raw value for its ``info``."""
        for step in steps:
            if self.name in (step.info.get(TERMS_KEY) or {}):
                raise RewardError(
                    f"{self.name}: the env or a wrapper inside it already reports a term of this name; "
                    f"give this one another, for example name='{self.name}_2'"
                )
        batch = [(step.memory, step.transition(self._needs_calls), step.reward) for step in steps]
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

    def score(self, steps: Sequence[Step]) -> list[Scored]:
        """Return 0 for a step and the total for an episode's last one, with its parts for ``info``."""
        for step in steps:
            if TASK_KEY in step.info and not self.stack.terms:
                raise WrapperOrderError(
                    "RewardOrchestrator: reward wrappers inside the environments report the terms "
                    f"{sorted(step.info.get(TERMS_KEY) or {})}; name those to use, for example "
                    "RewardOrchestrator(envs, weights={'coherence': 0.2})"
                )
        batch = [
            (step.memory, step.transition(None), float(step.info.get(TASK_KEY, step.reward)))
            for step in steps
        ]
        return [
            Scored(
                scored.reward,
                {PARTS_KEY: {name: part.to_json() for name, part in scored.parts.items()}}
                if scored.parts
                else {},
            )
            for scored in self.stack.score(batch)
        ]


class ReportedTerm:
    """A term whose values somebody else has put into ``info["reward_terms"]``; a step without one counts 0.

    Args:
        name: the term.
    """

    def __init__(self, name: str) -> None:
        self.name = name

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

    def state(self) -> dict[str, Any]:
        """Return nothing: whoever reports the term keeps its state."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
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
