"""Pictures of TrackRead's vehicles and trees, drawn three times as large and averaged down.

The pictures are shared: paste them, never draw on them.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from PIL import Image, ImageDraw

from pixelis.envs.pixel.tools.palette import PALETTE, RGB, shade
from pixelis.envs.pixel.track_read.scene import LENGTHS, TREE

Picture = tuple[Image.Image, Image.Image]
"""RGB, and how far it covers what is behind (L), of one size."""

_SCALE = 3
_GLASS: RGB = (58, 68, 78)
_TYRE: RGB = (34, 35, 38)
_RIM: RGB = (176, 178, 182)
_DARK: RGB = (40, 42, 46)
_TARPAULINS: dict[str, RGB] = {"grey": (150, 153, 156), "white": (222, 222, 218)}

_BODIES: dict[str, tuple[tuple[float, float], ...]] = {
    "saloon": (
        *((0.0, 0.62), (0.02, 0.44), (0.2, 0.36), (0.33, 0.04), (0.38, 0.0), (0.64, 0.0), (0.7, 0.05)),
        *((0.82, 0.36), (0.97, 0.42), (1.0, 0.55), (1.0, 0.84), (0.0, 0.84)),
    ),
    "hatchback": (
        *((0.0, 0.6), (0.02, 0.3), (0.1, 0.03), (0.16, 0.0), (0.6, 0.0), (0.67, 0.04), (0.8, 0.36)),
        *((0.97, 0.44), (1.0, 0.56), (1.0, 0.84), (0.0, 0.84)),
    ),
    "van": (
        *((0.0, 0.06), (0.03, 0.0), (0.7, 0.0), (0.77, 0.03), (0.87, 0.38), (0.98, 0.46), (1.0, 0.58)),
        *((1.0, 0.87), (0.0, 0.87)),
    ),
}
_WINDOWS: dict[str, tuple[tuple[tuple[float, float], ...], ...]] = {
    "saloon": (
        ((0.27, 0.33), (0.36, 0.08), (0.49, 0.08), (0.49, 0.33)),
        ((0.52, 0.33), (0.52, 0.08), (0.64, 0.08), (0.75, 0.33)),
    ),
    "hatchback": (
        ((0.09, 0.33), (0.15, 0.08), (0.36, 0.08), (0.36, 0.33)),
        ((0.39, 0.33), (0.39, 0.08), (0.6, 0.08), (0.73, 0.33)),
    ),
    "van": (((0.6, 0.36), (0.6, 0.09), (0.73, 0.09), (0.82, 0.36)),),
}
_WHEELS: dict[str, tuple[float, ...]] = {
    "saloon": (0.19, 0.81),
    "hatchback": (0.18, 0.81),
    "van": (0.18, 0.82),
    "lorry": (0.1, 0.2, 0.3, 0.88),
}


@lru_cache(maxsize=128)
def car_picture(kind: str, colour: str, right: bool) -> Picture:
    """A car or lorry from the side, without its plate, as large as `LENGTHS` says."""
    length, height = (side * _SCALE for side in LENGTHS[kind])
    image, mask = Image.new("RGB", (length, height), _DARK), Image.new("L", (length, height))
    draw, cover = ImageDraw.Draw(image), ImageDraw.Draw(mask)
    if kind == "lorry":
        _draw_lorry(draw, cover, (length, height), _TARPAULINS[colour])
    else:
        _draw_body(draw, cover, kind, (length, height), PALETTE[colour])
    radius = 16 * _SCALE
    for share in _WHEELS[kind]:
        x, y = round(share * length), height - radius
        for ring, fill in ((radius, _TYRE), (radius * 5 // 9, _RIM), (radius // 5, _DARK)):
            draw.ellipse((x - ring, y - ring, x + ring, y + ring - 1), fill=fill)
        cover.ellipse((x - radius, y - radius, x + radius, y + radius - 1), fill=255)
    if not right:
        flip = Image.Transpose.FLIP_LEFT_RIGHT
        image, mask = image.transpose(flip), mask.transpose(flip)
    return image.reduce(_SCALE), mask.reduce(_SCALE)


def _draw_body(
    draw: ImageDraw.ImageDraw, cover: ImageDraw.ImageDraw, kind: str, size: tuple[int, int], rgb: RGB
) -> None:
    body = [(round(x * (size[0] - 1)), round(y * size[1])) for x, y in _BODIES[kind]]
    draw.polygon(body, fill=rgb)
    cover.polygon(body, fill=255)
    for window in _WINDOWS[kind]:
        draw.polygon([(round(x * size[0]), round(y * size[1])) for x, y in window], fill=_GLASS)
    low = round(0.78 * size[1])
    draw.rectangle((0, low, size[0], round(0.84 * size[1])), fill=shade(rgb, 66))
    door = round(0.5 * size[0])
    draw.line((door, round(0.34 * size[1]), door, low), fill=shade(rgb, 72), width=3)
    draw.rectangle((size[0] - 18, round(0.5 * size[1]), size[0], round(0.58 * size[1])), fill=(248, 240, 200))
    draw.rectangle((0, round(0.48 * size[1]), 14, round(0.58 * size[1])), fill=(150, 26, 30))


def _draw_lorry(
    draw: ImageDraw.ImageDraw, cover: ImageDraw.ImageDraw, size: tuple[int, int], rgb: RGB
) -> None:
    length, height = size
    back, low = round(0.74 * length), round(0.84 * height)
    cabin = [(round(x * length), round(y * height)) for x, y in ((0.76, 0.25), (0.9, 0.25), (0.99, 0.55))]
    cabin += [(length - 1, low), (round(0.76 * length), low)]
    for box in ((0, 0, back, low), (0, low - 30, length - 1, low + 10)):
        cover.rectangle(box, fill=255)
    cover.polygon(cabin, fill=255)
    draw.rectangle((0, 0, back, low - 18), fill=rgb)
    for x in range(60, back, 90):
        draw.line((x, 0, x, low - 18), fill=shade(rgb, 90), width=4)
    draw.rectangle((0, 0, back, 8), fill=shade(rgb, 78))
    draw.polygon(cabin, fill=(96, 100, 106))
    window = ((0.83, 0.31), (0.89, 0.31), (0.96, 0.55), (0.83, 0.55))
    draw.polygon([(round(x * length), round(y * height)) for x, y in window], fill=_GLASS)


@lru_cache(maxsize=4)
def tree_picture(style: int) -> Picture:
    """A broad-leaved tree."""
    rng = np.random.Generator(np.random.PCG64(style))
    width, height = (side * _SCALE for side in TREE)
    image, mask = Image.new("RGB", (width, height), (74, 92, 66)), Image.new("L", (width, height))
    draw, cover = ImageDraw.Draw(image), ImageDraw.Draw(mask)
    trunk = (width // 2 - 24, height // 2, width // 2 + 24, height - 1)
    draw.rectangle(trunk, fill=(96, 84, 72))
    cover.rectangle(trunk, fill=255)
    for tone in (82, 100, 114):  # from the shade at the foot of the crown to the light at its top
        for _ in range(26):
            radius = int(rng.integers(54, 92))
            x = int(rng.integers(radius, width - radius))
            room = height * 7 // 10 - 2 * radius
            y = radius + int(rng.integers(room // 3 if tone < 90 else 0, room * (200 - tone) // 110 + 1))
            box = (x - radius, y - radius, x + radius, y + radius)
            draw.ellipse(box, fill=shade((84, 104, 74), tone + int(rng.integers(-5, 6))))
            cover.ellipse(box, fill=255)
    return image.reduce(_SCALE), mask.reduce(_SCALE)
