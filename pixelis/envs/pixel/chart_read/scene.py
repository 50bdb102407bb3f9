"""Scenes of ChartRead: what a chart shows, and where its parts are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

from annotated_types import Interval, Len

from pixelis.envs.pixel.chart_read.axis import Axis, label_value
from pixelis.envs.pixel.drawing.fonts import Font
from pixelis.envs.pixel.drawing.noise import Noise, Seed
from pixelis.envs.pixel.tools.palette import RGB, BaseColour
from pixelis.envs.schema import Bool, Int, OneOf, ShortText, Stored, check_count, check_range

KINDS: tuple[str, ...] = ("bars", "lines")
MARKS: tuple[str, ...] = ("disc", "square", "diamond")
"""What stands at the points of a line."""

MARK_RADIUS = 10
"""Of a mark, native pixels: half a disc's width."""

HALO = 3
"""Clear rim around a mark that parts it from its line, native pixels."""


@dataclass(frozen=True)
class Theme:
    """The colours of a chart: its paper, what is written on it, and the lines across it."""

    paper: RGB
    ink: RGB
    rule: RGB


THEMES: dict[str, Theme] = {
    "white": Theme((252, 252, 250), (40, 42, 48), (222, 222, 220)),
    "cream": Theme((248, 243, 230), (56, 46, 38), (224, 216, 200)),
    "mist": Theme((234, 239, 244), (30, 40, 56), (206, 213, 221)),
    "night": Theme((30, 33, 40), (226, 228, 232), (58, 62, 72)),
}

MAX_SERIES, MAX_CATEGORIES, MAX_TICKS = 8, 16, 16


@dataclass(frozen=True)
class Series(Stored):
    """One row of numbers.

    Attributes:
        name: what the legend calls it.
        colour: a name of `BASE_COLOURS`, which no other series of the chart has.
        mark: one of `MARKS`; bars have none but carry the field.
        heights: of each category above the foot of the axis, native pixels.
    """

    name: Annotated[str, ShortText(16)]
    colour: BaseColour
    mark: Annotated[str, OneOf(MARKS)]
    heights: tuple[Int, ...]


@dataclass(frozen=True)
class ChartScene(Stored):
    """A chart: everything the painter needs, and nothing random.

    Attributes:
        size: side of the square picture, native pixels.
        kind: one of `KINDS`.
        title: what is shown, with its unit.
        frame: left, top, right, bottom of the field with the bars or lines; the axis is as high as the field.
        axis: the value axis.
        ticks: its labels, from the foot up; each stands at the height of the value it says.
        grid: whether lines run across the field at the ticks.
        categories: what is written below the field.
        series: the rows of numbers.
        theme: a name of `THEMES`.
        font: file name of a font in `FONTS`.
        text_height: line height of all texts but the title, native pixels.
        seed: of the noise.
        noise: amplitude of the pixel noise, grey levels (0: none).
    """

    size: Annotated[Int, Interval(ge=256, le=4096)]
    kind: Annotated[str, OneOf(KINDS)]
    title: Annotated[str, ShortText(60)]
    frame: tuple[Int, Int, Int, Int]
    axis: Axis
    ticks: Annotated[tuple[Annotated[str, ShortText(8)], ...], Len(2, MAX_TICKS)]
    grid: Bool
    categories: Annotated[tuple[Annotated[str, ShortText(16)], ...], Len(1, MAX_CATEGORIES)]
    series: Annotated[tuple[Series, ...], Len(1, MAX_SERIES)]
    theme: Annotated[str, OneOf(THEMES)]
    font: Font
    text_height: Annotated[Int, Interval(ge=8, le=32)]
    seed: Seed
    noise: Noise

    def value(self, series: int, category: int) -> float:
        """Return the value that a bar or mark shows."""
        return self.axis.value(self.series[series].heights[category] / self.height)

    @property
    def height(self) -> int:
        """Height of the field, native pixels."""
        return self.frame[3] - self.frame[1]

    @property
    def slot(self) -> float:
        """Width of the field that a category has, native pixels."""
        return (self.frame[2] - self.frame[0]) / len(self.categories)

    @cached_property
    def tick_rows(self) -> tuple[int, ...]:
        """Row of each tick, pixels from the top of the picture; a row is the upper edge of its pixels."""
        shares = (self.axis.share(label_value(label)) for label in self.ticks)
        return tuple(self.frame[3] - round(share * self.height) for share in shares)

    def bar(self, series: int, category: int) -> tuple[int, int, int, int]:
        """Left, top, right, bottom of a bar, native pixels, half open."""
        width = max(4, int(self.slot * 0.86 / len(self.series)))
        start = self.frame[0] + round((category + 0.5) * self.slot) - width * len(self.series) // 2
        gap = 2 if len(self.series) > 1 else 0
        left = start + width * series
        top = self.frame[3] - self.series[series].heights[category]
        return left, top, left + width - gap, self.frame[3]

    def point(self, series: int, category: int) -> tuple[int, int]:
        """Column and row of a mark's middle, pixels from the top left; between two pixels."""
        column = self.frame[0] + round((category + 0.5) * self.slot)
        return column, self.frame[3] - self.series[series].heights[category]

    def check(self) -> None:
        """The field is in the picture, the ticks are on the axis, and bars and points are in the field."""
        left, top, right, bottom = self.frame
        check_range(self.frame, 0, self.size, "the frame")
        if right - left < 64 or bottom - top < 64:
            raise ValueError("a field of less than 64 pixels")
        low, high = self.axis.low, self.axis.high
        if low >= high or (self.axis.log and low <= 0):
            raise ValueError(f"an axis from {low:g} to {high:g}")
        for text in self.ticks:
            value = label_value(text)
            if not math.isfinite(value) or not low <= value <= high:
                raise ValueError(f"a tick {text!r} that is not on the axis")
        for one in self.series:
            check_count(one.heights, len(self.categories), "heights of a series")
            check_range(one.heights, 1, bottom - top, "the heights of a series")
