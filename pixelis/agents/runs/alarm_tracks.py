"""What rules of alarms remember of a metric: its first values, its last ones, the best, and the best mean."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Mapping
from typing import Any

RECENT, PAST, LEAST_PAST = 5, 20, 10
LONG = 10
"""Steps that something has to last where a few say nothing."""


class Track:
    """The values of a metric that rules look at: the first, the last ones, and the best mean."""

    def __init__(self) -> None:
        self.first: list[float] = []
        self.silent = 0  # rows in a row that did not tell it, or told 0
        self.best: float | None = None  # largest mean of `LONG` values
        self.highest: float | None = None
        self._past, self._recent, self._long = RunningWindow(PAST), RunningWindow(RECENT), RunningWindow(LONG)

    def note(self, value: float | None) -> None:
        """Take the value of the next row."""
        self.silent = 0 if value else self.silent + 1
        if value is None:
            return
        self.highest = value if self.highest is None else max(self.highest, value)
        left = self._recent.note(value)
        if left is not None:
            self._past.note(left)
        self._long.note(value)
        if len(self.first) < RECENT:
            self.first.append(value)
        if (now := self.long()) is not None and (self.best is None or now > self.best):
            self.best = now

    def recent(self) -> float | None:
        """Return the mean of the last `RECENT` values, None where there are fewer."""
        return self._recent.mean if self._recent.is_full else None

    def long(self) -> float | None:
        """Return the mean of the last `LONG` values, None where there are fewer."""
        return self._long.mean if self._long.is_full else None

    def start(self) -> float | None:
        """Return the mean of the first values, None where there are fewer."""
        return sum(self.first) / RECENT if len(self.first) == RECENT else None

    def last(self) -> float | None:
        """Return the last value, None where there is none."""
        return self._recent.values[-1] if self._recent.values else None

    def newest(self, count: int) -> list[float]:
        """Return the last values, at most `RECENT`."""
        return list(self._recent.values)[-count:]

    def change(self) -> tuple[float, float, float] | None:
        """Return the past's mean, the recent one, and the standard error of their difference."""
        count = len(self._past.values)
        if count < LEAST_PAST:
            return None
        error = self._past.deviation * math.sqrt(1 / count + 1 / RECENT)
        return self._past.mean, self._recent.mean, error

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed run needs, as JSON-able values."""
        windows = {"past": self._past, "recent": self._recent, "long": self._long}
        kept = {name: window.state_dict() for name, window in windows.items()}
        known = {"first": self.first, "silent": self.silent, "best": self.best, "highest": self.highest}
        return {**known, **kept}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        self.first, self.silent = [float(value) for value in state["first"]], int(state["silent"])
        self.best = None if state["best"] is None else float(state["best"])
        highest = state.get("highest")  # older ones do not say
        self.highest = None if highest is None else float(highest)
        for name, window in (("past", self._past), ("recent", self._recent), ("long", self._long)):
            window.load_state_dict(state[name])

    @property
    def recent_deviation(self) -> float:
        """Deviation of the last `RECENT` values."""
        return self._recent.deviation

    @property
    def long_deviation(self) -> float:
        """Deviation of the last `LONG` values."""
        return self._long.deviation


class RunningWindow:
    """The last values of a sequence, their mean and deviation.

    Each time from the values themselves: in running sums one huge value leaves its rounding for ever.
    """

    def __init__(self, size: int) -> None:
        self.values: deque[float] = deque(maxlen=size)

    def note(self, value: float) -> float | None:
        """Take a value; return the one that it drives out."""
        left = self.values[0] if self.is_full else None
        self.values.append(value)
        return left

    def state_dict(self) -> dict[str, Any]:
        """Return the values."""
        return {"values": list(self.values)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        self.values = deque((float(value) for value in state["values"]), maxlen=self.values.maxlen)

    @property
    def is_full(self) -> bool:
        """Whether a further value drives one out."""
        return len(self.values) == self.values.maxlen

    @property
    def mean(self) -> float:
        """Of the values."""
        return sum(self.values) / len(self.values)

    @property
    def deviation(self) -> float:
        """Of the values, as a sample's."""
        return deviation(self.values)


def deviation(values: Collection[float]) -> float:
    """Return the sample's standard deviation."""
    mean = sum(values) / len(values)
    apart = (value - mean for value in values)
    return math.sqrt(sum(each * each for each in apart) / max(len(values) - 1, 1))
