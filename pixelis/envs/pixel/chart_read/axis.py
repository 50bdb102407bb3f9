"""The value axis of a chart: linear or logarithmic, and the labels at its ticks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Interval

from pixelis.envs.schema import Bool, Real, Stored

AXIS_KINDS: tuple[str, ...] = ("zero", "offset", "log")
"""Linear from zero, linear from somewhere else, logarithmic."""

VALUES = (1.0, 1000.0)
"""What is asked for is drawn from here, log-uniformly; axes reach further."""

KEEP_AWAY = 0.03
"""No tick is nearer to the value asked for, share of the value: the nearest label is never the answer."""

_LEAST_SPREAD = 0.55  # share of the axis that the labels left span, where that many ticks allow it
_STEPS = {"zero": (5.0, 8.0), "offset": (3.6, 4.6), "log": (4.0, 6.5)}  # ticks' steps in an axis
_FOOT = (0.3, 0.8)  # where an axis that does not start at zero starts, share of what it spans
_DECADES = (1.2, 1.8)  # what a logarithmic axis spans


@dataclass(frozen=True)
class Axis(Stored):
    """A value axis.

    Attributes:
        low: the value at its foot, 0 or more; above 0 when logarithmic.
        high: the value at its top.
        log: whether equal steps up the axis multiply the value by equal factors.
    """

    low: Annotated[Real, Interval(ge=0, le=1e9)]
    high: Annotated[Real, Interval(ge=1e-6, le=1e9)]
    log: Bool

    def value(self, share: float) -> float:
        """Return the value at a height, share of the axis."""
        if self.log:
            return self.low * (self.high / self.low) ** share
        return self.low + (self.high - self.low) * share

    def share(self, value: float) -> float:
        """Return the height of a value, share of the axis; a logarithmic axis has positive values only."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def tick_label(value: float) -> str:
    """Return a value in five characters: ``0.042``, ``4.170``, ``41.70``, ``417.0``, ``4.17k``, ``41.7k``.

    All labels have one length, so that how wide they are tells nothing about the scale.
    """
    for limit, form in ((9.9995, "{:.3f}"), (99.995, "{:.2f}"), (999.95, "{:.1f}")):
        if value < limit:
            return form.format(value)
    return f"{value / 1000:.{2 if value < 9995 else 1}f}k"


def label_value(text: str) -> float:
    """Return the value a label stands for.

    Raises:
        ValueError: it is no number, with or without ``k``.
    """
    return round(float(text[:-1]) * 1000, 6) if text.endswith("k") else float(text)


def axis_through(rng: np.random.Generator, kind: str, value: float, share: float) -> Axis:
    """Draw an axis on which a value stands at a height.

    Value and height come from outside, so how high something stands tells nothing about its value.

    Args:
        rng: the only source of randomness.
        kind: one of ``AXIS_KINDS``.
        value: above 0.
        share: of the axis, above 0.
    """
    if kind == "log":
        decades = float(rng.uniform(*_DECADES))
        low = value / 10 ** (decades * share)
        return Axis(low, low * 10**decades, True)
    foot = float(rng.uniform(*_FOOT)) if kind == "offset" else 0.0
    span = value / (foot + share)
    return Axis(foot * span, (foot + 1) * span, False)


def sample_ticks(
    rng: np.random.Generator, axis: Axis, kind: str, value: float, count: int | None
) -> tuple[str, ...]:
    """Draw the labels of an axis from its foot up, none of them near the value that is asked for.

    Steps are no round numbers: one who knows how many steps up a value is does not know the value.

    Args:
        rng: the only source of randomness.
        axis: drawn by ``axis_through`` for the kind and value.
        kind: one of ``AXIS_KINDS``.
        value: see ``KEEP_AWAY``.
        count: how many labels are left, at least 3; None for all.
    """
    while True:
        steps = float(rng.uniform(*_STEPS[kind]))
        start = float(rng.uniform(0.02, 0.9)) / steps
        drawn = _log_labels(axis, steps, start) if axis.log else _linear_labels(axis, steps)
        labels = [label for label in drawn if 0 <= axis.share(label_value(label)) <= 1]
        near = any(abs(label_value(label) - value) <= KEEP_AWAY * value for label in labels)
        if len(labels) >= 3 and len(set(labels)) == len(labels) and not near:
            return _some(rng, axis, labels, count)


def _linear_labels(axis: Axis, steps: float) -> list[str]:
    """Multiples of a step of three digits, two where the labels have no more."""
    size = (axis.high - axis.low) / steps
    digits = 10 ** (math.floor(math.log10(size)) - (1 if axis.high >= 1000 else 2))
    step = round(size / digits) * digits
    first, last = math.ceil(axis.low / step), math.floor(axis.high / step)
    return [tick_label(number * step) for number in range(first, last + 1)]


def _log_labels(axis: Axis, steps: float, start: float) -> list[str]:
    shares = [start + number / steps for number in range(math.ceil((1 - start) * steps))]
    return [tick_label(axis.value(share)) for share in shares]


def _some(rng: np.random.Generator, axis: Axis, labels: list[str], count: int | None) -> tuple[str, ...]:
    if count is None or len(labels) <= count:
        return tuple(labels)
    for _ in range(50):
        kept = [labels[index] for index in np.sort(rng.choice(len(labels), count, replace=False))]
        if axis.share(label_value(kept[-1])) - axis.share(label_value(kept[0])) >= _LEAST_SPREAD:
            return tuple(kept)
    return tuple(labels)
