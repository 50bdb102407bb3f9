"""Running mean and deviation over a window, and the z-scores they give."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pixelis.errors import ConfigError, StateError
from pixelis.rewards.terms.state import check_version, state_item

VERSION = 1


def check_window(window: Any) -> int:
    """Return a window's length; raise ``ConfigError`` unless it is an integer of at least 1."""
    if isinstance(window, bool) or not isinstance(window, int) or window < 1:
        raise ConfigError(f"window: expected an integer of at least 1, got {window!r}")
    return window


class WindowStatistics:
    """Mean and deviation of the last ``window`` values, computed anew for each set of values.

    Nothing is carried on from value to value, so a huge one leaves no rounding behind.

    Args:
        window: the greatest number of values, at least 1.
    """

    def __init__(self, window: int = 1000) -> None:
        self.window = check_window(window)
        self._values: deque[float] = deque(maxlen=window)
        self._moments: tuple[float, float] | None = (
            0.0,
            0.0,
        )  # mean, deviation; None: of other values

    def push(self, value: float) -> None:
        """Take in a value; the oldest one leaves when the window is full."""
        self._values.append(value)
        self._moments = None

    @property
    def count(self) -> int:
        """How many values the window holds."""
        return len(self._values)

    @property
    def mean(self) -> float:
        """Their mean; 0 when there is none."""
        return self._current()[0]

    @property
    def std(self) -> float:
        """Their standard deviation (divided by n); 0 when there is none."""
        return self._current()[1]

    def _current(self) -> tuple[float, float]:
        if self._moments is None:
            values = np.array(self._values)
            self._moments = float(values.mean()), float(values.std())
        return self._moments

    def state_dict(self) -> dict[str, Any]:
        """Return the values, as JSON: a ring, and where in it the next value goes."""
        ring = list(self._values)
        return {"version": VERSION, "window": self.window, "ring": ring, "next": len(ring) % self.window}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go back to a state; everything after it has the same bits as if there had been no break.

        Raises:
            StateError: it is of another version or window.
        """
        state = check_version(state, "window statistics", VERSION)
        if state_item(state, "window statistics", "window") != self.window:
            raise StateError(
                f"window statistics: the state has a window of {state['window']}, expected {self.window}; "
                "set the same window"
            )
        try:
            ring = [float(value) for value in state_item(state, "window statistics", "ring")]
            place = int(state_item(state, "window statistics", "next"))
        except (TypeError, ValueError) as error:
            raise StateError(
                f"window statistics: expected a list of numbers and a position: {error}"
            ) from error
        fits = 0 <= place < self.window if len(ring) == self.window else place == len(ring) < self.window
        if not fits or not all(map(math.isfinite, ring)):
            raise StateError("window statistics: the values are not finite or do not fit their position")
        self._values = deque([*ring[place:], *ring[:place]], maxlen=self.window)
        self._moments = None if ring else (0.0, 0.0)


@dataclass(frozen=True)
class NormaliserSettings:
    """How values become z-scores.

    Attributes:
        window: how many of the last values the mean and deviation are of.
        warmup: values are passed on raw until so many have been seen.
        std_floor: least deviation that is divided by, in the value's own unit.
        clip: bound on what comes out, raw or not; ``math.inf`` for none.
    """

    window: int = 1000
    warmup: int = 10
    std_floor: float = 0.01
    clip: float = 10.0

    def __post_init__(self) -> None:
        """Check the kinds and ranges."""
        check_window(self.window)
        if isinstance(self.warmup, bool) or not isinstance(self.warmup, int):
            raise ConfigError(f"warmup: expected an integer of at least 0, got {self.warmup!r}")
        for name in ("std_floor", "clip"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise ConfigError(f"{name}: expected a number above 0, got {value!r}")
        if math.isinf(self.std_floor):
            raise ConfigError("std_floor: expected a finite number; by infinity every z-score would be 0")
        if not 0 <= self.warmup <= self.window:
            raise ConfigError(
                f"warmup: expected 0 to window ({self.window}), else values stay raw; got {self.warmup}"
            )


class Normaliser:
    """z = (x − mean)/max(std, floor), clipped; by what was seen *before* x."""

    def __init__(self, settings: NormaliserSettings | None = None) -> None:
        self.settings = settings or NormaliserSettings()
        self.statistics = WindowStatistics(self.settings.window)

    @property
    def warm(self) -> bool:
        """Whether enough values were seen to normalise."""
        return self.statistics.count >= self.settings.warmup

    @property
    def scale(self) -> float:
        """What a difference between two values is divided by now; 1 before the warm-up is over."""
        return max(self.statistics.std, self.settings.std_floor) if self.warm else 1.0

    def normalise(self, value: float) -> float:
        """Return the score of a value; it is not taken in."""
        score = (value - self.statistics.mean) / self.scale if self.warm else value
        return max(-self.settings.clip, min(self.settings.clip, score))

    def update(self, value: float) -> None:
        """Take a value in."""
        self.statistics.push(value)

    def state_dict(self) -> dict[str, Any]:
        """Return what was seen, as JSON."""
        return self.statistics.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go back to a state.

        Raises:
            StateError: it is of another version or window.
        """
        self.statistics.load_state_dict(state)
