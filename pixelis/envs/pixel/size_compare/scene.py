"""Scenes of SizeCompare: shapes of nearly equal areas on a table, some partly under a grey card."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Interval, MaxLen, MinLen

from pixelis.envs.pixel.base.splits import sample_seed
from pixelis.envs.pixel.drawing.noise import Noise, Seed
from pixelis.envs.pixel.drawing.shapes import (
    GROWTH,
    SHAPES,
    SUBPIXELS,
    Polygon,
    cover,
    cut,
    following,
    polygon_area,
    turned,
    unit,
    unit_shape,
)
from pixelis.envs.pixel.tools.palette import BASE_COLOURS, PALETTE, RGB, Colour
from pixelis.envs.schema import Int, OneOf, Stored, check_range

SCENE_SIZE = 1536
FILLS: tuple[str, ...] = ("flat", "gradient", "stripes", "speckles")

Corners = Annotated[tuple[tuple[Int, Int], ...], MaxLen(256)]
"""Corners of a polygon in order, x and y in steps of 1 / `SUBPIXELS` native pixels."""


@dataclass(frozen=True)
class SizeLevel:
    """How hard the scenes of one difficulty are.

    Attributes:
        shapes: how many.
        margin: how much larger the largest visible area is than the next, share of the latter.
        area: the largest visible area is at most this, native pixels.
        fills: how shapes may be filled, see `FILLS`.
        hidden: share of the shapes that a card partly hides.
        noise: amplitude of the pixel noise, grey levels.
    """

    shapes: int
    margin: float
    area: int
    fills: tuple[str, ...]
    hidden: float
    noise: int


LEVELS: tuple[SizeLevel, ...] = (
    SizeLevel(2, 0.30, 40_000, ("flat",), 0.0, 0),
    SizeLevel(3, 0.20, 36_000, ("flat", "gradient"), 0.0, 0),
    SizeLevel(4, 0.10, 32_000, ("flat", "gradient", "stripes"), 0.25, 2),
    SizeLevel(6, 0.05, 28_000, FILLS, 0.34, 3),
    SizeLevel(8, 0.02, 26_000, FILLS, 0.5, 3),
)

RANGE = 4  # the largest area differs from scene to scene by up to (1 + margin) to this power
_SPREAD = 0.3  # the smallest shape is at most this much smaller than the second largest
_STRETCH = 2.0  # longest ellipse or rectangle, length over width
_LEAST_FILL = 0.5  # share of its upright box that a shape's visible area fills; SEGMENT lists from 0.45 on
_CLEARANCE = 1.15  # how much larger the largest box is than the next
_DEPTHS = (0.12, 0.3)  # how much of a shape's length a card hides
_RIM = 14  # native pixels by which a card is larger than what it hides
_EDGE, _GAP = 60, 40  # least distance of shapes from the scene's edge and from each other, native pixels


@dataclass(frozen=True)
class Shape(Stored):
    """One shape.

    Attributes:
        colour: a name of `BASE_COLOURS`, which no other shape of the scene has.
        fill: one of `FILLS`.
        angle: of its gradient or stripes, degrees 0-179.
        corners: its outline.
        card: the card that lies on it, empty for none.
    """

    colour: Colour
    fill: Annotated[str, OneOf(FILLS)]
    angle: Annotated[Int, Interval(ge=0, le=179)]
    corners: Annotated[Corners, MinLen(3)]
    card: Corners

    @property
    def rgb(self) -> RGB:
        """The colour it is painted in."""
        return PALETTE[self.colour]


@dataclass(frozen=True)
class SizeScene(Stored):
    """A table with shapes: everything the painter needs, and nothing random.

    Attributes:
        size: side of the square picture, native pixels.
        shapes: none of which overlap.
        seed: of the table and the noise.
        noise: amplitude of the pixel noise, grey levels (0: none).
    """

    size: Annotated[Int, Interval(ge=64, le=4096)]
    shapes: tuple[Shape, ...]
    seed: Seed
    noise: Noise

    def check(self) -> None:
        """Outlines are in the picture, and cards are none or have an area."""
        for shape in self.shapes:
            numbers = (value for corner in (*shape.corners, *shape.card) for value in corner)
            check_range(numbers, 0, self.size * SUBPIXELS, "the corners of a shape")
            if len(shape.card) in (1, 2):
                raise ValueError("a card of fewer than three corners")


# ---------------------------------------------------------------------- drawing a scene by lot


@dataclass(frozen=True)
class _Outline:
    """A shape around the origin before it has a place, native pixels; ``reach`` holds shape and card."""

    polygon: Polygon
    card: Polygon
    box_area: float
    reach: float


def sample_size_scene(rng: np.random.Generator, difficulty: int, split: str) -> tuple[SizeScene, int]:
    """Draw a scene and return it with the index of the shape that shows the largest area.

    A pure function of the generator's state. Which shape is the largest is drawn first; then, independently,
    which one has the largest upright box, so that boxes do not tell areas. How large all of them are is drawn
    as well, so that one shape's area tells little of whether it is the largest.

    Args:
        rng: the only source of randomness.
        difficulty: index into `LEVELS`.
        split: "train" or "test"; the scene's seed belongs to it.
    """
    level = LEVELS[difficulty]
    seed = sample_seed(rng, split)
    winner, widest = int(rng.integers(level.shapes)), int(rng.integers(level.shapes))
    largest = level.area * (1 + level.margin) ** float(-RANGE * rng.random())
    second = largest / (1 + level.margin)
    areas = second / (1 + _SPREAD * rng.random(level.shapes))
    areas[(winner + 1 + int(rng.integers(level.shapes - 1))) % level.shapes] = second
    areas[winner] = largest
    places: list[tuple[int, int]] = []
    outlines: list[_Outline] = []
    while not places:  # a draw that finds no room starts again
        outlines = _outlines(rng, level, areas, widest)
        places = _place(rng, [outline.reach for outline in outlines])
    colours = rng.choice(len(BASE_COLOURS), level.shapes, replace=False)
    shapes = tuple(
        Shape(
            BASE_COLOURS[colour],
            level.fills[int(rng.integers(len(level.fills)))],
            int(rng.integers(180)),
            _grid(outline.polygon, place),
            _grid(outline.card, place),
        )
        for colour, outline, place in zip(colours, outlines, places, strict=True)
    )
    return SizeScene(SCENE_SIZE, shapes, seed, level.noise), winner


def _outlines(rng: np.random.Generator, level: SizeLevel, areas: np.ndarray, widest: int) -> list[_Outline]:
    """Outlines of the visible areas, of which the one at ``widest`` has clearly the largest box.

    Either it or its closest rival is drawn anew, and kept where that helps, until it has. Without the
    clearance, what a view rounds off at the tips would let the larger area win the close races.
    """
    hidden = rng.permutation(level.shapes) < round(level.hidden * level.shapes)
    found = [_outline(rng, float(area), bool(under)) for area, under in zip(areas, hidden, strict=True)]
    others = [index for index in range(level.shapes) if index != widest]
    while True:
        rival = max(others, key=lambda index: found[index].box_area)
        if found[widest].box_area >= _CLEARANCE * found[rival].box_area:
            return found
        index = (widest, rival)[int(rng.integers(2))]
        drawn = _outline(rng, float(areas[index]), bool(hidden[index]))
        if (drawn.box_area > found[index].box_area) == (index == widest):
            found[index] = drawn


def _outline(rng: np.random.Generator, area: float, hidden: bool) -> _Outline:
    """An outline that fills enough of its box for SEGMENT to list it: a gap in the list would be a hint."""
    while True:
        outline = _any_outline(rng, area, hidden)
        if area >= _LEAST_FILL * outline.box_area:
            return outline


def _any_outline(rng: np.random.Generator, area: float, hidden: bool) -> _Outline:
    kind = SHAPES[int(rng.integers(len(SHAPES)))]
    shape = turned(unit_shape(kind, float(rng.uniform(1.4, _STRETCH))), float(rng.uniform(0, 360)))
    direction, depth = float(rng.uniform(0, 360)), float(rng.uniform(*_DEPTHS)) if hidden else 0.0
    visible = cut(shape, direction, depth) if hidden else shape
    scale = _scale_to(area, visible, direction if hidden else None)
    polygon, seen = shape * scale, visible * scale
    card = cover(polygon, direction, depth, _RIM) if hidden else np.zeros((0, 2))
    reach = float(np.abs(np.concatenate([polygon, card])).max())
    return _Outline(polygon, card, float(np.ptp(seen, 0).prod()), reach)


def _scale_to(area: float, visible: Polygon, cut_off: float | None) -> float:
    """How many times larger a shape must be drawn to show an area.

    The painter's outlines are `GROWTH` native pixels further out than the corners say: of the shape where it
    is free, and of the card where it hides the shape. So s times as large it shows A s² + g P s pixels, with
    A its visible area and P the free part of its outline less the hidden edge, which lies furthest in the
    direction ``cut_off`` (degrees; ``None`` when nothing is hidden).
    """
    after = following(visible)
    edges = np.hypot(*(after - visible).T)
    free = float(edges.sum())
    if cut_off is not None:
        ahead = unit(cut_off)
        along = visible @ ahead
        limit = float(along.max()) - 1e-9
        free -= 2 * float(edges[(along >= limit) & (following(along) >= limit)].sum())
    half, plain = GROWTH * free / 2, polygon_area(visible)
    return (math.sqrt(half * half + plain * area) - half) / plain


def _place(rng: np.random.Generator, reaches: list[float]) -> list[tuple[int, int]]:
    """Centres at random free places; none where no room was found."""
    places: list[tuple[int, int]] = []
    for reach in reaches:
        low = math.ceil(reach) + _EDGE
        for _ in range(200):
            x, y = (int(value) for value in rng.integers(low, SCENE_SIZE - low + 1, 2))
            if all(
                max(abs(x - a), abs(y - b)) >= reach + other + _GAP
                for (a, b), other in zip(places, reaches, strict=False)
            ):
                places.append((x, y))
                break
        else:
            return []
    return places


def _grid(polygon: Polygon, place: tuple[int, int]) -> Corners:
    steps = np.round((polygon + place) * SUBPIXELS).astype(int)
    return tuple((int(x), int(y)) for x, y in steps)
