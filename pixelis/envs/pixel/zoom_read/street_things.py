"""What stands on the pavement: small greyish pictures (RGBA), drawn at twice their size and averaged down.

The pictures are shared: paste them, never draw on them.
"""

from __future__ import annotations

from functools import lru_cache

from PIL import Image, ImageDraw

from pixelis.envs.pixel.tools.palette import shade


@lru_cache(maxsize=1)
def lamp() -> Image.Image:
    """A street lamp."""
    picture = Image.new("RGBA", (120, 720), (66, 70, 74, 0))
    draw = ImageDraw.Draw(picture)
    iron = (66, 70, 74)
    draw.rectangle((54, 90, 65, 719), fill=iron)
    draw.rectangle((42, 640, 77, 719), fill=shade(iron, 112))
    draw.rectangle((34, 704, 85, 719), fill=iron)
    draw.polygon((30, 30, 89, 30, 78, 92, 41, 92), fill=(224, 222, 212))
    draw.polygon((20, 32, 99, 32, 60, 2), fill=iron)
    draw.rectangle((36, 88, 83, 97), fill=iron)
    return picture.reduce(2)


@lru_cache(maxsize=1)
def planter() -> Image.Image:
    """A shrub in a pot."""
    picture = Image.new("RGBA", (192, 240), (118, 126, 116, 0))
    draw = ImageDraw.Draw(picture)
    for box, tone in (((10, 20, 110, 130), 100), ((80, 10, 184, 130), 92), ((40, 0, 150, 110), 108)):
        draw.ellipse(box, fill=shade((118, 126, 116), tone))
    draw.rectangle((86, 100, 105, 160), fill=(96, 92, 88))
    draw.polygon((30, 150, 161, 150, 146, 239, 45, 239), fill=(156, 152, 146))
    draw.rectangle((22, 144, 169, 162), fill=(174, 170, 164))
    return picture.reduce(2)


@lru_cache(maxsize=1)
def litter_bin() -> Image.Image:
    """A litter bin."""
    picture = Image.new("RGBA", (104, 176), (88, 94, 96, 0))
    draw = ImageDraw.Draw(picture)
    draw.polygon((8, 40, 95, 40, 85, 175, 18, 175), fill=(88, 94, 96))
    for x in range(24, 84, 16):
        draw.line((x, 50, x, 168), fill=(74, 79, 81), width=4)
    draw.rounded_rectangle((0, 20, 103, 46), 10, fill=(70, 74, 76))
    return picture.reduce(2)


@lru_cache(maxsize=1)
def bollards() -> Image.Image:
    """Two bollards with a chain."""
    picture = Image.new("RGBA", (200, 144), (78, 82, 86, 0))
    draw = ImageDraw.Draw(picture)
    for x in (10, 160):
        draw.rounded_rectangle((x, 0, x + 29, 150), 14, fill=(78, 82, 86))
        draw.rectangle((x, 30, x + 29, 41), fill=(206, 206, 202))
    draw.arc((24, -40, 174, 90), 20, 160, fill=(96, 98, 100), width=6)
    return picture.reduce(2)
