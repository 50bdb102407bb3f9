"""Turn a receipt into pixels: the same bytes on every machine, and quickly."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from PIL import Image, ImageDraw

from pixelis.envs.pixel.drawing.fonts import line_font
from pixelis.envs.pixel.drawing.noise import add_noise
from pixelis.envs.pixel.drawing.tabletop import paint_tabletop
from pixelis.envs.pixel.receipt_sum.scene import (
    GAP,
    HEAD,
    PAGE_WIDTH,
    ReceiptScene,
    Writing,
    amount_end,
    name_start,
    writings,
)
from pixelis.envs.pixel.tools.labels import Labels, Silhouette, label_view, silhouette
from pixelis.envs.pixel.tools.ocr_truth import TextItem
from pixelis.envs.pixel.tools.palette import PALETTE, RGB
from pixelis.envs.pixel.tools.view import Box

_PAPER: dict[str, RGB] = {"receipt": (250, 248, 242), "invoice": (252, 252, 252)}
_BAND: RGB = (243, 245, 248)  # behind every second line of an invoice
_RULE: RGB = (176, 176, 178)
_OVERSAMPLING = 3  # of pen strokes
_STROKE, _UNDERLINE = 3, 2  # widths of pen strokes, native pixels
_TOOTH = 6  # of a receipt's torn edges, native pixels


@lru_cache(maxsize=12)
def paint_receipt(scene: ReceiptScene) -> tuple[Image.Image, tuple[Silhouette, ...]]:
    """The picture of a scene, and what its page and each pen stroke (from the top) cover.

    The last twelve are kept; the same image is handed to every caller: read it, never draw on it.
    """
    image = paint_tabletop(scene.side, scene.seed)
    page, mask = _page(scene)
    shadow = mask.point([v * 2 // 5 for v in range(256)])
    image.paste((40, 40, 42), (scene.left + 5, scene.top + 7), shadow)
    image.paste(page, (scene.left, scene.top), mask)
    strokes = tuple(_stroke(image, scene, index) for index, item in enumerate(scene.lines) if item.mark)
    image = add_noise(image, scene.noise, scene.seed) if scene.noise else image
    return image, (silhouette(mask, scene.left, scene.top), *strokes)


def receipt_labels(scene: ReceiptScene, view_box: Box, view_size: int) -> Labels:
    """What every pixel of a view shows: 0 the table, 1 the page, 2 and on the pen strokes from the top."""
    return label_view(paint_receipt(scene)[1], scene.side, view_box, view_size)


def receipt_texts(scene: ReceiptScene, view_box: Sequence[float], view_size: int) -> list[TextItem]:
    """Where the texts of a scene are in a view of ``view_size`` pixels a side."""
    scale = view_size / ((view_box[2] - view_box[0]) * scene.side)
    left, top = view_box[0] * scene.side, view_box[1] * scene.side
    items = []
    for writing, (x0, y0, x1, y1) in _placed_writings(scene):
        corners = tuple(
            ((x - left) * scale, (y - top) * scale) for x, y in ((x0, y0), (x1, y0), (x1, y1), (x0, y1))
        )
        items.append(TextItem(writing.text, corners, writing.height * scale))
    return items


@lru_cache(maxsize=12)
def _placed_writings(scene: ReceiptScene) -> tuple[tuple[Writing, tuple[float, float, float, float]], ...]:
    """Each text with its box, native pixels."""
    placed = []
    for writing in writings(scene):
        width = line_font(scene.font, writing.height).getlength(writing.text)
        x0 = writing.x - {"l": 0, "m": width / 2, "r": width}[writing.anchor]
        half = writing.height / 2
        placed.append((writing, (x0, writing.y - half, x0 + width, writing.y + half)))
    return tuple(placed)


# ---------------------------------------------------------------------- the page


def _page(scene: ReceiptScene) -> tuple[Image.Image, Image.Image]:
    """The printed page (RGB) and where it covers the table (L)."""
    width, height = scene.size
    page, mask = Image.new("RGB", (width, height), _PAPER[scene.form]), Image.new("L", (width, height), 255)
    draw = ImageDraw.Draw(page)
    if scene.form == "receipt":
        _tear(ImageDraw.Draw(mask), width, height)
    else:
        _shade_lines(draw, scene)
    _rules(draw, scene)
    for writing in writings(scene):
        place, font = (writing.x - scene.left, writing.y - scene.top), line_font(scene.font, writing.height)
        draw.text(place, writing.text, (writing.ink,) * 3, font, anchor=f"{writing.anchor}m")
    return page, mask


def _tear(draw: ImageDraw.ImageDraw, width: int, height: int) -> None:
    """Teeth along the upper and the lower edge."""
    for x in range(0, width, 2 * _TOOTH):
        draw.polygon(((x, 0), (x + 2 * _TOOTH, 0), (x + _TOOTH, _TOOTH)), fill=0)
        draw.polygon(((x, height), (x + 2 * _TOOTH, height), (x + _TOOTH, height - _TOOTH)), fill=0)


def _shade_lines(draw: ImageDraw.ImageDraw, scene: ReceiptScene) -> None:
    width = PAGE_WIDTH[scene.form]
    for index in range(1, len(scene.lines), 2):
        top = HEAD + index * scene.pitch
        draw.rectangle((20, top, width - 20, top + scene.pitch - 1), fill=_BAND)


def _rules(draw: ImageDraw.ImageDraw, scene: ReceiptScene) -> None:
    """A rule above the lines and one above the totals: dashed on a receipt."""
    width, below = PAGE_WIDTH[scene.form], HEAD + GAP // 2 + len(scene.lines) * scene.pitch
    for y in (HEAD - 3, below):
        for x in range(20, width - 20, 8):
            draw.line((x, y, x + (4 if scene.form == "receipt" else 7), y), fill=_RULE)


# ---------------------------------------------------------------------- pen strokes


def _stroke(image: Image.Image, scene: ReceiptScene, index: int) -> Silhouette:
    """Draw the stroke of a marked line over the page; return what it covers."""
    item, font = scene.lines[index], line_font(scene.font, scene.text_height)
    tilt = (scene.seed >> index % 24) % 3 - 1  # native pixels by which the ends differ from the middle
    start, middle = name_start(scene), scene.row(index)
    if item.mark == "struck":
        x0, x1, y, width = start - 8, amount_end(scene) + 8, middle, _STROKE
    else:
        x0, x1, tilt = start - 1, start + round(font.getlength(item.name)) + 1, 0
        y, width = middle + scene.text_height // 2 + 1, _UNDERLINE
    scale, half = _OVERSAMPLING, width + 3
    strip = Image.new("L", ((x1 - x0) * scale, 2 * half * scale))
    ends = (scale, (half - tilt) * scale, strip.width - scale, (half + tilt) * scale)
    ImageDraw.Draw(strip).line(ends, fill=255, width=width * scale)
    coverage = strip.reduce(scale)
    image.paste(PALETTE[scene.pen], (x0, y - half), coverage)
    return silhouette(coverage, x0, y - half)
