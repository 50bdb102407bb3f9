"""Noise over a finished picture: the same bytes on every machine."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from annotated_types import Interval
from numpy.typing import NDArray
from PIL import Image

from pixelis.envs.schema import Int

SEEDS = 2**32
Seed = Annotated[Int, Interval(ge=0, le=SEEDS - 1)]
"""Of what a scene has at random: its noise, its ground."""
Noise = Annotated[Int, Interval(ge=0, le=64)]
"""Amplitude of a scene's pixel noise, grey levels (0: none)."""
_NOISE_TILE = 192


def add_noise(image: Image.Image, amplitude: int, seed: int) -> Image.Image:
    """Add a tiled pattern of integers from -amplitude to amplitude, clipped to 0-255."""
    pixels = np.array(image)
    add_noise_to(pixels, amplitude, seed)
    return Image.fromarray(pixels)


def add_noise_to(pixels: NDArray[np.uint8], amplitude: int, seed: int) -> None:
    """Add what `add_noise` adds, in place, to pixels uint8 ``[H, W, 3]``."""
    rng = np.random.Generator(np.random.PCG64(seed))
    tile = rng.integers(-amplitude, amplitude + 1, size=(_NOISE_TILE, _NOISE_TILE, 3), dtype=np.int8)
    band = np.tile(tile.view(np.uint8), (1, -(-pixels.shape[1] // _NOISE_TILE), 1))[:, : pixels.shape[1]]
    np.clip(pixels, amplitude, 255 - amplitude, out=pixels)
    for top in range(0, len(pixels), _NOISE_TILE):
        rows = pixels[top : top + _NOISE_TILE]
        rows += band[: len(rows)]  # two's complement: adding the byte of a negative number subtracts
