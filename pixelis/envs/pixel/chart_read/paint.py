"""Turn a chart into pixels: the same bytes on every machine, and quickly."""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np
from PIL import Image, ImageDraw

from pixelis.envs.pixel.chart_read.scene import HALO, MARK_RADIUS, THEMES, ChartScene
from pixelis.envs.pixel.chart_read.text import SWATCH, TICK, legend_places, write
from pixelis.envs.pixel.drawing.noise import add_noise
from pixelis.envs.pixel.drawing.shapes import SUBPIXELS, coverage
from pixelis.envs.pixel.tools.labels import Labels, Silhouette, label_view, silhouette
from pixelis.envs.pixel.tools.palette import PALETTE
from pixelis.envs.pixel.tools.view import Box

_LINE_WIDTH = 4  # native pixels
_OVERSAMPLING = 2  # of lines
_DISC_CORNERS = 48


@lru_cache(maxsize=12)
def paint_chart(scene: ChartScene) -> tuple[Image.Image, tuple[Silhouette, ...]]:
    """The picture of a chart, and what covers it: see `chart_labels`.

    The last twelve are kept; the same image is handed to every caller: read it, never draw on it.
    """
    image = Image.new("RGB", (scene.size, scene.size), THEMES[scene.theme].paper)
    _draw_rules(image, scene)
    data = _draw_bars(image, scene) if scene.kind == "bars" else _draw_lines(image, scene)
    _draw_axes(image, scene)
    swatches = [
        _block(image, (left, top, left + SWATCH, top + SWATCH), series.colour)
        for (left, top), series in zip(legend_places(scene), scene.series, strict=True)
    ]
    write(image, scene)
    return add_noise(image, scene.noise, scene.seed) if scene.noise else image, (*data, *swatches)


def chart_labels(scene: ChartScene, view_box: Box, view_size: int) -> Labels:
    """Which object every pixel of a view shows: bars, or pieces of lines and then marks, and last the legend.

    A piece of a line runs from mark to mark, up to the clear rims around both.
    """
    pieces = _line_pieces(scene) if scene.kind == "lines" else []
    return label_view([*pieces, *paint_chart(scene)[1]], scene.size, view_box, view_size)


def _draw_rules(image: Image.Image, scene: ChartScene) -> None:
    """Lines across the field at the ticks, in charts that have them."""
    if scene.grid:
        draw, (left, _, right, _) = ImageDraw.Draw(image), scene.frame
        for row in scene.tick_rows:
            draw.rectangle((left, row - 1, right - 1, row), fill=THEMES[scene.theme].rule)


def _draw_axes(image: Image.Image, scene: ChartScene) -> None:
    """The two axes, two pixels thick outside the field, and the marks of the ticks."""
    draw, ink, (left, top, right, bottom) = ImageDraw.Draw(image), THEMES[scene.theme].ink, scene.frame
    draw.rectangle((left - 2, top, left - 1, bottom + 1), fill=ink)
    draw.rectangle((left - 2, bottom, right - 1, bottom + 1), fill=ink)
    for row in scene.tick_rows:
        draw.rectangle((left - TICK, row - 1, left - 1, row), fill=ink)


def _block(image: Image.Image, box: tuple[int, int, int, int], colour: str) -> Silhouette:
    left, top, right, bottom = box
    image.paste(PALETTE[colour], box)
    return Silhouette(left, top, np.ones((bottom - top, right - left), bool))


def _draw_bars(image: Image.Image, scene: ChartScene) -> list[Silhouette]:
    """Paint the bars, which have whole pixels; return them series by series."""
    return [
        _block(image, scene.bar(index, category), series.colour)
        for index, series in enumerate(scene.series)
        for category in range(len(scene.categories))
    ]


def _draw_lines(image: Image.Image, scene: ChartScene) -> list[Silhouette]:
    """Paint all lines, then the marks with a clear rim; return the marks, series by series."""
    left, top, right, bottom = scene.frame
    field = image.crop(scene.frame).resize(
        ((right - left) * _OVERSAMPLING, (bottom - top) * _OVERSAMPLING), Image.Resampling.NEAREST
    )
    draw = ImageDraw.Draw(field)
    for index, series in enumerate(scene.series):
        points = [_inside(scene, index, category) for category in range(len(scene.categories))]
        draw.line(points, fill=PALETTE[series.colour], width=_LINE_WIDTH * _OVERSAMPLING)
    image.paste(field.reduce(_OVERSAMPLING), (left, top))
    places = list(itertools.product(range(len(scene.series)), range(len(scene.categories))))
    for index, category in places:
        _mark(image, scene, (index, category), HALO)
    return [_mark(image, scene, place, 0) for place in places]


def _inside(scene: ChartScene, series: int, category: int) -> tuple[int, int]:
    column, row = scene.point(series, category)
    return (column - scene.frame[0]) * _OVERSAMPLING, (row - scene.frame[1]) * _OVERSAMPLING


def _mark(image: Image.Image, scene: ChartScene, place: tuple[int, int], rim: int) -> Silhouette:
    """Paint a mark, or with a rim the clear paper that parts it from its line."""
    series = scene.series[place[0]]
    column, row = scene.point(*place)
    mask, left, top = coverage(_outline(series.mark, rim) + np.array((column, row)) * SUBPIXELS)
    fill = THEMES[scene.theme].paper if rim else PALETTE[series.colour]
    image.paste(fill, (left, top), mask)
    return silhouette(mask, left, top)


@lru_cache(maxsize=16)
def _outline(mark: str, rim: int) -> np.ndarray:
    """Corners ``[N, 2]`` of a mark around the origin, in steps of 1 / `SUBPIXELS` native pixels."""
    corners, radius, turn = {
        "disc": (_DISC_CORNERS, MARK_RADIUS, 0.0),
        "square": (4, (MARK_RADIUS - 1) * 2**0.5, 0.5),
        "diamond": (4, MARK_RADIUS + 3, 0.0),
    }[mark]
    reach = radius + rim * (1.0 if mark == "disc" else 2**0.5)
    angles = (np.arange(corners) + turn) * (2 * np.pi / corners)
    outline = np.round(np.stack([np.cos(angles), np.sin(angles)], 1) * reach * SUBPIXELS)
    # The far outline's pixels are painted too: one step less there keeps the middle where it is.
    return outline.astype(np.int64) - (outline > 0)


def _line_pieces(scene: ChartScene) -> list[Silhouette]:
    """What the lines cover between their marks."""
    pieces, width = [], _LINE_WIDTH
    for index, category in itertools.product(range(len(scene.series)), range(len(scene.categories) - 1)):
        ends = [scene.point(index, category), scene.point(index, category + 1)]
        left, top = ends[0][0], min(row for _, row in ends) - width
        mask = Image.new("1", (ends[1][0] - left, abs(ends[0][1] - ends[1][1]) + 2 * width))
        draw = ImageDraw.Draw(mask)
        here = [(column - left, row - top) for column, row in ends]
        draw.line(here, fill=1, width=width)
        reach = MARK_RADIUS + HALO
        for column, row in here:
            draw.ellipse((column - reach, row - reach, column + reach - 1, row + reach - 1), fill=0)
        pieces.append(Silhouette(left, top, np.asarray(mask)))
    return pieces
