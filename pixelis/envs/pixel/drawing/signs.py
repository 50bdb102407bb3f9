"""What a street scene holds: its signs, and the seed of the street behind them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from pixelis.envs.data.scene_fields import reading_scene
from pixelis.envs.pixel.drawing.fonts import FONTS
from pixelis.envs.pixel.tools.palette import KINDS, PALETTE, RGB

WHITE_INK: RGB = (250, 250, 246)
BLACK_INK: RGB = (22, 22, 26)


@dataclass(frozen=True)
class Sign:
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

    kind: str
    colour: str
    rgb: RGB
    ink: RGB
    code: str
    center: tuple[int, int]
    size: tuple[int, int]
    angle_degrees: float
    text_height: int
    font: str

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
class Scene:
    """A street with signs: everything `paint` needs, and nothing random.

    Attributes:
        size: side of the square picture, native pixels.
        signs: the signs, none of which overlap; (colour, kind) is unique.
        backdrop_seed: seed of the street behind the signs, 0 to 2**32 - 1.
        noise: amplitude of the pixel noise, grey levels (0: none).
    """

    size: int
    signs: tuple[Sign, ...]
    backdrop_seed: int
    noise: int

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; `from_json` gives an equal scene back."""
        return {
            "size": self.size,
            "signs": [
                {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(s).items()} for s in self.signs
            ],
            "backdrop_seed": self.backdrop_seed,
            "noise": self.noise,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Scene:
        """The scene that `to_json` wrote.

        Raises:
            TaskError: if a part is missing, unknown, of the wrong type or out of range.
        """
        with reading_scene(cls.__name__):
            size, seed, noise = (_integer(data[name]) for name in ("size", "backdrop_seed", "noise"))
            if not (0 <= seed < 2**32 and 0 <= noise <= 64):
                raise ValueError("backdrop_seed is 0 to 2**32 - 1 and noise 0 to 64")
            return cls(size, tuple(_sign_from_json(sign, size) for sign in data["signs"]), seed, noise)


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{value!r:.40} where a whole number belongs")
    return value


def _sign_from_json(data: Mapping[str, Any], scene_size: int) -> Sign:
    names = {field.name for field in fields(Sign)}
    if set(data) != names:
        raise ValueError(f"sign fields {sorted(data)!s:.200} instead of {sorted(names)}")
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
    sign = Sign(**values)
    wrong = [name for name, right in _sign_checks(sign, scene_size).items() if not right]
    if wrong:
        raise ValueError(f"a wrong {wrong[0]} in one of its signs: {data[wrong[0]]!r:.60}")
    return sign


def _sign_checks(sign: Sign, scene_size: int) -> dict[str, bool]:
    """Field name -> whether the painter can draw it."""
    return {
        "kind": sign.kind in KINDS,
        "colour": sign.colour in PALETTE,
        "rgb": _whole_numbers(sign.rgb, 3, 0, 255),
        "ink": _whole_numbers(sign.ink, 3, 0, 255),
        "code": isinstance(sign.code, str) and 1 <= len(sign.code) <= 16 and sign.code.isprintable(),
        "center": _whole_numbers(sign.center, 2, 0, scene_size),
        "size": _whole_numbers(sign.size, 2, 32, 512),
        "angle_degrees": isinstance(sign.angle_degrees, int | float) and abs(sign.angle_degrees) <= 180,
        "text_height": _whole_numbers((sign.text_height,), 1, 4, 128),
        "font": sign.font in FONTS,
    }


def _whole_numbers(values: Any, count: int, low: int, high: int) -> bool:
    return (
        isinstance(values, tuple) and len(values) == count and all(low <= _integer(v) <= high for v in values)
    )


def relative_luminance(rgb: RGB) -> float:
    """Luminance 0-1 of an sRGB colour (WCAG 2.2, "relative luminance")."""
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in (c / 255 for c in rgb)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def ink_for(rgb: RGB) -> RGB:
    """White or near-black, whichever has the larger contrast with the board (WCAG 2.2, "contrast ratio")."""
    board, white, black = (relative_luminance(c) + 0.05 for c in (rgb, WHITE_INK, BLACK_INK))
    return WHITE_INK if white / board >= board / black else BLACK_INK
