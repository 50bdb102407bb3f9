"""The fonts of the package, and lines of text in a wanted height."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Annotated

from PIL import ImageFont

from pixelis.envs.schema import OneOf

FONT_FOLDER = Path(__file__).parent / "fonts"
FONTS: tuple[str, ...] = (
    "DejaVuSansMono-Bold.ttf",
    "LiberationSans-Bold.ttf",
    "Roboto-Bold.ttf",
    "Roboto-Medium.ttf",
)
"""The font files of the package."""
Font = Annotated[str, OneOf(FONTS)]


@lru_cache(maxsize=64)
def line_font(name: str, line_height: int) -> ImageFont.FreeTypeFont:
    """The font file `name` of the package at the size whose ascent plus descent is `line_height` pixels."""
    path, layout = str(FONT_FOLDER / name), ImageFont.Layout.BASIC
    ascent, descent = ImageFont.truetype(path, line_height, layout_engine=layout).getmetrics()
    return ImageFont.truetype(
        path, round(line_height * line_height / (ascent + descent)), layout_engine=layout
    )
