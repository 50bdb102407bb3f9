"""A grey table to lay things on: boards, a grain, nothing that stands out."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pixelis.envs.pixel.tools.palette import RGB

TONES: tuple[RGB, ...] = ((196, 194, 190), (178, 180, 183), (160, 160, 157), (208, 205, 199), (148, 151, 154))
_GRAIN = 256  # pixels after which the grain repeats


def paint_tabletop(size: int, seed: int) -> Image.Image:
    """A table from above, RGB, size x size pixels; the same bytes for the same arguments."""
    return Image.fromarray(tabletop_pixels(size, seed))


def tabletop_pixels(size: int, seed: int) -> NDArray[np.uint8]:
    """What `paint_tabletop` paints, as an array of its own: uint8 ``[size, size, 3]``."""
    rng = np.random.Generator(np.random.PCG64(seed))
    tone = np.array(TONES[int(rng.integers(len(TONES)))], np.int16)
    grain = _grain(int(rng.integers(4)))[..., None] + tone
    pixels = np.empty((size, size, 3), np.uint8)
    top = 0
    while top < size:  # boards of 90 to 160 pixels with a dark joint
        height, shift, offset = int(rng.integers(90, 161)), int(rng.integers(-4, 5)), int(rng.integers(90))
        board = grain[offset : offset + height] + shift
        board[:2] -= 12
        seen = board.astype(np.uint8)[: size - top]
        for left in range(0, size, _GRAIN):
            pixels[top : top + height, left : left + _GRAIN] = seen[:, : size - left]
        top += height
    return pixels


@lru_cache(maxsize=4)
def _grain(style: int) -> np.ndarray:
    """Grey-level offsets int16 [256, 256] of streaks along the boards."""
    rng = np.random.Generator(np.random.PCG64(style))
    streaks = rng.integers(-2, 3, size=(_GRAIN, _GRAIN // 32)).repeat(32, 1)
    return (streaks + rng.integers(-1, 2, size=(_GRAIN, _GRAIN))).astype(np.int16)
