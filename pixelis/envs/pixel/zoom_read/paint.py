"""Turn a scene into pixels: the same bytes on every machine, and quickly.

Only Pillow with the package's own fonts and integer arithmetic is used. Turned signs are drawn three times as
large, turned with nearest-neighbour sampling (fixed-point in Pillow) and averaged down.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from pixelis.envs.pixel.drawing.signs import Scene, Sign
from pixelis.envs.pixel.tools.labels import Labels, Silhouette, label_view, silhouette
from pixelis.envs.pixel.tools.palette import RGB, shade
from pixelis.envs.pixel.tools.view import Box, check_image_size
from pixelis.envs.pixel.zoom_read.backdrop import paint_backdrop
from pixelis.errors import ImageSizeError

FONT_FOLDER = Path(__file__).parent / "fonts"
MIN_SCENE_SIZE = 768
"""Smallest side of a scene, pixels: a house with a shop and a floor above it."""

_OVERSAMPLING = 3
_LETTER_SPACING = 4  # oversampled pixels
_NOISE_TILE = 192
_SHADOW: RGB = (40, 42, 46)


def paint(scene: Scene) -> Image.Image:
    """The picture of a scene, RGB, `scene.size` pixels square.

    The last twelve pictures are kept (7 MB each at the default size), so that a group of environments on one
    seed paints once. The same object is handed to every caller: read it, never draw on it (`.copy()` first).

    Raises:
        ImageSizeError: if the scene has fewer than `MIN_SCENE_SIZE` pixels a side, or too many.
    """
    return _painted(scene)[0]


def sign_labels(scene: Scene, view_box: Box, view_size: int) -> Labels:
    """Which sign every pixel of a view shows: 1 + its index in the scene, 0 for the street."""
    return label_view(_painted(scene)[1], scene.size, view_box, view_size)


def paint_uncached(scene: Scene) -> tuple[Image.Image, tuple[Silhouette, ...]]:
    """The picture of a scene, as `paint` gives it but not kept, and where its signs are in it."""
    check_image_size(scene.size, scene.size)
    if scene.size < MIN_SCENE_SIZE:
        raise ImageSizeError(f"expected a scene of at least {MIN_SCENE_SIZE} pixels a side, got {scene.size}")
    image = paint_backdrop(scene.size, scene.backdrop_seed)
    silhouettes = tuple(paste_sign(image, sign) for sign in scene.signs)
    return add_noise(image, scene.noise, scene.backdrop_seed) if scene.noise else image, silhouettes


_painted = lru_cache(maxsize=12)(paint_uncached)


def paste_sign(image: Image.Image, sign: Sign) -> Silhouette:
    """Paint a sign with its shadow on an image, and return what it covers."""
    board, mask = draw_board(sign)
    _, shadow = _cover(sign.kind, sign.size, sign.rgb, sign.angle_degrees)
    left, top = sign.center[0] - board.width // 2, sign.center[1] - board.height // 2
    if sign.kind == "sign" and sign.angle_degrees == 0:
        _hang(image, sign)
    image.paste(_SHADOW, (left + 3, top + 5), shadow)
    image.paste(board, (left, top), mask)
    return silhouette(mask, left, top)


def _hang(image: Image.Image, sign: Sign) -> None:
    """Two short rods that hold a board."""
    (x, y), (width, height) = sign.center, sign.size
    draw = ImageDraw.Draw(image)
    for rod in (x - width // 4, x + width // 4):
        draw.rectangle((rod - 1, y - height // 2 - 9, rod + 1, y - height // 2), fill=(78, 80, 84))


def draw_board(sign: Sign) -> tuple[Image.Image, Image.Image]:
    """The turned board (RGB) and where it covers the street (L), as large as the upright box around it."""
    blank, _, edge = _blank_board(sign.kind, sign.size, sign.rgb)
    mask, _ = _cover(sign.kind, sign.size, sign.rgb, sign.angle_degrees)
    board = blank.copy()
    _draw_code(ImageDraw.Draw(board), sign, (board.width // 2, board.height // 2))
    if sign.angle_degrees:
        board = board.rotate(sign.angle_degrees, Image.Resampling.NEAREST, expand=True, fillcolor=edge)
    return board.reduce(_OVERSAMPLING), mask


@lru_cache(maxsize=4)
def _blank_board(kind: str, size: tuple[int, int], rgb: RGB) -> tuple[Image.Image, Image.Image, RGB]:
    """An oversampled board without its code, where it covers the street, and the colour of its edge.

    The last four are kept: the labels of a scene are often alike. Read them, never draw on them.
    """
    width, height = (v * _OVERSAMPLING for v in size)
    board, mask = Image.new("RGB", (width, height), rgb), Image.new("L", (width, height))
    edge = _BOARDS[kind](ImageDraw.Draw(board), ImageDraw.Draw(mask), (width - 1, height - 1), rgb)
    return board, mask, edge


@lru_cache(maxsize=4)
def _cover(
    kind: str, size: tuple[int, int], rgb: RGB, angle_degrees: float
) -> tuple[Image.Image, Image.Image]:
    """How far a turned board covers the street, and how dark its shadow is (L); read only, as above."""
    mask = _blank_board(kind, size, rgb)[1]
    if angle_degrees:
        mask = mask.rotate(angle_degrees, Image.Resampling.NEAREST, expand=True)
    mask = mask.reduce(_OVERSAMPLING)
    return mask, mask.point([v * 3 // 8 for v in range(256)])


def _draw_sign(board: ImageDraw.ImageDraw, mask: ImageDraw.ImageDraw, end: tuple[int, int], rgb: RGB) -> RGB:
    """A flat board with a thin darker border."""
    (right, low), border = end, shade(rgb, 62)
    mask.rounded_rectangle((0, 0, right, low), 12, fill=255)
    board.rectangle((0, 0, right, low), fill=border)
    board.rounded_rectangle((8, 8, right - 8, low - 8), 7, fill=rgb)
    return border


def _draw_label(board: ImageDraw.ImageDraw, mask: ImageDraw.ImageDraw, end: tuple[int, int], rgb: RGB) -> RGB:
    """A paper tag: pale edge, cut corners and a small hole at its edge."""
    (right, low), paper, cut, rim = end, (240, 238, 232), 33, 13
    inner = cut + 6
    mask.polygon(((cut, 0), (right, 0), (right, low), (cut, low), (0, low - cut), (0, cut)), fill=255)
    board.rectangle((0, 0, right, low), fill=paper)
    board.rectangle((inner, rim, right - rim, low - rim), fill=rgb)
    board.polygon(((inner, rim), (inner, low - rim), (rim, low - inner), (rim, inner)), fill=rgb)
    board.rectangle((rim, low // 2 - 12, 32, low // 2 + 12), fill=paper)
    board.ellipse((14, low // 2 - 9, 32, low // 2 + 9), fill=(92, 92, 94))
    return paper


def _draw_screen(
    board: ImageDraw.ImageDraw, mask: ImageDraw.ImageDraw, end: tuple[int, int], rgb: RGB
) -> RGB:
    """A lit panel in a dark bezel, with a small lamp below it."""
    (right, low), bezel = end, (34, 36, 40)
    mask.rounded_rectangle((0, 0, right, low), 21, fill=255)
    board.rectangle((0, 0, right, low), fill=bezel)
    board.rectangle((15, 15, right - 15, low - 21), fill=rgb)
    board.ellipse((right - 39, low - 14, right - 30, low - 5), fill=(222, 226, 226))
    return bezel


_BOARDS = {"sign": _draw_sign, "label": _draw_label, "screen": _draw_screen}


def _draw_code(draw: ImageDraw.ImageDraw, sign: Sign, middle: tuple[int, int]) -> None:
    """The code, letter-spaced as on real signs; every character starts on a whole pixel, without kerning."""
    glyphs = [_glyph(sign.font, sign.text_height * _OVERSAMPLING, character) for character in sign.code]
    x = middle[0] - (sum(width + _LETTER_SPACING for *_, width in glyphs) - _LETTER_SPACING) // 2
    for mask, (left, top), width in glyphs:
        if mask is not None:
            draw.bitmap((x + left, middle[1] + top), mask, fill=sign.ink)
        x += width + _LETTER_SPACING


@lru_cache(maxsize=512)
def _glyph(name: str, line_height: int, character: str) -> tuple[Image.Image | None, tuple[int, int], int]:
    """A character as `ImageDraw.text` paints it: its mask (None for a space), where that begins, its width.

    The place is that of the mask's upper left corner, from the left end of the line's middle. Codes are
    drawn from few characters: making a mask takes longer than painting with it.
    """
    font = line_font(name, line_height)
    left, top, right, low = (int(value) for value in font.getbbox(character, anchor="lm"))
    width = round(font.getlength(character))
    if right <= left or low <= top:
        return None, (0, 0), width
    mask = Image.new("L", (right - left, low - top))
    ImageDraw.Draw(mask).text((-left, -top), character, fill=255, font=font, anchor="lm")
    return mask, (left, top), width


@lru_cache(maxsize=64)
def line_font(name: str, line_height: int) -> ImageFont.FreeTypeFont:
    """The font file `name` of the package at the size whose ascent plus descent is `line_height` pixels."""
    path, layout = str(FONT_FOLDER / name), ImageFont.Layout.BASIC
    ascent, descent = ImageFont.truetype(path, line_height, layout_engine=layout).getmetrics()
    return ImageFont.truetype(
        path, round(line_height * line_height / (ascent + descent)), layout_engine=layout
    )


def add_noise(image: Image.Image, amplitude: int, seed: int) -> Image.Image:
    """Add a tiled pattern of integers from -amplitude to amplitude, clipped to 0-255."""
    pixels = np.array(image)
    add_noise_to(pixels, amplitude, seed)
    return Image.fromarray(pixels)


def add_noise_to(pixels: NDArray[np.uint8], amplitude: int, seed: int) -> None:
    """Add what `add_noise` adds, in place, to pixels uint8 ``[H, W, 3]``."""
    rng = np.random.Generator(np.random.PCG64(seed))
    tile = rng.integers(-amplitude, amplitude + 1, size=(_NOISE_TILE, _NOISE_TILE, 3), dtype=np.int8)
    band = np.tile(tile.view(np.uint8), (1, -(-pixels.shape[1] // _NOISE_TILE), 1))[:, : pixels.shape[1]]
    np.clip(pixels, amplitude, 255 - amplitude, out=pixels)
    for top in range(0, len(pixels), _NOISE_TILE):
        rows = pixels[top : top + _NOISE_TILE]
        rows += band[: len(rows)]  # two's complement: adding the byte of a negative number subtracts
