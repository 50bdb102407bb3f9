"""Signs, labels and screens as pixels, with their shadow, and what they cover.

Turned signs are drawn three times as large, turned with nearest-neighbour sampling (fixed-point in Pillow)
and averaged down.
"""

from __future__ import annotations

from functools import lru_cache

from PIL import Image, ImageDraw

from pixelis.envs.pixel.drawing.fonts import line_font
from pixelis.envs.pixel.drawing.signs import Sign
from pixelis.envs.pixel.tools.labels import Silhouette, silhouette
from pixelis.envs.pixel.tools.palette import RGB, shade

_OVERSAMPLING = 3


_LETTER_SPACING = 4  # oversampled pixels


_SHADOW: RGB = (40, 42, 46)


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
