"""Levels, and the space of them that an environment's dials span."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import gymnasium as gym
import numpy as np

from pixelis.errors import ConfigError, suggest

Cell = tuple[int, ...]
"""For every dial, in order, the index of its value."""

MOST_CELLS = 4096
"""The most cells of which a table is kept; a larger space is drawn from without one."""
ALL = "all"
"""In ``level_dials``: every value of a dial."""
_TRIES = 1000


@dataclass(frozen=True)
class Level:
    """One concrete level: what `gymnasium.Env.reset` needs to show the same task again.

    Attributes:
        cell: where the dials stand.
        seed: the reset seed, in [0, 2**31).
    """

    cell: Cell
    seed: int

    def to_json(self) -> list[Any]:
        """Return it as JSON-able values."""
        return [list(self.cell), self.seed]

    @classmethod
    def from_json(cls, values: Sequence[Any]) -> Level:
        """Return what `to_json` was called on."""
        cell, seed = values
        return cls(tuple(int(index) for index in cell), int(seed))


class LevelSpace:
    """The cells that exist.

    Args:
        dials: name → its values in their order, easiest first where there is such an order. No dials: one
            cell, and a level is a seed.
        exists: whether there is a level where the dials stand so, given name → value; None: everywhere.
        options: the reset options that ask for it; None: the names and values themselves.

    Raises:
        ConfigError: a dial has no values, or the same twice.
    """

    def __init__(
        self,
        dials: Mapping[str, Sequence[Any]],
        exists: Callable[[Mapping[str, Any]], bool] | None = None,
        options: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None,
    ) -> None:
        self.dials = {name: _checked(name, values) for name, values in dials.items()}
        self._exists, self._options = exists, options

    @property
    def size(self) -> int:
        """Number of cells, those that do not exist included."""
        return math.prod(len(values) for values in self.dials.values())

    @cached_property
    def cells(self) -> list[Cell]:
        """The cells that exist.

        Raises:
            ConfigError: there are none, or too many for a table.
        """
        if self.size > MOST_CELLS:
            raise ConfigError(
                f"a table of at most {MOST_CELLS} cells can be kept, these dials span {self.size}: leave "
                "fewer values with level_dials, or choose levels plr, accel, sfl or domain_random"
            )
        everywhere = itertools.product(*(range(len(values)) for values in self.dials.values()))
        cells = [cell for cell in everywhere if self.exists(cell)]
        if not cells:
            raise ConfigError(f"no level exists with the dials {self.dials}; leave more values")
        return cells

    def values(self, cell: Cell) -> dict[str, Any]:
        """Return name → value."""
        return {name: self.dials[name][index] for name, index in zip(self.dials, cell, strict=True)}

    def options(self, cell: Cell) -> dict[str, Any]:
        """Return the reset options that ask for levels of a cell."""
        values = self.values(cell)
        return dict(values if self._options is None else self._options(values))

    def exists(self, cell: Cell) -> bool:
        """Whether there are levels in a cell."""
        return self._exists is None or bool(self._exists(self.values(cell)))

    def contains(self, cell: Cell) -> bool:
        """Whether a cell has an index for every dial, all are in range, and there are levels."""
        values = self.dials.values()
        inside = len(cell) == len(values) and all(0 <= i < len(v) for i, v in zip(cell, values, strict=True))
        return inside and self.exists(cell)

    def draw(self, rng: np.random.Generator) -> Cell:
        """Draw a cell, each that exists with the same probability.

        Raises:
            ConfigError: in a space too large for a table, none was found in 1,000 tries.
        """
        if self.size <= MOST_CELLS:
            return self.cells[int(rng.integers(len(self.cells)))]
        return self._tried(lambda: self._anywhere(rng))

    def draw_by_dial(self, rng: np.random.Generator) -> Cell:
        """Draw every dial by itself, uniformly; where that does not exist, all but the first are drawn again.

        So each value of the first dial (the family, as a rule) is equally likely however many levels it has.

        Raises:
            ConfigError: none was found in 1,000 tries.
        """
        if not self.dials:
            return ()
        if self.size > MOST_CELLS:
            first = int(rng.integers(len(next(iter(self.dials.values())))))
            return self._tried(lambda: (first, *self._anywhere(rng)[1:]))
        firsts = sorted({cell[0] for cell in self.cells})
        first = firsts[int(rng.integers(len(firsts)))]
        among = [cell for cell in self.cells if cell[0] == first]
        return among[int(rng.integers(len(among)))]

    @property
    def ordered(self) -> tuple[int, ...]:
        """The places of the dials whose values are numbers, which can be turned by one."""
        return tuple(
            place
            for place, values in enumerate(self.dials.values())
            if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
        )

    def neighbours(self, cell: Cell) -> list[Cell]:
        """Return the cells that exist and differ by one position of one dial whose values are numbers."""
        moved = [
            (*cell[:place], cell[place] + by, *cell[place + 1 :]) for place in self.ordered for by in (-1, 1)
        ]
        return [each for each in moved if self.contains(each)]

    def label(self, cell: Cell) -> str:
        """Return a readable name such as ``family=shop,difficulty=3``."""
        return ",".join(f"{name}={value}" for name, value in self.values(cell).items())

    def _anywhere(self, rng: np.random.Generator) -> Cell:
        return tuple(int(rng.integers(len(values))) for values in self.dials.values())

    def _tried(self, draw: Callable[[], Cell]) -> Cell:
        for _ in range(_TRIES):
            cell = draw()
            if self.exists(cell):
                return cell
        raise ConfigError(f"{_TRIES} draws of the dials {list(self.dials)} hit no level; leave fewer values")


def level_space(
    env: gym.Env[Any, Any], restrict: Mapping[str, Any], fixed: Mapping[str, Any] | None = None
) -> LevelSpace:
    """Return the space that an environment declares; ``docs/guide/levels.md`` has its part of the contract.

    Args:
        env: its ``unwrapped`` may have ``level_dials``, ``level_default_dials``, ``level_exists`` and
            ``level_options``.
        restrict: dial → the values that are left of it, a single one, or ``all``. A dial that is not among
            the environment's default ones is turned only if it is named here.
        fixed: reset options that hold for the whole run; a dial of that name stays there, unless
            ``restrict`` names it.

    Raises:
        ConfigError: ``restrict`` names another dial or value than there is.
    """
    inner: Any = env.unwrapped
    declared = dict(getattr(inner, "level_dials", None) or {})
    for name in restrict:
        if name not in declared:
            known = suggest(name, declared) if declared else " The environment has no dials."
            raise ConfigError(f"level_dials names {name!r}, which is no dial of the environment.{known}")
    wanted = {name: value for name, value in (fixed or {}).items() if name in declared} | dict(restrict)
    usual = getattr(inner, "level_default_dials", None)
    dials = {
        name: _left(name, values, wanted[name]) if name in wanted else values
        for name, values in declared.items()
        if usual is None or name in usual or name in wanted
    }
    return LevelSpace(dials, getattr(inner, "level_exists", None), getattr(inner, "level_options", None))


def _left(name: str, values: Sequence[Any], wanted: Any) -> list[Any]:
    """Return the wanted ones of a dial's values, in the dial's order."""
    if isinstance(wanted, str) and wanted == ALL and ALL not in values:
        return list(values)
    chosen = list(wanted) if isinstance(wanted, (list, tuple, range)) else [wanted]
    for value in chosen:
        if value not in values:
            raise ConfigError(f"level_dials: {name} has the values {list(values)}, got {value!r}")
    return [value for value in values if value in chosen]


def _checked(name: str, values: Sequence[Any]) -> tuple[Any, ...]:
    checked = tuple(value.item() if isinstance(value, np.generic) else value for value in values)
    if not checked or len(set(checked)) < len(checked):
        raise ConfigError(f"dial {name!r} needs values that differ, at least one, got {list(checked)}")
    return checked
