"""Turn a SizeCompare scene into pixels: the same bytes on every machine, and quickly."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pixelis.envs.pixel.drawing.noise import add_noise
from pixelis.envs.pixel.drawing.shapes import coverage
from pixelis.envs.pixel.drawing.tabletop import paint_tabletop
from pixelis.envs.pixel.size_compare.scene import Shape, SizeScene
from pixelis.envs.pixel.tools.labels import Labels, Silhouette, label_view, silhouette
from pixelis.envs.pixel.tools.view import Box

CARD = (122, 124, 128)
_SOLID = [255 * (v >= 128) for v in range(256)]
_SHADE = 14  # a gradient's change of brightness to each side, percent
_STRIPE, _STRIPE_SHADE = 5, 5  # native pixels, percent
_SPECKLE, _SPECKLE_SHADE = 3, 6  # native pixels, percent


@lru_cache(maxsize=12)
def paint_sizes(scene: SizeScene) -> tuple[Image.Image, tuple[Silhouette, ...]]:
    """The picture of a scene, and what its shapes and then its cards cover.

    The last twelve are kept; the same image is handed to every caller: read it, never draw on it.
    """
    image = paint_tabletop(scene.size, scene.seed)
    shapes = tuple(_paste(image, shape.corners, shape) for shape in scene.shapes)
    cards = tuple(_paste(image, shape.card, None) for shape in scene.shapes if shape.card)
    return add_noise(image, scene.noise, scene.seed) if scene.noise else image, shapes + cards


def size_labels(scene: SizeScene, view_box: Box, view_size: int) -> Labels:
    """Which shape every pixel of a view shows: 1 + its index; the cards come after the shapes."""
    return label_view(paint_sizes(scene)[1], scene.size, view_box, view_size)


def _paste(image: Image.Image, corners: tuple[tuple[int, int], ...], shape: Shape | None) -> Silhouette:
    mask, left, top = coverage(np.array(corners))
    mask = mask.point(_SOLID)  # whole pixels only: a blurred outline has no exact area
    fill = CARD if shape is None else Image.fromarray(_fill(shape, mask.width, mask.height))
    image.paste(fill, (left, top, left + mask.width, top + mask.height), mask)
    return silhouette(mask, left, top)


def _fill(shape: Shape, width: int, height: int) -> NDArray[np.uint8]:
    """The shape's surface, uint8 ``[height, width, 3]``, in integer arithmetic."""
    percent = np.full((height, width), 100, np.int32)
    if shape.fill == "speckles":
        rng = np.random.Generator(np.random.PCG64(shape.angle))
        spots = rng.integers(0, 2, (-(-height // _SPECKLE), -(-width // _SPECKLE)))
        spots = spots.repeat(_SPECKLE, 0).repeat(_SPECKLE, 1)
        percent += (2 * spots[:height, :width] - 1) * _SPECKLE_SHADE
    elif shape.fill != "flat":
        angle = math.radians(shape.angle)
        across, down = round(math.cos(angle) * 1024), round(math.sin(angle) * 1024)
        along = across * (np.arange(width) - width // 2) + down * (np.arange(height) - height // 2)[:, None]
        if shape.fill == "gradient":
            percent += along * 2 * _SHADE // (1024 * max(width, height))
        else:
            percent += (along // (1024 * _STRIPE) % 2 * 2 - 1) * _STRIPE_SHADE
    rgb = np.array(shape.rgb, np.int32) * percent[..., None] // 100
    return np.clip(rgb, 0, 255).astype(np.uint8)
