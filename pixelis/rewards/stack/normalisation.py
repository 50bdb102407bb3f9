"""Running mean and deviation over a window, and the z-scores they give."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pixelis.errors import ConfigError, StateError
from pixelis.rewards.terms.state import check_version, state_item

VERSION = 1


class Moments(NamedTuple):
    """Number, mean and sum of squared deviations from the mean of a stretch of values."""

    size: int
    mean: float
    squares: float


EMPTY = Moments(0, 0.0, 0.0)


def merge(a: Moments, b: Moments) -> Moments:
    """Return the moments of two stretches together.

    With δ = mean_b − mean_a: mean = mean_a + δ·n_b/n and squares = squares_a + squares_b + δ²·n_a·n_b/n
    (Chan, Golub and LeVeque 1979; with n_b = 1 it is Welford's update of 1962).
    """
    if not a.size or not b.size:
        return a if a.size else b
    size, delta = a.size + b.size, b.mean - a.mean
    share = b.size / size
    return Moments(size, a.mean + delta * share, a.squares + b.squares + delta * delta * a.size * share)


def _suffixes(values: Sequence[float]) -> list[Moments]:
    """Return the moments of ``values[i:]`` for every i from 0 to the length."""
    moments = [EMPTY]
    for value in reversed(values):
        moments.append(merge(Moments(1, value, 0.0), moments[-1]))
    return moments[::-1]


def check_window(window: Any) -> int:
    """Return a window's length; raise ``ConfigError`` unless it is an integer of at least 1."""
    if isinstance(window, bool) or not isinstance(window, int) or window < 1:
        raise ConfigError(f"window: expected an integer of at least 1, got {window!r}")
    return window


class WindowStatistics:
    """Mean and deviation of the last ``window`` values, in O(1) time a value and O(window) memory.

    A value is never subtracted again when it leaves the window, so a huge one leaves no rounding behind. The
    ring buffer is overwritten from its start to its end; what is left of the last turn is a suffix of the
    buffer and what came since a prefix. Suffixes are summed up once a turn (which costs O(1) a value), the
    prefix by Welford's update, and a query merges the two.

    Args:
        window: the greatest number of values, at least 1.
    """

    def __init__(self, window: int = 1000) -> None:
        self.window = check_window(window)
        self._ring: list[float] = []
        self._next = 0  # where the next value goes
        self._prefix = EMPTY  # of what was written since the last turn began
        self._suffixes = [EMPTY]  # of the last turn's values; empty during the first turn
        self._moments = EMPTY

    def push(self, value: float) -> None:
        """Take in a value; the oldest one leaves when the window is full."""
        full = len(self._ring) == self.window
        if self._next == 0:
            self._suffixes = _suffixes(self._ring) if full else [EMPTY]
            self._prefix = EMPTY
        if full:
            self._ring[self._next] = value
        else:
            self._ring.append(value)
        self._prefix = merge(self._prefix, Moments(1, value, 0.0))
        self._moments = merge(self._suffixes[self._next + 1] if full else EMPTY, self._prefix)
        self._next = (self._next + 1) % self.window

    @property
    def count(self) -> int:
        """How many values the window holds."""
        return self._moments.size

    @property
    def mean(self) -> float:
        """Their mean; 0 when there is none."""
        return self._moments.mean

    @property
    def std(self) -> float:
        """Their standard deviation (divided by n); 0 when there is none."""
        return math.sqrt(self._moments.squares / self.count) if self.count else 0.0

    def state(self) -> dict[str, Any]:
        """Return the values and where the ring stands, as JSON."""
        return {"version": VERSION, "window": self.window, "ring": list(self._ring), "next": self._next}

    def restore(self, state: Mapping[str, Any]) -> None:
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
        self._ring, self._next = ring, place
        full = len(ring) == self.window
        self._suffixes = _suffixes(ring) if full and place else [EMPTY]
        self._prefix = EMPTY
        for value in ring[:place] if place else ring:
            self._prefix = merge(self._prefix, Moments(1, value, 0.0))
        self._moments = merge(self._suffixes[place] if full and place else EMPTY, self._prefix)


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

    def state(self) -> dict[str, Any]:
        """Return what was seen, as JSON."""
        return self.statistics.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go back to a state.

        Raises:
            StateError: it is of another version or window.
        """
        self.statistics.restore(state)
