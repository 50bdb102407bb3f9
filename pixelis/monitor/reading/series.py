"""Metrics of a run in bounded memory: buckets of steps, twice as wide whenever there are too many.

A bucket holds count, mean, variance, smallest and largest value of each metric, and where its steps end
on each of the axes. A run of 4,000 steps has a bucket for each step; one of 100,000 has them of 32 steps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Axis = Literal["step", "episodes", "minutes", "tokens"]
AXES: tuple[Axis, ...] = ("step", "episodes", "minutes", "tokens")
CAPACITY = 4096
MOST_METRICS = 1_000
"""Names that are kept; a run of ours has about 100, a broken file could have any number."""
MOST_POINTS = 300
"""Of a line that is drawn: more than this a screen does not show."""
_Z95 = 1.959963984540054
_ROUNDING = 1e-10  # of the mean's square: a variance below it is what float64 leaves of a constant


@dataclass(frozen=True)
class Line:
    """A metric as it is drawn.

    Attributes:
        x: where, float64 [n], ascending as far as the run's axis does.
        raw: the means of what falls between two points, float64 [n].
        low: their smallest values, float64 [n].
        high: their largest values, float64 [n].
        mean: moving mean, float64 [n]; of a metric that few steps tell, as it was when one told it last.
        band: half width of its 95 % interval (normal, of the steps in the window), float64 [n].
    """

    x: np.ndarray
    raw: np.ndarray
    low: np.ndarray
    high: np.ndarray
    mean: np.ndarray
    band: np.ndarray


class _Column:
    """Count, sum, sum of squares, smallest and largest value of a metric in each bucket."""

    def __init__(self, capacity: int) -> None:
        self.count = np.zeros(capacity, np.float32)
        self.sum = np.zeros(capacity)
        self.squares = np.zeros(capacity)
        self.low = np.full(capacity, np.inf, np.float32)
        self.high = np.full(capacity, -np.inf, np.float32)

    def halve(self) -> None:
        """Merge neighbours."""
        for array in (self.count, self.sum, self.squares):
            _fold(array, np.add, 0)
        _fold(self.low, np.minimum, np.inf)
        _fold(self.high, np.maximum, -np.inf)


class RunSeries:
    """Every metric of a run, see the module.

    Args:
        capacity: most buckets; even.
        whole: whether every row will be given; without, nothing is summed over rows, so that the axes of
            episodes and tokens stay empty.

    Attributes:
        rows: how many were taken in.
        last: the newest row as it was read.
        stride: rows in a bucket.
        left_out: whether there were more than `MOST_METRICS` names.
        odd: rows in which a metric was something else than a finite number, of each that ever was a number.
    """

    def __init__(self, capacity: int = CAPACITY, whole: bool = True) -> None:
        self.capacity, self.whole = capacity, whole
        self.rows, self.stride = 0, 1
        self.last: Mapping[str, Any] = {}
        self.left_out = False
        self.odd: dict[str, int] = {}
        self._columns: dict[str, _Column] = {}
        self._ends = {axis: np.full(capacity, np.nan) for axis in AXES}
        self._totals = {"episodes": 0.0, "tokens": 0.0}

    @property
    def names(self) -> list[str]:
        """Names of the metrics so far, in the order in which they came."""
        return list(self._columns)

    @property
    def buckets(self) -> int:
        """Buckets that hold something."""
        return -(-self.rows // self.stride)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        one = self.capacity * (3 * 4 + 2 * 8)
        return len(self._columns) * one + len(self._ends) * self.capacity * 8

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Take in rows, in order; what is no finite number is left out of its metric."""
        done = 0
        while done < len(rows):
            if self.rows >= self.capacity * self.stride:
                self._halve()
            room = self.capacity * self.stride - self.rows
            part = rows[done : done + room]
            self._take(part)
            done += len(part)
        if rows:
            self.last = rows[-1]

    def ends(self, axis: Axis) -> np.ndarray:
        """Return where each bucket ends on an axis, float64 [buckets]; NaN where the run does not say."""
        return self._ends[axis][: self.buckets]

    def means(self, name: str) -> np.ndarray:
        """Return a metric's mean in each bucket, float64 [buckets]; NaN where it was not measured."""
        column = self._columns.get(name)
        if column is None:
            return np.full(self.buckets, np.nan)
        return _divided(column.sum[: self.buckets], column.count[: self.buckets])

    def line(self, name: str, axis: Axis = "step", window: int = 10, absent_is_zero: bool = False) -> Line:
        """Return a metric for drawing, at `MOST_POINTS` points at the most.

        Args:
            name: of the metric.
            axis: what it is drawn against.
            window: steps of the moving mean; rounded up to whole buckets.
            absent_is_zero: whether a step that did not tell the metric counts as 0, as for the share of a
                tool that nobody called; lines of one run then have the same x.
        """
        column = self._columns.get(name)
        if column is None or not self.buckets:
            return Line(*(np.zeros(0) for _ in range(6)))
        with np.errstate(over="ignore", invalid="ignore"):  # of values near the largest there are
            return self._line(column, axis, window, absent_is_zero)

    def _line(self, column: _Column, axis: Axis, window: int, absent_is_zero: bool) -> Line:
        buckets = self.buckets
        count, total = column.count[:buckets].astype(np.float64), column.sum[:buckets]
        if absent_is_zero:
            count = np.minimum(self.rows - np.arange(buckets) * self.stride, self.stride).astype(np.float64)
        width = max(1, -(-window // self.stride))
        counts, sums = _moving(count, width), _moving(total, width)
        mean = _divided(sums, counts)
        variance = _divided(_moving(column.squares[:buckets], width), counts) - mean**2
        variance[variance < _ROUNDING * mean**2] = 0.0
        sample = _divided(variance * counts, np.maximum(counts - 1, 0))
        band = _Z95 * np.sqrt(_divided(sample, counts))
        starts = np.arange(0, buckets, max(1, -(-buckets // MOST_POINTS)))
        last = np.append(starts[1:], buckets) - 1
        raw = _divided(np.add.reduceat(total, starts), np.add.reduceat(count, starts))
        low = np.minimum.reduceat(column.low[:buckets], starts)
        high = np.maximum.reduceat(column.high[:buckets], starts)
        known = ~np.isnan(raw) & ~np.isnan(self._ends[axis][last])
        # the window of the last bucket may hold no value where that of an earlier one does
        at = np.maximum.reduceat(np.where(counts > 0, np.arange(buckets), 0), starts)
        parts = (self._ends[axis][last], raw, low, high, mean[at], band[at])
        return Line(*(np.asarray(part, np.float64)[known] for part in parts))

    def place_of(self, step: float, axis: Axis) -> float:
        """Return where a step lies on an axis (where its bucket ends), NaN where the run does not say."""
        if axis == "step":
            return step
        found = np.flatnonzero(self.ends("step") >= step)
        return float(self.ends(axis)[found[0]]) if len(found) else math.nan

    def best(self, name: str) -> float | None:
        """Return the largest value of a metric so far."""
        column = self._columns.get(name)
        found = float(column.high.max()) if column is not None else -np.inf
        return found if np.isfinite(found) else None

    # ------------------------------------------------------------------ private

    def _take(self, rows: Sequence[Mapping[str, Any]]) -> None:
        names = dict.fromkeys(name for row in rows for name in row if isinstance(name, str))
        first, places = self.rows // self.stride, (self.rows + np.arange(len(rows))) // self.stride
        starts = np.flatnonzero(np.diff(places, prepend=-1))
        at = places[starts]
        for name in names:
            values = _numbers([row.get(name) for row in rows])
            with np.errstate(over="ignore"):  # squares of what only a broken file holds
                self._fill(name, values, starts, at)
            unknown = [rows[place].get(name) for place in np.flatnonzero(~np.isfinite(values)).tolist()]
            # a text or a list that never was a number is no metric
            kinds = object if name in self._columns else float
            odd = sum(value is not None and isinstance(value, kinds) for value in unknown)
            if odd and (name in self.odd or len(self.odd) < MOST_METRICS):
                self.odd[name] = self.odd.get(name, 0) + odd
        self._note_ends(rows, places, first)
        self.rows += len(rows)

    def _fill(self, name: str, values: np.ndarray, starts: np.ndarray, at: np.ndarray) -> None:
        known = np.isfinite(values)
        if name not in self._columns:
            if not known.any():
                return
            if len(self._columns) >= MOST_METRICS:
                self.left_out = True
                return
            self._columns[name] = _Column(self.capacity)
        column, zeroed = self._columns[name], np.where(known, values, 0.0)
        column.count[at] += np.add.reduceat(known.astype(np.float32), starts)
        column.sum[at] += np.add.reduceat(zeroed, starts)
        column.squares[at] += np.add.reduceat(zeroed**2, starts)
        low = np.minimum.reduceat(np.where(known, values, np.inf), starts)
        high = np.maximum.reduceat(np.where(known, values, -np.inf), starts)
        column.low[at] = np.minimum(column.low[at], low)
        column.high[at] = np.maximum(column.high[at], high)

    def _note_ends(self, rows: Sequence[Mapping[str, Any]], places: np.ndarray, first: int) -> None:
        found = {axis: _numbers([row.get(name) for row in rows]) for axis, name in _SOURCES.items()}
        for axis in ("episodes", "tokens"):  # of a step each; an agent may also say the sum itself
            added = np.nancumsum(found[axis]) + self._totals[axis]
            self._totals[axis] = float(added[-1])
            found[axis] = added if self._totals[axis] and self.whole else np.full(len(rows), np.nan)
        totals = _numbers([row.get("episodes/total") for row in rows])
        found["episodes"] = np.where(np.isnan(totals), found["episodes"], totals)
        found["minutes"] = found["minutes"] / 60.0
        for axis, values in found.items():
            self._ends[axis][places] = values  # the last of equal places stays

    def _halve(self) -> None:
        for column in self._columns.values():
            column.halve()
        for ends in self._ends.values():
            ends[: self.capacity // 2] = ends[1::2]
            ends[self.capacity // 2 :] = np.nan
        self.stride *= 2


_SOURCES: dict[Axis, str] = {
    "step": "step",
    "episodes": "episodes/count",
    "minutes": "time/elapsed",
    "tokens": "tokens/sampled",
}


def _numbers(values: Sequence[Any]) -> np.ndarray:
    """Return values as float64; NaN for what is no number or not finite."""
    try:
        found = np.array(values, np.float64)
    except (TypeError, ValueError, OverflowError):
        found = np.array([_number(value) for value in values])
    if found.ndim != 1:  # every row holds a list of one length there
        found = np.full(len(values), np.nan)
    found[~np.isfinite(found)] = np.nan
    return found


def _number(value: Any) -> float:
    try:
        return float(value) if isinstance(value, (int, float)) else np.nan
    except OverflowError:
        return np.nan


def _fold(array: np.ndarray, merge: np.ufunc, empty: float) -> None:
    half = len(array) // 2
    array[:half] = merge(array[::2], array[1::2])
    array[half:] = empty


def _moving(values: np.ndarray, width: int) -> np.ndarray:
    """Return the sum of each value and the ``width - 1`` before it.

    Of these values alone: one huge value in a running sum would leave its rounding for ever.
    """
    return np.convolve(values, np.ones(width))[: len(values)]


def _divided(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    return np.divide(top, bottom, out=np.full(len(top), np.nan), where=np.asarray(bottom) > 0)
