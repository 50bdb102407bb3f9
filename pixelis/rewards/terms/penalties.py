"""Penalties for misused tools: per call, and one for an episode that ends without an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pixelis.errors import ConfigError, shown
from pixelis.rewards.terms.checks import check_name_mapping, check_names
from pixelis.rewards.terms.registry import make_settings
from pixelis.rewards.terms.term import Transition
from pixelis.rewards.terms.traits import RewardTraits
from pixelis.rewards.terms.weights import PENALTY


@dataclass(frozen=True)
class PenaltySettings:
    """What is charged; all amounts are at least 0 and are subtracted.

    Limits, prerequisites and frame tools that are not given here are those that the environment declares
    (see `PenaltyTerm.adapt`); where it declares none, there are none.

    Attributes:
        base: for a call whose prerequisite is missing, once a call.
        out_of_bounds: for a call with a coordinate outside the image or the view, once a call.
        still_image: for a call of a frame tool where there is one picture only.
        over_limit: for each call of a tool beyond its limit.
        no_answer: for an episode that ends without an answer.
        limits: tool → calls in an episode that are free; a tool not named has no limit.
        prerequisites: tool → tool that must have been carried out before.
        coordinates: names of the arguments that hold coordinates in 0-1.
        bounds_codes: error codes that say a coordinate was out of bounds.
        frame_tools: the tools that need several frames.
        still: whether the environment has one picture only; None: such a call is charged when the environment
            refuses it, because it has no such tool (``unknown_tool``) or says ``still_image``.
    """

    base: float = 0.1
    out_of_bounds: float = 0.05
    still_image: float = 0.2
    over_limit: float = 0.1
    no_answer: float = 0.1
    limits: Mapping[str, int] = field(default_factory=dict)
    prerequisites: Mapping[str, str] = field(default_factory=dict)
    coordinates: tuple[str, ...] = ("box", "point", "center")
    bounds_codes: tuple[str, ...] = ("out_of_range", "out_of_view")
    frame_tools: frozenset[str] = frozenset()
    still: bool | None = None

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name in ("base", "out_of_bounds", "still_image", "over_limit", "no_answer"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
                raise ConfigError(f"penalty: {name} is an amount of at least 0, got {shown(value)}")
        if not isinstance(self.limits, Mapping):
            raise ConfigError(f"penalty: limits is a mapping of tool to calls, got {shown(self.limits)}")
        for tool, limit in self.limits.items():
            if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
                raise ConfigError(f"penalty: the limit of {tool} must be an integer >= 0, got {shown(limit)}")
        if self.still is not None and not isinstance(self.still, bool):
            raise ConfigError(f"penalty: still is true, false or null, got {shown(self.still)}")
        check_name_mapping("penalty: prerequisites", self.prerequisites)
        for name, kind in (("frame_tools", frozenset), ("coordinates", tuple), ("bounds_codes", tuple)):
            object.__setattr__(self, name, kind(check_names(f"penalty: {name}", getattr(self, name))))


@dataclass
class CallTally:
    """What an episode's calls were so far.

    Attributes:
        counts: tool → calls, carried out or not.
        done: tools that were carried out at least once.
    """

    counts: Counter[str] = field(default_factory=Counter)
    done: set[str] = field(default_factory=set)

    def add(self, call: Mapping[str, Any]) -> None:
        """Count a call."""
        tool = str(call.get("tool", ""))
        self.counts[tool] += 1
        if call.get("ok", True):
            self.done.add(tool)


def charges(call: Mapping[str, Any], tally: CallTally, settings: PenaltySettings) -> dict[str, float]:
    """Return what one call is charged, reason → amount (positive).

    Args:
        call: its record, as in ``info["tool_calls"]``; one without ``ok`` counts as carried out.
        tally: the episode's calls before it.
        settings: the amounts.
    """
    tool = str(call.get("tool", ""))
    found: dict[str, float] = {}
    needed = settings.prerequisites.get(tool)
    if needed is not None and needed not in tally.done:
        found["missing_prerequisite"] = settings.base
    if _is_out_of_bounds(call, settings):
        found["out_of_bounds"] = settings.out_of_bounds
    if tool in settings.frame_tools and _on_still_image(call, settings):
        found["still_image"] = settings.still_image
    limit = settings.limits.get(tool)
    if limit is not None and tally.counts[tool] >= limit:
        found["over_limit"] = settings.over_limit
    return found


def penalty(
    calls: Sequence[Mapping[str, Any]], *, answered: bool, settings: PenaltySettings | None = None
) -> float:
    """Return the penalty of a whole episode: at most 0.

    Args:
        calls: its calls in order.
        answered: whether it ended with an answer.
        settings: the amounts.
    """
    settings, tally = settings or PenaltySettings(), CallTally()
    return _charge(calls, tally, settings) - (0.0 if answered else settings.no_answer)


def _charge(calls: Sequence[Mapping[str, Any]], tally: CallTally, settings: PenaltySettings) -> float:
    total = 0.0
    for call in calls:
        total -= sum(charges(call, tally, settings).values())
        tally.add(call)
    return total


def _is_out_of_bounds(call: Mapping[str, Any], settings: PenaltySettings) -> bool:
    if call.get("error_code") in settings.bounds_codes:
        return True
    arguments = call.get("arguments") or {}
    values = (arguments.get(name) for name in settings.coordinates)
    return any(_is_outside(item) for value in values if isinstance(value, list | tuple) for item in value)


def _is_outside(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not 0 <= value <= 1


def _on_still_image(call: Mapping[str, Any], settings: PenaltySettings) -> bool:
    if settings.still is not None:
        return settings.still
    return call.get("error_code") in ("still_image", "unknown_tool")


class PenaltyTerm:
    """Charges each step its calls, and the last one a missing answer. Never positive; not potential-based.

    An episode has no answer when it was truncated: a limit ended it, and no answer did. An orchestrator pays
    the amounts as they are (``paid_raw``).

    Args:
        name: what the term is called.
        settings: fields of ``PenaltySettings``, by keyword.
    """

    needs_calls = True
    paid_raw = True

    def __init__(self, *, name: str = PENALTY, **settings: Any) -> None:
        self.name, self.settings = name, make_settings(PenaltySettings, name, settings)
        self._given = dict(settings)

    def adapt(self, traits: RewardTraits) -> None:
        """Take limits, prerequisites and frame tools from an environment that declares its tools.

        Limits that were given go before the environment's, tool by tool; the others as a whole.
        """
        if traits.tools is None:
            return
        own = {"prerequisites": traits.prerequisites, "frame_tools": traits.frame_tools}
        own = {name: value for name, value in own.items() if name not in self._given}
        limits = {**traits.limits, **self._given.get("limits", {})}
        self.settings = replace(self.settings, limits=limits, **own)

    def begin(self) -> CallTally:
        """Return the memory of an episode that begins."""
        return CallTally()

    def score(self, steps: Sequence[tuple[CallTally, Transition]]) -> list[float]:
        """Return the penalty of each step, at most 0."""
        return [self._score(tally, step) for tally, step in steps]

    def learn(self) -> dict[str, float]:
        """Learn nothing: the term is fixed."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """Return nothing: the term is fixed."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Do nothing: the term is fixed."""

    def _score(self, tally: CallTally, step: Transition) -> float:
        charged = _charge(step.calls, tally, self.settings)
        unanswered = step.truncated and not step.terminated
        return charged - (self.settings.no_answer if unanswered else 0.0)
