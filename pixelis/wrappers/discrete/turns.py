"""From five small numbers to one assistant turn: how each tool is called, and what is answered."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pixelis.errors import ConfigError, shown, suggest
from pixelis.wrappers.discrete.tool_memory import SLOTS, ToolMemory

ANSWER = "answer"


@dataclass(frozen=True)
class Choice:
    """One action: which tool (or the answer), where, how close, and which candidate."""

    tool: int
    x: int
    y: int
    scale: int
    slot: int


@dataclass(frozen=True)
class ToolPlan:
    """How one tool is called.

    Attributes:
        name: the tool's.
        way: ``look``: center and factor in the scene; ``point`` and ``box``: a place in the current view, or
            none at scale 0; ``region``: the region there; ``number``: x + grid · y spread over a range.
        key: the argument's name, where ``way`` does not say it; of a look ``region``, where one may be named.
        low: of the range.
        high: of the range.
    """

    name: str
    way: str
    key: str = ""
    low: int = 0
    high: int = 0

    @property
    def parts(self) -> tuple[bool, bool]:
        """Whether the place matters, and whether the scale does."""
        return True, self.way in ("look", "point", "box")


def plan_tools(schemas: Sequence[Mapping[str, Any]]) -> tuple[ToolPlan, ...]:
    """Return how to call the tools that a place is enough for, in their order; the others are left out.

    Args:
        schemas: see ``Toolset.schemas``.
    """
    plans = (_plan(schema["function"]) for schema in schemas)
    return tuple(plan for plan in plans if plan is not None)


def chosen(plans: Sequence[ToolPlan], names: Sequence[str] | None) -> tuple[ToolPlan, ...]:
    """Return the plans of the tools that are named, in the order of the names; all for None.

    Raises:
        ConfigError: a name is none of theirs, or there are none.
    """
    if names is None:
        return tuple(plans)
    by_name = {plan.name: plan for plan in plans}
    if isinstance(names, str) or not names:
        some = ", ".join([*by_name][:2])
        raise ConfigError(f"tools must be a list of names such as [{some}], got {shown(names)}")
    for name in names:
        if name not in by_name:
            raise ConfigError(f"no tool {name!r} that numbers can call.{suggest(name, list(by_name))}")
    return tuple(by_name[name] for name in dict.fromkeys(names))


def _plan(function: Mapping[str, Any]) -> ToolPlan | None:
    name, properties = function["name"], function["parameters"].get("properties", {})
    required = set(function["parameters"].get("required", ()))
    if "region" in properties and not required and function["parameters"].get("minProperties"):
        return ToolPlan(name, "region")  # as TRACK, which must have a box or a region
    for way, keys in {"look": {"center", "factor"}, "point": {"point"}, "box": {"box"}}.items():
        if keys <= set(properties) and required <= keys:
            return ToolPlan(name, way, "region" if "region" in properties else "")
    if required == {"region"}:
        return ToolPlan(name, "region")
    if len(required) == 1:
        key = next(iter(required))
        value = properties.get(key, {})
        if value.get("type") == "integer" and "maximum" in value:
            return ToolPlan(name, "number", key, value.get("minimum", 0), value["maximum"])
    return None


@dataclass(frozen=True)
class TurnBuilder:
    """Writes turns.

    Attributes:
        tools: the tools in the order of the first number; the answer comes after them.
        grid: cells along a side, for x and y.
        factors: how many times closer each scale is, the first 1.
        numbers: whether the answer is the number x + grid · y, not a candidate.
        snap: whether ``look`` goes to the region nearest to the place, where regions of the view are known.
    """

    tools: tuple[ToolPlan, ...]
    grid: int
    factors: tuple[float, ...]
    numbers: bool = False
    snap: bool = False

    @property
    def sizes(self) -> tuple[int, int, int, int, int]:
        """How many values each of the five numbers has."""
        return len(self.tools) + 1, self.grid, self.grid, len(self.factors), SLOTS

    def counted(self) -> np.ndarray:
        """Return which of the five numbers change the turn: bool ``[tools + 1, scales, 5]``."""
        matters = np.zeros((len(self.tools) + 1, len(self.factors), 5), bool)
        matters[..., 0] = True
        for index, plan in enumerate(self.tools):
            has_place, has_scale = plan.parts
            matters[index, :, 1:3] = has_place
            matters[index, :, 3] = has_scale
            matters[index, 0, 1:3] &= not self._is_whole(plan, 0)
        matters[-1, :, 1:3], matters[-1, :, 4] = self.numbers, not self.numbers
        return matters

    def write(self, choice: Choice, memory: ToolMemory) -> str:
        """Return the turn; an answer while all slots are empty is a turn that says nothing, and costs one."""
        if choice.tool == len(self.tools):
            return self._answer(choice, memory)
        plan = self.tools[choice.tool]
        arguments = self._arguments(plan, choice, memory)
        return f"<tool_call>{json.dumps({'name': plan.name, 'arguments': arguments})}</tool_call>"

    def distinct(self) -> tuple[Choice, ...]:
        """Return every choice that says something of its own: numbers that a tool ignores are 0."""
        choices = [
            Choice(index, x, y, scale, 0)
            for index, plan in enumerate(self.tools)
            for scale in (range(len(self.factors)) if plan.parts[1] else (0,))
            for y, x in self._cells(whole=self._is_whole(plan, scale))
        ]
        last = len(self.tools)
        if self.numbers:
            return (*choices, *(Choice(last, x, y, 0, 0) for y, x in self._cells(whole=False)))
        return (*choices, *(Choice(last, 0, 0, 0, slot) for slot in range(SLOTS)))

    # ------------------------------------------------------------------ private

    def _is_whole(self, plan: ToolPlan, scale: int) -> bool:
        """Whether a tool has no place at a scale: it takes the whole, which has one."""
        if plan.way == "look":
            return self.factors[scale] == 1
        return scale == 0 and plan.parts[1]

    def _cells(self, *, whole: bool) -> Sequence[tuple[int, int]]:
        cells = [(y, x) for y in range(self.grid) for x in range(self.grid)]
        return cells[:1] if whole else cells

    def _answer(self, choice: Choice, memory: ToolMemory) -> str:
        if self.numbers:
            return f"<answer>{choice.x + self.grid * choice.y}</answer>"
        filled = memory.candidates[:SLOTS]
        return f"<answer>{filled[choice.slot % len(filled)].text}</answer>" if filled else ""

    def _arguments(self, plan: ToolPlan, choice: Choice, memory: ToolMemory) -> dict[str, Any]:
        across, down = (choice.x + 0.5) / self.grid, (choice.y + 0.5) / self.grid
        if plan.way == "look":
            whole = self._is_whole(plan, choice.scale)
            if self.snap and plan.key and memory.regions and not whole:
                return {plan.key: memory.region_at((across, down))}
            center = [0.5, 0.5] if whole else _rounded(across, down)
            return {"center": center, "factor": self.factors[choice.scale]}
        left, top, right, _ = memory.view
        side = right - left
        x, y = left + across * side, top + down * side
        if plan.way == "region":
            return {"region": memory.region_at((x, y))}
        if plan.way == "number":
            share = (choice.x + self.grid * choice.y) / (self.grid**2 - 1)
            return {plan.key: plan.low + round(share * (plan.high - plan.low))}
        if choice.scale == 0:
            return {}
        if plan.way == "point":
            return {"point": _rounded(x, y)}
        width = side / self.factors[choice.scale]
        x0 = min(max(x - width / 2, left), left + side - width)
        y0 = min(max(y - width / 2, top), top + side - width)
        return {"box": _rounded(x0, y0, x0 + width, y0 + width)}


def check_grid(grid: Any, factors: Any) -> tuple[int, tuple[float, ...]]:
    """Return the grid and the factors when they make sense.

    Raises:
        ConfigError: they do not.
    """
    if isinstance(grid, bool) or not isinstance(grid, int) or not 2 <= grid <= 64:
        raise ConfigError(f"grid must be an integer from 2 to 64, got {shown(grid)}; 16 is usual")
    values: tuple[float, ...] = (
        tuple(factors) if isinstance(factors, Sequence) and not isinstance(factors, str) else ()
    )
    ascending = all(isinstance(f, (int, float)) for f in values) and list(values) == sorted(set(values))
    one_alone = len(values) == 1 and values[0] > 1  # that of ZOOM
    if not ascending or not (one_alone or (len(values) > 1 and values[0] == 1)) or max(values) > 50:
        raise ConfigError(
            f"factors must ascend from 1 to at most 50, or be one, got {factors!r}; (1, 2, 4, 8) is usual"
        )
    return grid, values


def _rounded(*values: float) -> list[float]:
    return [round(min(max(value, 0.0), 1.0), 4) for value in values]
