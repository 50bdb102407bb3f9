"""What an environment and its tools say of themselves to reward terms, the orchestrator and metrics."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pixelis.errors import ConfigError, RecordingError, shown

_GREATEST = sys.float_info.max
UNDECLARED_GAP = (
    "the environment declares no task_gap, the smallest task reward of a success less the largest of a "
    "failure; without it nothing keeps failures below successes. Give it where the reward terms are set up "
    "(task_gap: 1.0 where a success pays 1 and a failure 0), or set task_gap on the environment"
)


def check_gap(value: Any) -> float:
    """Return a task gap as a float.

    Raises:
        ConfigError: it is no finite number of at least 0.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _GREATEST:
        raise ConfigError(f"task_gap: expected a finite number of at least 0, got {shown(value)}")
    return float(value)


def check_line(value: Any) -> float | None:
    """Return a success line as a float, or None.

    Raises:
        ConfigError: it is neither None nor a finite number.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ConfigError(f"success_line: expected a finite number or None, got {shown(value)}")
    return float(value)


@dataclass(frozen=True)
class ToolTraits:
    """What a tool says of its calls.

    Attributes:
        limit: calls in an episode that are never too many; None: there is no limit.
        requires: tool that must have been carried out before; None: none.
        leads_to: tools that sensibly come next.
        repeatable: whether the same call twice in a row may make sense (it scrolls, or waits).
        visual: whether it looks at pixels; metrics count such calls.
        no_op: whether it does nothing (a thought is written down): coherence passes over its calls.
    """

    limit: int | None = None
    requires: str | None = None
    leads_to: tuple[str, ...] = ()
    repeatable: bool = False
    visual: bool = False
    no_op: bool = False

    def __post_init__(self) -> None:
        """Check the ranges; ``leads_to`` may be a list."""
        if self.limit is not None and (type(self.limit) is not int or self.limit < 0):
            raise ConfigError(f"a tool's limit is an integer of at least 0, or None; got {shown(self.limit)}")
        if isinstance(self.leads_to, str):
            raise ConfigError(f"a tool leads to a list of tools, got {shown(self.leads_to)}")
        object.__setattr__(self, "leads_to", tuple(self.leads_to))


@dataclass(frozen=True)
class RewardTraits:
    """What an environment says of its task reward and its tools.

    Attributes:
        task_gap: the smallest task reward of a success less the largest of a failure, at least 0; None: the
            environment does not say.
        success_line: where every failure pays less and every success at least this, the line itself; None:
            there is none. It is what keeps the order where the gap is 0.
        tools: tool → its traits; None: the environment does not say which tools it has.
        frame_tools: tools, here or elsewhere, that need several pictures: to call them on one is a mistake.
        has_progress: whether it says how near its goal an episode is (`ToolEnv.progress`). No recording says
            that, so it is not in the JSON object.
    """

    task_gap: float | None = None
    success_line: float | None = None
    tools: Mapping[str, ToolTraits] | None = None
    frame_tools: frozenset[str] = frozenset()
    has_progress: bool = False

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.task_gap is not None:
            object.__setattr__(self, "task_gap", check_gap(self.task_gap))
        object.__setattr__(self, "success_line", check_line(self.success_line))
        object.__setattr__(self, "frame_tools", frozenset(self.frame_tools))

    @property
    def limits(self) -> dict[str, int]:
        """The tools with a limit."""
        return {name: tool.limit for name, tool in (self.tools or {}).items() if tool.limit is not None}

    @property
    def prerequisites(self) -> dict[str, str]:
        """The tools that require another one."""
        return {name: tool.requires for name, tool in (self.tools or {}).items() if tool.requires is not None}

    @property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """The pairs (tool, next tool) that belong together; the next one must be there."""
        tools = self.tools or {}
        return frozenset((name, after) for name in tools for after in tools[name].leads_to if after in tools)

    @property
    def repeatable(self) -> frozenset[str]:
        """The tools of which the same call twice in a row may make sense."""
        return frozenset(name for name, tool in (self.tools or {}).items() if tool.repeatable)

    @property
    def visual(self) -> frozenset[str]:
        """The tools that look at pixels."""
        return frozenset(name for name, tool in (self.tools or {}).items() if tool.visual)

    @property
    def no_ops(self) -> frozenset[str]:
        """The tools that do nothing."""
        return frozenset(name for name, tool in (self.tools or {}).items() if tool.no_op)

    def to_json(self) -> dict[str, Any]:
        """Return the traits as a JSON object."""
        tools = None
        if self.tools is not None:
            tools = {name: {**vars(tool), "leads_to": [*tool.leads_to]} for name, tool in self.tools.items()}
        return {
            "task_gap": self.task_gap,
            "success_line": self.success_line,
            "tools": tools,
            "frame_tools": sorted(self.frame_tools),
        }

    @classmethod
    def from_json(cls, value: Any) -> RewardTraits:
        """Return the traits of a JSON object; those of one that is empty are unknown.

        Raises:
            RecordingError: it is no such object.
        """
        try:
            given = dict(value or {})
            tools = given.pop("tools", None)
            found = None if tools is None else {name: ToolTraits(**tool) for name, tool in tools.items()}
            return cls(**given, tools=found)
        except (TypeError, ValueError, AttributeError) as error:
            raise RecordingError(f"the traits of an environment cannot be read: {error}") from error


def together(each: Sequence[RewardTraits]) -> RewardTraits:
    """Return the traits that hold for several environments at once: the smallest gap, the first one's tools.

    A success line holds only where all of them have the same.
    """
    if not each:
        return RewardTraits()
    gaps = [one.task_gap for one in each if one.task_gap is not None]
    lines = {one.success_line for one in each}
    gap = min(gaps) if len(gaps) == len(each) else None
    line = lines.pop() if len(lines) == 1 else None
    progress = all(one.has_progress for one in each)
    return RewardTraits(gap, line, each[0].tools, each[0].frame_tools, progress)
