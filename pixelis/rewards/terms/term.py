"""What a reward term is: it sees the steps of episodes, and gives each of them a number.

A term knows no environment. Wrappers give it the steps of one env or of a vector of them, the trainer those
of a whole rollout, and a replayed recording those of an old run; all through the same call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from pixelis.errors import RewardError

M = TypeVar("M")
CALLS_KEY = "tool_calls"
"""``info`` key of the records of a step's tool calls."""


@dataclass(frozen=True)
class Transition:
    """One step of an environment as a reward term sees it.

    Attributes:
        observation: what the policy saw before it acted: ``text`` (str) and, where there is one, ``image``
            (uint8 [H, W, 3]).
        action: the policy's whole turn.
        next_observation: what it saw after.
        calls: the records of the turn's tool calls, as ``info["tool_calls"]`` gives them (``tool``, ``ok``,
            ``error_code``, ``arguments``, ``data``, ``text``).
        terminated: the task ended with this step.
        truncated: a limit ended the episode with this step.
        progress: how near its goal the episode is after the step, 0-1, by the environment's own knowledge;
            None where nobody said, and where no term asks for it (``needs_progress``).
    """

    observation: Mapping[str, Any]
    action: str
    next_observation: Mapping[str, Any]
    calls: tuple[Mapping[str, Any], ...] = ()
    terminated: bool = False
    truncated: bool = False
    progress: float | None = None

    @property
    def ended(self) -> bool:
        """Whether this was the episode's last step."""
        return self.terminated or self.truncated


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


def reported_calls(info: Mapping[str, Any], component: str, needed: bool) -> tuple[Mapping[str, Any], ...]:
    """Return the records of a step's tool calls, none where ``info`` has none.

    Args:
        info: of the step.
        component: whose errors these are.
        needed: whether it cannot do without.

    Raises:
        RewardError: there are none but they are needed, or they are no list of records.
    """
    calls = info.get(CALLS_KEY)
    if calls is None and needed:
        raise RewardError(
            f"{component}: info has no 'tool_calls'; this term needs an env that puts the records of "
            "each step's calls there (an empty list for none), see pixelis.rewards.terms.term.Transition"
        )
    calls = () if calls is None else calls
    if not isinstance(calls, Sequence) or not all(isinstance(call, Mapping) for call in calls):
        raise RewardError(f"{component}: info['tool_calls'] must be a list of records, got {calls!r}")
    return tuple(calls)


TermFunction = Callable[[Transition], float]
"""From a step to its raw value: all that a term without memory needs (`FunctionTerm`)."""


class RewardTerm(Protocol[M]):
    """Gives raw values, which a weight turns into reward.

    Attributes:
        name: what the term is called in ``info["reward_terms"]``, in metrics and in weights.
    """

    name: str

    def begin(self) -> M:
        """Return the memory of an episode that begins; whoever plays the episode keeps it."""
        ...

    def score(self, steps: Sequence[tuple[M, Transition]]) -> list[float]:
        """Return the raw value of each step, in order, and note the step in its episode's memory.

        The steps belong to different episodes and happened at the same time. None is scored by what another
        of them taught the term, so their order does not matter.
        """
        ...

    def learn(self) -> dict[str, float]:
        """Learn from the steps that were scored since the last call; return metrics."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """Return what the term has learnt: JSON values and tensors, nested in dicts and lists."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Put a state back.

        Raises:
            StateError: it belongs to another version or to other settings.
        """
        ...
