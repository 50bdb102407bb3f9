"""The street behind the signs: sky, house fronts with shops, pavement and road, all in greyish tones."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

import numpy as np
from PIL import Image, ImageDraw

from pixelis.envs.pixel.tools.palette import RGB, shade
from pixelis.envs.pixel.zoom_read.street_things import bollards, lamp, litter_bin, planter

GROUND = 0.885  # where the house fronts meet the pavement, share of the scene from the top
KERB = 0.95  # where the pavement meets the road
SHOP_HEIGHT = 290  # ground floor, native pixels
FLOOR_HEIGHT = 226  # every other floor

WALLS: tuple[RGB, ...] = (
    (203, 198, 191),
    (186, 184, 181),
    (192, 196, 200),
    (171, 177, 182),
    (214, 210, 203),
    (180, 176, 169),
    (183, 189, 183),
    (198, 189, 187),
)
SKIES: tuple[tuple[RGB, RGB], ...] = (
    ((205, 213, 221), (231, 233, 234)),
    ((196, 203, 212), (226, 224, 222)),
    ((214, 217, 222), (236, 233, 228)),
)
SHOP_TRIMS: tuple[RGB, ...] = ((84, 90, 96), (98, 94, 90), (74, 82, 84), (108, 110, 112), (90, 84, 88))
AWNINGS: tuple[RGB, ...] = ((142, 148, 152), (152, 146, 140), (136, 144, 138), (128, 130, 138))
GLASS: RGB = (116, 126, 136)
LIT_GLASS: RGB = (206, 200, 186)
PALE: RGB = (228, 227, 223)


def paint_backdrop(size: int, seed: int) -> Image.Image:
    """A street without signs, RGB, size x size pixels; the same bytes for the same arguments."""
    rng = np.random.Generator(np.random.PCG64(seed))
    image = Image.new("RGB", (size, size))
    draw = ImageDraw.Draw(image)
    ground = int(size * GROUND)
    _paint_sky(draw, size, ground, SKIES[int(rng.integers(len(SKIES)))])
    _paint_ground(draw, size, ground, rng)
    walls = rng.permutation(len(WALLS))
    x, index = -int(rng.integers(0, 90)), 0
    while x < size:
        width = 3 * int(rng.integers(112, 172))
        _paint_house(image, (x, width, ground), WALLS[walls[index % len(WALLS)]], rng)
        x, index = x + width, index + 1
    _paint_clutter(image, size, ground, rng)
    return image


def _paint_sky(draw: ImageDraw.ImageDraw, size: int, ground: int, sky: tuple[RGB, RGB]) -> None:
    top, low = sky
    depth = min(ground, 320)
    for y in range(0, depth, 4):
        colour = tuple((a * (depth - y) + b * y) // depth for a, b in zip(top, low, strict=True))
        draw.rectangle((0, y, size, y + 3), fill=colour)


def _paint_ground(draw: ImageDraw.ImageDraw, size: int, ground: int, rng: np.random.Generator) -> None:
    kerb = int(size * KERB)
    draw.rectangle((0, ground, size, kerb), fill=(172, 171, 168))
    rows = (ground, ground + (kerb - ground) * 2 // 5, kerb)
    for row, (top, low) in enumerate(pairwise(rows)):
        for x in range(-60 * row - int(rng.integers(40)), size, 120):
            tone = int(rng.integers(-5, 6))
            draw.rectangle((x, top, x + 117, low - 3), fill=(180 + tone, 179 + tone, 176 + tone))
    draw.rectangle((0, ground, size, ground + 5), fill=(140, 139, 137))
    draw.rectangle((0, kerb, size, kerb + 11), fill=(206, 205, 202))
    draw.rectangle((0, kerb + 12, size, kerb + 17), fill=(92, 93, 95))
    draw.rectangle((0, kerb + 18, size, size), fill=(112, 113, 115))
    for x in range(int(rng.integers(-100, 0)), size, 220):
        draw.rectangle((x, size - 24, x + 120, size - 17), fill=(196, 196, 192))


def _paint_house(
    image: Image.Image, place: tuple[int, int, int], wall: RGB, rng: np.random.Generator
) -> None:
    """One house: `place` is its left edge, its width and the ground line."""
    x, width, ground = place
    draw = ImageDraw.Draw(image)
    roof = int(rng.integers(56, 150))
    shop = ground - SHOP_HEIGHT
    for _ in range(int(rng.integers(1, 3))):
        chimney = x + int(rng.integers(30, width - 70))
        draw.rectangle((chimney, roof - 38, chimney + 36, roof), fill=shade(wall, 78))
        draw.rectangle((chimney - 4, roof - 44, chimney + 40, roof - 36), fill=shade(wall, 66))
    image.paste(_bricks(wall, width, shop - roof, int(rng.integers(3))), (x, roof))
    draw.rectangle((x - 4, roof - 2, x + width + 3, roof + 17), fill=shade(wall, 112))
    draw.rectangle((x, roof + 18, x + width, roof + 23), fill=shade(wall, 80))
    _paint_windows(image, (x, roof + 24, width, shop), wall, rng)
    draw.rectangle((x + width - 7, roof + 18, x + width - 1, ground), fill=shade(wall, 82))
    _paint_shop(image, (x, shop, width, ground), wall, rng)


@lru_cache(maxsize=4)
def _brick_pattern(style: int) -> np.ndarray:
    """Grey-level offsets int16 [48, 96] of one repeat of a wall: bricks, stone blocks or plaster."""
    rng = np.random.Generator(np.random.PCG64(style))
    pattern = rng.integers(-1, 2, size=(48, 96))
    high, wide, depth = ((12, 32, 7), (24, 96, 9), (48, 96, 0))[style]
    for row in range(0, 48, high):
        for left in range(0, 96, wide):
            columns = (np.arange(left, left + wide) + (row // high % 2) * wide // 2) % 96
            pattern[row : row + high, columns] += rng.integers(-2, 3)
            pattern[row : row + high, columns[0]] -= depth
        pattern[row] -= depth
    return pattern.astype(np.int16)


def _bricks(wall: RGB, width: int, height: int, style: int) -> Image.Image:
    tile = (np.array(wall, np.int16) + _brick_pattern(style)[..., None]).astype(np.uint8)
    repeats = -(-height // 48), -(-width // 96), 1
    return Image.fromarray(np.tile(tile, repeats)[:height, :width])


def _paint_windows(
    image: Image.Image, area: tuple[int, int, int, int], wall: RGB, rng: np.random.Generator
) -> None:
    """Rows of windows; `area` is the left edge, the top, the width and the bottom."""
    x, top, width, bottom = area
    bays = 3 if width < 440 else 4
    bay = width // bays
    shape = (bay * int(rng.integers(50, 60)) // 100, int(rng.integers(128, 150)))
    trim = shade(wall, 116) if rng.integers(2) else shade(wall, 70)
    kinds = [_window(shape, trim, wall, kind) for kind in range(4)]
    floors = max((bottom - top) // FLOOR_HEIGHT, 1)
    step = (bottom - top) // floors
    draw = ImageDraw.Draw(image)
    for floor in range(floors):
        y = top + floor * step + (step - shape[1]) // 2
        for column in range(bays):
            left = x + column * bay + (bay - shape[0]) // 2
            image.paste(kinds[(0, 0, 1, 2, 3)[int(rng.integers(5))]], (left, y))
        band = top + (floor + 1) * step - 8
        draw.rectangle((x, band, x + width - 8, band + 5), fill=shade(wall, 108))
        draw.rectangle((x, band + 6, x + width - 8, band + 8), fill=shade(wall, 86))


def _window(shape: tuple[int, int], trim: RGB, wall: RGB, kind: int) -> Image.Image:
    """A window with its sill: 0 dark, 1 with curtains, 2 with a blind, 3 lit."""
    width, height = shape
    picture = Image.new("RGB", shape, trim)
    draw = ImageDraw.Draw(picture)
    glass = LIT_GLASS if kind == 3 else GLASS
    low = height - 16
    draw.rectangle((6, 6, width - 7, low), fill=glass)
    draw.polygon((6, low, 6, low - height // 3, width // 2, 6, width * 4 // 5, 6), fill=shade(glass, 109))
    if kind == 1:
        draw.rectangle((6, 6, 6 + width // 5, low), fill=PALE)
        draw.rectangle((width - 7 - width // 5, 6, width - 7, low), fill=PALE)
    if kind == 2:
        draw.rectangle((6, 6, width - 7, height // 2), fill=(214, 212, 207))
        for y in range(14, height // 2, 9):
            draw.line((6, y, width - 7, y), fill=(196, 194, 190))
    draw.rectangle((6, 6, width - 7, 10), fill=shade(glass, 76))
    draw.rectangle((width // 2 - 2, 6, width // 2 + 2, low), fill=trim)
    draw.rectangle((6, height * 2 // 5, width - 7, height * 2 // 5 + 4), fill=trim)
    draw.rectangle((0, height - 9, width, height), fill=shade(wall, 116))
    draw.rectangle((0, height - 2, width, height), fill=shade(wall, 74))
    return picture


def _paint_shop(
    image: Image.Image, area: tuple[int, int, int, int], wall: RGB, rng: np.random.Generator
) -> None:
    """A ground floor; `area` is the left edge, the top, the width and the ground line."""
    x, top, width, ground = area
    draw = ImageDraw.Draw(image)
    trim = SHOP_TRIMS[int(rng.integers(len(SHOP_TRIMS)))]
    right = x + width - 1
    draw.rectangle((x, top, right, ground), fill=shade(wall, 90))
    draw.rectangle((x + 14, top + 12, right - 14, ground - 2), fill=trim)
    draw.rectangle((x + 8, top + 6, right - 8, top + 14), fill=shade(trim, 128))
    draw.rectangle((x + 26, top + 24, right - 26, top + 58), fill=shade(trim, 116))
    door_width = 92
    door = x + 30 if rng.integers(2) else right - 30 - door_width
    left, end = (x + 30, door - 14) if door > x + 30 else (door + door_width + 14, right - 30)
    _paint_shop_window(draw, (left, top + 72, end, ground - 34), rng)
    _paint_door(draw, (door, top + 72, door + door_width, ground - 3), trim)
    if rng.integers(4):
        awning = _awning(end - left + 24, AWNINGS[int(rng.integers(len(AWNINGS)))])
        image.paste(awning, (left - 12, top + 62), awning)


def _paint_shop_window(
    draw: ImageDraw.ImageDraw, box: tuple[int, int, int, int], rng: np.random.Generator
) -> None:
    left, top, right, low = box
    glass = (146, 153, 158)
    draw.rectangle(box, fill=glass)
    middle = (left + right) // 2
    draw.polygon((left, low, left, low - 60, middle, top, middle + 50, top), fill=shade(glass, 108))
    draw.polygon(
        (middle + 30, low, middle + 50, low, right, top + 40, right, top + 18), fill=shade(glass, 108)
    )
    draw.rectangle((left, low - 26, right, low), fill=(104, 104, 104))
    x = left + 12
    while x < right - 50:  # goods on the sill
        width, height, tone = (int(rng.integers(a, b)) for a, b in ((22, 46), (20, 74), (120, 200)))
        draw.rectangle((x, low - 26 - height, x + width, low - 26), fill=(tone, tone - 3, tone - 7))
        draw.rectangle(
            (x, low - 26 - height, x + width, low - 21 - height), fill=shade((tone, tone, tone), 85)
        )
        x += width + int(rng.integers(6, 40))
    draw.rectangle((middle - 2, top, middle + 2, low), fill=(70, 74, 78))


def _paint_door(draw: ImageDraw.ImageDraw, box: tuple[int, int, int, int], trim: RGB) -> None:
    left, top, right, low = box
    draw.rectangle(box, fill=shade(trim, 70))
    draw.rectangle((left + 6, top + 6, right - 6, low), fill=shade(trim, 122))
    draw.rectangle((left + 18, top + 18, right - 18, top + 110), fill=(150, 157, 162))
    draw.polygon(
        (left + 18, top + 110, left + 18, top + 70, right - 30, top + 18, right - 18, top + 18),
        fill=(164, 170, 174),
    )
    draw.rectangle((left + 18, low - 62, right - 18, low - 16), fill=shade(trim, 108))
    draw.rectangle((right - 15, top + 112, right - 11, top + 136), fill=(220, 218, 212))


@lru_cache(maxsize=64)
def _awning(width: int, colour: RGB) -> Image.Image:
    """A striped awning with a scalloped edge, RGBA."""
    stripe, height = 24, 58
    picture = Image.new("RGBA", (width * 2, (height + 14) * 2), (*shade(colour, 80), 0))
    draw = ImageDraw.Draw(picture)
    for index, x in enumerate(range(0, width * 2, stripe * 2)):
        fill = colour if index % 2 else (222, 221, 218)
        draw.rectangle((x, 0, x + stripe * 2 - 1, height * 2), fill=fill)
        draw.pieslice((x, (height - 12) * 2, x + stripe * 2 - 1, (height + 12) * 2), 0, 180, fill=fill)
    draw.rectangle((0, 0, width * 2, 8), fill=shade(colour, 72))
    draw.rectangle((0, height * 2 - 4, width * 2, height * 2), fill=shade(colour, 84))
    return picture.reduce(2)


def _paint_clutter(image: Image.Image, size: int, ground: int, rng: np.random.Generator) -> None:
    for x in range(int(rng.integers(60, 200)), size, 430):
        post = lamp()
        image.paste(post, (x, ground + 40 - post.height), post)
        thing = (planter, litter_bin, bollards)[int(rng.integers(3))]()
        left = x + int(rng.integers(110, 300))
        image.paste(thing, (left, ground + 44 - thing.height), thing)
