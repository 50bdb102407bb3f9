"""Series of a run's metrics: moving means, products and slopes, as a curriculum's conditions need them.

A metric expression is a name that the trainer computes, such a name with ``_ma<n>`` for the mean of its last
n values, or a product of those: ``success/rate_ma100 * coherence/raw_ma100``.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pixelis.errors import ConfigError, RewardError, suggest

_MOVING = re.compile(r"(.+)_ma([1-9]\d{0,5})")


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Return the least-squares slope Σ(x − x̄)(y − ȳ)/Σ(x − x̄)² of (x, y); 0 for fewer than two x."""
    if len(points) < 2:
        return 0.0
    mean_x = math.fsum(x for x, _ in points) / len(points)
    mean_y = math.fsum(y for _, y in points) / len(points)
    spread = math.fsum((x - mean_x) ** 2 for x, _ in points)
    return math.fsum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread > 0 else 0.0


def factors(expression: str) -> tuple[str, ...]:
    """Return the names that an expression multiplies."""
    return tuple(name.strip() for name in str(expression).split("*"))


def check_expression(expression: str, available: Collection[str], user: str) -> str:
    """Return an expression whose metrics are all computed.

    Raises:
        ConfigError: nobody computes one of them; the message names it and ``user``, who asks for it.
    """
    for name in factors(expression):
        moving = _MOVING.fullmatch(name)
        if name not in available and not (moving and moving.group(1) in available):
            asked = f"{user}: nobody computes the metric {name!r}"
            if not available:
                raise ConfigError(f"{asked}; give the names that the trainer computes as available_metrics")
            raise ConfigError(
                f"{asked}.{suggest(name, available)} name_ma100 is the mean of the last 100 values"
            )
    return expression


class MetricSeries:
    """The last values of some expressions, and what their moving means need.

    Args:
        expressions: what is watched, checked by ``check_expression``.
        length: how many values of each are kept.
    """

    def __init__(self, expressions: Collection[str], length: int) -> None:
        self._values: dict[str, deque[tuple[float, float]]] = {
            name: deque(maxlen=length) for name in sorted(set(expressions))
        }
        self._counts = dict.fromkeys(self._values, 0)
        self._moving: dict[str, deque[float]] = {}
        for name in (name for expression in self._values for name in factors(expression)):
            if moving := _MOVING.fullmatch(name):
                self._moving[name] = deque(maxlen=int(moving.group(2)))

    def add(self, step: int, metrics: Mapping[str, float | None]) -> None:
        """Take in a step's metrics; a value that is None, NaN or infinite is none.

        Raises:
            RewardError: a metric that is watched is no number.
        """
        known = {name: _number(name, value) for name, value in metrics.items() if self._watches(name)}
        for name, window in self._moving.items():
            if name not in metrics:
                value = known.get(name.rpartition("_ma")[0])
                if value is not None:
                    window.append(value)
                known[name] = math.fsum(window) / len(window) if window and value is not None else None
        for expression, points in self._values.items():
            parts = [known.get(name) for name in factors(expression)]
            values = [part for part in parts if part is not None]
            if len(values) == len(parts):
                points.append((float(step), math.prod(values)))
                self._counts[expression] += 1

    def count(self, expression: str) -> int:
        """Return how many values came since ``clear``."""
        return self._counts[expression]

    def last(self, expression: str, window: int) -> list[tuple[float, float]]:
        """Return the last (step, value) pairs since ``clear``, at most ``window`` of them."""
        return list(self._values[expression])[-window:]

    def mean(self, expression: str, window: int) -> float | None:
        """Return the mean of the last ``window`` values, None before there are so many since ``clear``."""
        points = self.last(expression, window)
        return math.fsum(value for _, value in points) / window if len(points) == window else None

    def clear(self) -> None:
        """Begin anew, as in a new stage; moving means go on."""
        for name, points in self._values.items():
            points.clear()
            self._counts[name] = 0

    def state_dict(self) -> dict[str, Any]:
        """Return everything, as JSON."""
        return {
            "values": {name: [list(point) for point in points] for name, points in self._values.items()},
            "counts": dict(self._counts),
            "moving": {name: list(window) for name, window in self._moving.items()},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go back to a state; expressions that it does not know begin empty."""
        self.clear()
        for name, points in self._values.items():
            points.extend((float(step), float(value)) for step, value in state["values"].get(name, []))
            self._counts[name] = int(state["counts"].get(name, 0))
        for name, window in self._moving.items():
            window.clear()
            window.extend(map(float, state["moving"].get(name, [])))

    def _watches(self, name: str) -> bool:
        return any(
            name in (part, part.rpartition("_ma")[0]) for known in self._values for part in factors(known)
        )


def _number(name: str, value: Any) -> float | None:
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise RewardError(f"metric {name}: expected a number or None, got {value!r}") from None
    return number if math.isfinite(number) else None
