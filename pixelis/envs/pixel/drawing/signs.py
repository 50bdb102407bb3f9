"""What a street scene holds: its signs, and the seed of the street behind them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Interval

from pixelis.envs.pixel.drawing.fonts import Font
from pixelis.envs.pixel.drawing.noise import Noise, Seed
from pixelis.envs.pixel.tools.palette import KINDS, RGB, Colour
from pixelis.envs.schema import Int, OneOf, Real, ShortText, Stored, check_range

WHITE_INK: RGB = (250, 250, 246)
BLACK_INK: RGB = (22, 22, 26)
_Side = Annotated[Int, Interval(ge=32, le=512)]


@dataclass(frozen=True)
class Sign(Stored):
    """One sign of a scene.

    Attributes:
        kind: one of `KINDS`.
        colour: a name of `PALETTE`.
        rgb: the colour it is painted in, near `PALETTE[colour]`.
        ink: the colour of its text.
        code: the text on it.
        center: x, y of its middle, native pixels from the top left corner of the scene.
        size: width, height of the upright sign, native pixels, bezel and border included.
        angle_degrees: turn about the centre, counter-clockwise.
        text_height: line height (ascent + descent) of the code, native pixels.
        font: file name of a font in `FONTS`.
    """

    kind: Annotated[str, OneOf(KINDS)]
    colour: Colour
    rgb: RGB
    ink: RGB
    code: Annotated[str, ShortText(16)]
    center: tuple[Int, Int]
    size: tuple[_Side, _Side]
    angle_degrees: Annotated[Real, Interval(ge=-180, le=180)]
    text_height: Annotated[Int, Interval(ge=4, le=128)]
    font: Font

    def extent(self) -> tuple[float, float]:
        """Width and height of the upright box around the turned sign, native pixels."""
        angle = math.radians(abs(self.angle_degrees))
        (width, height), cos, sin = self.size, math.cos(angle), math.sin(angle)
        return width * cos + height * sin, width * sin + height * cos

    def box(self, scene_size: int) -> tuple[float, float, float, float]:
        """Box [x0, y0, x1, y1] around the turned sign, normalised to 0-1 of the scene."""
        (x, y), (width, height) = self.center, self.extent()
        corners = (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
        x0, y0, x1, y1 = (round(min(max(v / scene_size, 0.0), 1.0), 6) for v in corners)
        return x0, y0, x1, y1


@dataclass(frozen=True)
class Scene(Stored):
    """A street with signs: everything `paint` needs, and nothing random.

    Attributes:
        size: side of the square picture, native pixels.
        signs: the signs, none of which overlap; (colour, kind) is unique.
        backdrop_seed: seed of the street behind the signs, 0 to 2**32 - 1.
        noise: amplitude of the pixel noise, grey levels (0: none).
    """

    size: Annotated[Int, Interval(ge=64, le=4096)]
    signs: tuple[Sign, ...]
    backdrop_seed: Seed
    noise: Noise

    def check(self) -> None:
        """Signs hang in the scene."""
        for sign in self.signs:
            check_range(sign.center, 0, self.size, "the centre of a sign")


def relative_luminance(rgb: RGB) -> float:
    """Luminance 0-1 of an sRGB colour (WCAG 2.2, "relative luminance")."""
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in (c / 255 for c in rgb)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def ink_for(rgb: RGB) -> RGB:
    """White or near-black, whichever has the larger contrast with the board (WCAG 2.2, "contrast ratio")."""
    board, white, black = (relative_luminance(c) + 0.05 for c in (rgb, WHITE_INK, BLACK_INK))
    return WHITE_INK if white / board >= board / black else BLACK_INK
