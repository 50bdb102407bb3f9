"""The names a sign can have: eighteen colours and three kinds."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Interval

from pixelis.envs.schema import Int, OneOf

Channel = Annotated[Int, Interval(ge=0, le=255)]
RGB = tuple[Channel, Channel, Channel]

BASE_COLOURS: tuple[str, ...] = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown")
"""Colours of the easy levels: at least 35 apart from each other in CIE 1976 L*a*b*."""

PALETTE: dict[str, RGB] = {
    "red": (208, 32, 38),
    "orange": (244, 124, 20),
    "yellow": (250, 214, 40),
    "green": (38, 150, 64),
    "blue": (32, 98, 214),
    "purple": (130, 40, 164),
    "pink": (246, 122, 178),
    "brown": (118, 68, 34),
    "teal": (16, 138, 140),
    "navy": (24, 40, 100),
    "sky blue": (110, 190, 240),
    "maroon": (110, 16, 44),
    "magenta": (206, 30, 140),
    "olive": (124, 124, 32),
    "lime": (160, 220, 50),
    "beige": (234, 206, 156),
    "gold": (204, 158, 34),
    "lavender": (182, 160, 232),
}
"""Colour name -> sRGB, 0-255. The first eight are `BASE_COLOURS`; the other ten are their look-alikes.

Every colour has a chroma of at least 28 in CIE L*a*b*, so that it stands out from the greyish backdrop.
"""
Colour = Annotated[str, OneOf(PALETTE)]
BaseColour = Annotated[str, OneOf(BASE_COLOURS)]

KINDS: tuple[str, ...] = ("sign", "label", "screen")
"""A flat board, a paper tag with a pale edge, a lit panel in a dark bezel."""


def shade(rgb: RGB, percent: int) -> RGB:
    """A colour darkened (percent < 100) or lightened (> 100), in integer arithmetic."""
    red, green, blue = (min(v * percent // 100, 255) for v in rgb)
    return red, green, blue
