"""The texts of a chart: where they stand, and their pixels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from PIL import Image, ImageDraw

from pixelis.envs.pixel.chart_read.scene import THEMES, ChartScene
from pixelis.envs.pixel.drawing.fonts import line_font
from pixelis.envs.pixel.tools.ocr_truth import TextItem

SWATCH = 20
"""Side of a legend's colour field, native pixels."""

TITLE_HEIGHT = 52
_TITLE_ROW, _LEGEND_ROW = 86, 44  # from the picture's top; above the field
TICK = 8
"""Length of a tick's mark, native pixels."""

_GAP = 8  # from a tick's mark to its label
_BELOW = 24  # from the field to the middle of a category's name
_OVERSAMPLING = 3


@dataclass(frozen=True)
class PlacedText:
    """A line of text in a chart.

    Attributes:
        text: the string.
        left: column of its start, native pixels.
        row: the middle of its digits, native pixels from the top; between two pixels.
        width: of the line, native pixels.
        height: line height (ascent + descent), native pixels.
    """

    text: str
    left: int
    row: int
    width: int
    height: int


def tick_texts(scene: ChartScene) -> list[PlacedText]:
    """Return the labels of the value axis, from its foot up; the middle of each is at its tick's height."""
    end = scene.frame[0] - TICK - _GAP
    return [
        _placed(scene, text, end, row, 1.0) for text, row in zip(scene.ticks, scene.tick_rows, strict=True)
    ]


def category_texts(scene: ChartScene) -> list[PlacedText]:
    """Return the names of the categories, from the left."""
    columns = (scene.frame[0] + round((i + 0.5) * scene.slot) for i in range(len(scene.categories)))
    row = scene.frame[3] + _BELOW
    return [
        _placed(scene, text, column, row, 0.5) for text, column in zip(scene.categories, columns, strict=True)
    ]


def legend_places(scene: ChartScene) -> list[tuple[int, int]]:
    """Return the upper left corner of each series' colour field."""
    step = (scene.frame[2] - scene.frame[0]) // max(6, len(scene.series))
    row = scene.frame[1] - _LEGEND_ROW - SWATCH // 2
    return [(scene.frame[0] + index * step, row) for index in range(len(scene.series))]


def all_texts(scene: ChartScene) -> Iterator[PlacedText]:
    """Yield every text of a chart."""
    title = text_width(scene.font, TITLE_HEIGHT, scene.title)
    yield PlacedText(scene.title, scene.frame[0], _TITLE_ROW, title, TITLE_HEIGHT)
    if scene.axis.log:
        yield _placed(scene, "log scale", scene.frame[2], _TITLE_ROW, 1.0)
    for (left, top), series in zip(legend_places(scene), scene.series, strict=True):
        yield _placed(scene, series.name, left + SWATCH + 10, top + SWATCH // 2, 0.0)
    yield from tick_texts(scene)
    yield from category_texts(scene)


def chart_texts(scene: ChartScene, view_box: Sequence[float], view_size: int) -> list[TextItem]:
    """Return where the texts of a chart are in a view.

    Args:
        scene: the chart.
        view_box: ``[x0, y0, x1, y1]`` of the square view, 0-1 of the scene.
        view_size: side of the view in pixels.
    """
    scale = view_size / ((view_box[2] - view_box[0]) * scene.size)
    left, top = view_box[0] * scene.size, view_box[1] * scene.size
    items = []
    for text in all_texts(scene):
        x0, x1 = ((x - left) * scale for x in (text.left, text.left + text.width))
        y0, y1 = ((text.row + side * text.height / 2 - top) * scale for side in (-1, 1))
        items.append(TextItem(text.text, ((x0, y0), (x1, y0), (x1, y1), (x0, y1)), text.height * scale))
    return items


def write(image: Image.Image, scene: ChartScene) -> None:
    """Draw all texts of a chart."""
    ink = THEMES[scene.theme].ink
    for text in all_texts(scene):
        mask = _mask(scene.font, text.height, text.text)
        image.paste(ink, (text.left, text.row - mask.height // 2), mask)


def _placed(scene: ChartScene, text: str, column: int, row: int, share: float) -> PlacedText:
    """A text whose width lies by ``share`` to the left of a column."""
    width = text_width(scene.font, scene.text_height, text)
    return PlacedText(text, column - round(share * width), row, width, scene.text_height)


@lru_cache(maxsize=1024)
def text_width(font: str, line_height: int, text: str) -> int:
    """Return the width of a line, native pixels."""
    return -(-round(line_font(font, line_height * _OVERSAMPLING).getlength(text)) // _OVERSAMPLING)


@lru_cache(maxsize=1024)
def _mask(font: str, line_height: int, text: str) -> Image.Image:
    """How far a line covers each native pixel (mode L); its digits' middle is the middle of the mask."""
    outlines = line_font(font, line_height * _OVERSAMPLING)
    height = 2 * _OVERSAMPLING * line_height  # even in native pixels, with room for what hangs below
    mask = Image.new("L", (text_width(font, line_height, text) * _OVERSAMPLING + 2 * _OVERSAMPLING, height))
    _, top, _, bottom = outlines.getbbox("0", anchor="ls")
    baseline = (height - round(top + bottom)) // 2
    ImageDraw.Draw(mask).text((0, baseline), text, fill=255, font=outlines, anchor="ls")
    return mask.reduce(_OVERSAMPLING)
