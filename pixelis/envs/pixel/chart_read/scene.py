"""Scenes of ChartRead: what a chart shows, and where its parts are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from pixelis.envs.data.scene_fields import flag, one_of, reading_scene, real, whole, word
from pixelis.envs.pixel.base.splits import SEEDS
from pixelis.envs.pixel.chart_read.axis import Axis, label_value
from pixelis.envs.pixel.drawing.fonts import FONTS
from pixelis.envs.pixel.tools.palette import BASE_COLOURS, RGB

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
class Series:
    """One row of numbers.

    Attributes:
        name: what the legend calls it.
        colour: a name of `BASE_COLOURS`, which no other series of the chart has.
        mark: one of `MARKS`; bars have none but carry the field.
        heights: of each category above the foot of the axis, native pixels.
    """

    name: str
    colour: str
    mark: str
    heights: tuple[int, ...]


@dataclass(frozen=True)
class ChartScene:
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

    size: int
    kind: str
    title: str
    frame: tuple[int, int, int, int]
    axis: Axis
    ticks: tuple[str, ...]
    grid: bool
    categories: tuple[str, ...]
    series: tuple[Series, ...]
    theme: str
    font: str
    text_height: int
    seed: int
    noise: int

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

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; `from_json` gives an equal scene back."""
        return {
            **{
                key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()
            },
            "series": [{**asdict(one), "heights": list(one.heights)} for one in self.series],
        }

    @classmethod
    def from_json(cls, data: Any) -> ChartScene:
        """The scene that `to_json` wrote.

        Raises:
            TaskError: a part is missing, of the wrong type or out of range.
        """
        with reading_scene(cls.__name__):
            size = whole(data["size"], 256, 4096)
            left, top, right, bottom = (whole(value, 0, size) for value in data["frame"])
            if right - left < 64 or bottom - top < 64:
                raise ValueError("a field of less than 64 pixels")
            axis = _axis_from_json(data["axis"])
            categories = tuple(word(text, 16) for text in _list(data["categories"], 1, MAX_CATEGORIES))
            rows = _list(data["series"], 1, MAX_SERIES)
            return cls(
                size=size,
                kind=one_of(data["kind"], KINDS),
                title=word(data["title"], 60),
                frame=(left, top, right, bottom),
                axis=axis,
                ticks=tuple(_tick(text, axis) for text in _list(data["ticks"], 2, MAX_TICKS)),
                grid=flag(data["grid"]),
                categories=categories,
                series=tuple(_series_from_json(row, len(categories), bottom - top) for row in rows),
                theme=one_of(data["theme"], tuple(THEMES)),
                font=one_of(data["font"], FONTS),
                text_height=whole(data["text_height"], 8, 32),
                seed=whole(data["seed"], 0, SEEDS - 1),
                noise=whole(data["noise"], 0, 64),
            )


def _list(values: Any, fewest: int, most: int) -> list[Any]:
    if not isinstance(values, list | tuple) or not fewest <= len(values) <= most:
        raise ValueError(f"{values!r:.40} where a list of {fewest} to {most} belongs")
    return list(values)


def _axis_from_json(data: Mapping[str, Any]) -> Axis:
    low, high = real(data["low"], 0, 1e9), real(data["high"], 1e-6, 1e9)
    log = flag(data["log"])
    if low >= high or (log and low <= 0):
        raise ValueError(f"an axis from {low:g} to {high:g}")
    return Axis(low, high, log)


def _tick(text: Any, axis: Axis) -> str:
    value = label_value(word(text, 8))
    if not math.isfinite(value) or not axis.low <= value <= axis.high:
        raise ValueError(f"a tick {text!r} that is not on the axis")
    return text


def _series_from_json(data: Mapping[str, Any], categories: int, height: int) -> Series:
    heights = tuple(whole(value, 1, height) for value in _list(data["heights"], categories, categories))
    colour, mark = one_of(data["colour"], BASE_COLOURS), one_of(data["mark"], MARKS)
    return Series(word(data["name"], 16), colour, mark, heights)
