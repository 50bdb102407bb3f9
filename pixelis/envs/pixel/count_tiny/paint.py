"""Turn a CountTiny scene into pixels: the same bytes on every machine, and quickly."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from PIL import Image

from pixelis.envs.pixel.count_tiny.scene import CountScene
from pixelis.envs.pixel.drawing.noise import add_noise
from pixelis.envs.pixel.drawing.tabletop import paint_tabletop
from pixelis.envs.pixel.tools.labels import Labels, Silhouette, label_view
from pixelis.envs.pixel.tools.masks import Mask
from pixelis.envs.pixel.tools.palette import PALETTE
from pixelis.envs.pixel.tools.view import Box

_SHADOW = (112, 112, 114)


@lru_cache(maxsize=12)
def paint_pieces(scene: CountScene) -> tuple[Image.Image, tuple[Silhouette, ...]]:
    """The picture of a scene, and what each of its pieces covers.

    The last twelve are kept; the same image is handed to every caller: read it, never draw on it.
    """
    pixels = np.array(paint_tabletop(scene.side, scene.seed))
    silhouettes = tuple(_silhouette(scene, piece) for piece in scene.pieces)
    for shape in silhouettes:  # a shadow of one pixel at the lower right
        _stamp(pixels, Silhouette(shape.left + 1, shape.top + 1, shape.mask), _SHADOW)
    for shape, piece in zip(silhouettes, scene.pieces, strict=True):
        _stamp(pixels, shape, PALETTE[scene.looks[piece[2]][0]])
    image = Image.fromarray(pixels)
    return add_noise(image, scene.noise, scene.seed) if scene.noise else image, silhouettes


def count_labels(scene: CountScene, view_box: Box, view_size: int) -> Labels:
    """Which piece every pixel of a view shows: 1 + its index in the scene, 0 for the table."""
    return label_view(paint_pieces(scene)[1], scene.side, view_box, view_size)


def _silhouette(scene: CountScene, piece: tuple[int, int, int, int]) -> Silhouette:
    x, y, look, standing = piece
    mask = _mask(scene.looks[look][1], scene.size, bool(standing))
    return Silhouette(x - mask.shape[1] // 2, y - mask.shape[0] // 2, mask)


@lru_cache(maxsize=64)
def _mask(kind: str, size: int, standing: bool) -> Mask:
    if kind == "bead":
        steps = 2 * np.arange(size) + 1 - size
        mask = steps**2 + steps[:, None] ** 2 <= size * size
    else:
        mask = np.ones((size // 2 if kind == "stick" else size, size), bool)
    mask = mask.T if standing else mask
    mask.setflags(write=False)
    return mask


def _stamp(pixels: np.ndarray, shape: Silhouette, rgb: tuple[int, int, int]) -> None:
    height, width = shape.mask.shape
    pixels[shape.top : shape.top + height, shape.left : shape.left + width][shape.mask] = rgb
