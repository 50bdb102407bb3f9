"""Where the codes of signs are in a view: what a reader that knows the text is given."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from PIL import ImageFont

from pixelis.envs.pixel.drawing.fonts import FONT_FOLDER
from pixelis.envs.pixel.drawing.signs import Scene, Sign
from pixelis.envs.pixel.tools.ocr_truth import TextItem

_LETTER_SPACE = 1.0  # native pixels between the letters of a sign


def sign_texts(scene: Scene, view_box: Sequence[float], view_size: int) -> list[TextItem]:
    """Return where the codes of a scene's signs are in a view.

    Args:
        scene: the scene.
        view_box: ``[x0, y0, x1, y1]`` of the square view, 0-1 of the scene.
        view_size: side of the view in pixels.
    """
    scale = view_size / ((view_box[2] - view_box[0]) * scene.size)
    left, top = view_box[0] * scene.size, view_box[1] * scene.size
    return [sign_text(sign, scale, (left, top)) for sign in scene.signs]


def sign_text(sign: Sign, scale: float, origin: tuple[float, float]) -> TextItem:
    """Return where a sign's code is in a view.

    Args:
        sign: the sign.
        scale: pixels of the view per native pixel.
        origin: x and y of the view's top left corner, native pixels.
    """
    width = _text_width(sign.font, sign.text_height, sign.code) + _LETTER_SPACE * (len(sign.code) - 1)
    half = width / 2, sign.text_height / 2
    angle = math.radians(sign.angle_degrees)
    cos, sin = math.cos(angle), math.sin(angle)
    corners = []
    for side, level in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
        dx, dy = side * half[0], level * half[1]
        # counter-clockwise as seen, with y pointing down
        x, y = sign.center[0] + dx * cos + dy * sin, sign.center[1] - dx * sin + dy * cos
        corners.append(((x - origin[0]) * scale, (y - origin[1]) * scale))
    return TextItem(sign.code, tuple(corners), sign.text_height * scale)


@lru_cache(maxsize=4096)
def _text_width(font: str, line_height: int, text: str) -> float:
    path, layout = str(FONT_FOLDER / font), ImageFont.Layout.BASIC
    ascent, descent = ImageFont.truetype(path, 100, layout_engine=layout).getmetrics()
    return (
        ImageFont.truetype(path, 100, layout_engine=layout).getlength(text) / (ascent + descent) * line_height
    )
