"""Draw charts of a difficulty and a split, and what is asked about them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pixelis.envs.pixel.base.splits import sample_seed
from pixelis.envs.pixel.chart_read.axis import VALUES, axis_through, sample_ticks
from pixelis.envs.pixel.chart_read.scene import HALO, KINDS, MARK_RADIUS, MARKS, THEMES, ChartScene, Series
from pixelis.envs.pixel.drawing.fonts import FONTS
from pixelis.envs.pixel.tools.palette import BASE_COLOURS

SCENE_SIZE = 1536

QUANTITIES: tuple[tuple[str, str], ...] = (
    *(("Output", "kWh"), ("Harvest", "tonnes"), ("Sales", "USD"), ("Traffic", "GB")),
    *(("Rainfall", "mm"), ("Distance", "km"), ("Weight", "kg"), ("Volume", "litres")),
)
"""What charts show, and its unit; neither tells how large the numbers are."""

CATEGORIES: tuple[tuple[str, ...], ...] = (
    ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
    (
        *("Oslo", "Lima", "Cairo", "Delhi", "Turin", "Quito", "Hanoi"),
        *("Dakar", "Perth", "Malmo", "Porto", "Kyoto"),
    ),
    (
        *("apples", "plums", "pears", "figs", "dates", "limes", "melons"),
        *("grapes", "mangos", "olives", "papayas", "kiwis"),
    ),
)
"""What is written below the field; the first ones of a row are taken, so weeks begin with Monday."""

NAMES: tuple[str, ...] = (
    *("North", "Delta", "Orion", "Vega", "Atlas", "Ember", "Lotus", "Cedar"),
    *("Raven", "Titan", "Comet", "Bison"),
)
"""What series are called in legends."""


@dataclass(frozen=True)
class ChartLevel:
    """How hard the charts of one difficulty are.

    Attributes:
        series: how many.
        categories: how many.
        kinds: of `KINDS`, one is drawn.
        axes: of `AXIS_KINDS`, one is drawn.
        labels: how many ticks are left; None for all.
        grid: whether lines run across the field at the ticks.
        by_name: whether the question names the series as the legend does, not by its colour.
        noise: amplitude of the pixel noise, grey levels.
    """

    series: int
    categories: int
    kinds: tuple[str, ...]
    axes: tuple[str, ...]
    labels: int | None
    grid: bool
    by_name: bool
    noise: int


LEVELS: tuple[ChartLevel, ...] = (
    ChartLevel(1, 5, ("bars",), ("zero",), None, True, False, 0),
    ChartLevel(2, 6, KINDS, ("zero",), None, True, False, 0),
    ChartLevel(3, 8, KINDS, ("zero", "offset"), 5, False, True, 2),
    ChartLevel(4, 10, KINDS, ("offset", "log"), 4, False, True, 2),
    ChartLevel(6, 12, KINDS, ("offset", "log"), 3, False, True, 3),
)

ASKED = {"zero": (0.28, 0.95), "offset": (0.08, 0.95), "log": (0.25, 0.95)}
"""Kind of axis -> how high what is asked for stands, share of the axis: a pixel there is below 0.4 %."""

_OTHERS = (0.08, 0.95)
_CLEARANCE = 2 * (MARK_RADIUS + 3 + HALO) + 2  # least distance of two marks of a category, native pixels


def sample_chart(rng: np.random.Generator, difficulty: int, split: str) -> tuple[ChartScene, int, int]:
    """Draw a chart and return it with the index of the series and of the category that is asked for.

    A pure function of the generator's state. The value asked for and how high it stands are drawn apart, and
    the axis is laid through them, so a picture whose labels cannot be read tells nothing about the value.

    Args:
        rng: the only source of randomness.
        difficulty: index into `LEVELS`.
        split: "train" or "test"; the scene's seed belongs to it.
    """
    level, seed = LEVELS[difficulty], sample_seed(rng, split)
    kind, axis_kind = _any(rng, level.kinds), _any(rng, level.axes)
    frame = _frame(rng)
    height = frame[3] - frame[1]
    asked = int(rng.integers(level.series)), int(rng.integers(level.categories))
    low, high = ASKED[axis_kind]
    top = int(rng.integers(math.ceil(low * height), math.floor(high * height) + 1))
    value = float(10 ** rng.uniform(*np.log10(VALUES)))
    axis = axis_through(rng, axis_kind, value, top / height)
    ticks = sample_ticks(rng, axis, axis_kind, value, level.labels)
    heights = _heights(rng, level, height, (*asked, top), _CLEARANCE if kind == "lines" else 0)
    names, colours = _some(rng, NAMES, level.series), _some(rng, BASE_COLOURS, level.series)
    long_enough = [row for row in CATEGORIES if len(row) >= level.categories]
    quantity, unit = QUANTITIES[int(rng.integers(len(QUANTITIES)))]
    scene = ChartScene(
        size=SCENE_SIZE,
        kind=kind,
        title=f"{quantity} in {unit}",
        frame=frame,
        axis=axis,
        ticks=ticks,
        grid=level.grid,
        categories=long_enough[int(rng.integers(len(long_enough)))][: level.categories],
        series=tuple(
            Series(name, colour, _any(rng, MARKS), tuple(row))
            for name, colour, row in zip(names, colours, heights, strict=True)
        ),
        theme=_any(rng, tuple(THEMES)),
        font=_any(rng, FONTS),
        text_height=int(rng.integers(14, 17)),
        seed=seed,
        noise=level.noise,
    )
    return scene, *asked


def _any(rng: np.random.Generator, words: tuple[str, ...]) -> str:
    return words[int(rng.integers(len(words)))]


def _some(rng: np.random.Generator, words: tuple[str, ...], count: int) -> list[str]:
    return [words[index] for index in rng.choice(len(words), count, replace=False)]


def _frame(rng: np.random.Generator) -> tuple[int, int, int, int]:
    left, right, top, bottom = rng.integers((130, 40, 210, 110), (200, 100, 260, 170)).tolist()
    return left, top, SCENE_SIZE - right, SCENE_SIZE - bottom


def _heights(
    rng: np.random.Generator, level: ChartLevel, height: int, asked: tuple[int, int, int], clearance: int
) -> list[list[int]]:
    """Heights of every series and category: each series stays near a height of its own.

    Args:
        rng: the source of randomness.
        level: how many there are.
        height: of the field, native pixels.
        asked: series, category and height that is fixed.
        clearance: least distance of two series in a category, native pixels.
    """
    base = rng.uniform(*_OTHERS, size=level.series)
    base[asked[0]] = asked[2] / height
    columns: list[list[int]] = []
    while len(columns) < level.categories:
        shares = np.where(
            rng.random(level.series) < 0.7, 0.5 * base, 0.5 * rng.uniform(*_OTHERS, size=level.series)
        ) + 0.5 * rng.uniform(*_OTHERS, size=level.series)
        column = [round(float(share) * height) for share in shares]
        if len(columns) == asked[1]:
            column[asked[0]] = asked[2]
        if level.series == 1 or min(np.diff(sorted(column))) >= clearance:
            columns.append(column)
    return [list(row) for row in zip(*columns, strict=True)]
