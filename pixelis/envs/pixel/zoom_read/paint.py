"""Turn a scene into pixels: the same bytes on every machine, and quickly.

Only Pillow with the package's own fonts and integer arithmetic is used.
"""

from __future__ import annotations

from functools import lru_cache

from PIL import Image

from pixelis.envs.pixel.drawing.noise import add_noise
from pixelis.envs.pixel.drawing.sign_paint import paste_sign
from pixelis.envs.pixel.drawing.signs import Scene
from pixelis.envs.pixel.tools.labels import Labels, Silhouette, label_view
from pixelis.envs.pixel.tools.view import Box, check_image_size
from pixelis.envs.pixel.zoom_read.backdrop import paint_backdrop
from pixelis.errors import ImageSizeError

MIN_SCENE_SIZE = 768
"""Smallest side of a scene, pixels: a house with a shop and a floor above it."""


def paint(scene: Scene) -> Image.Image:
    """The picture of a scene, RGB, `scene.size` pixels square.

    The last twelve pictures are kept (7 MB each at the default size), so that a group of environments on one
    seed paints once. The same object is handed to every caller: read it, never draw on it (`.copy()` first).

    Raises:
        ImageSizeError: if the scene has fewer than `MIN_SCENE_SIZE` pixels a side, or too many.
    """
    return _painted(scene)[0]


def sign_labels(scene: Scene, view_box: Box, view_size: int) -> Labels:
    """Which sign every pixel of a view shows: 1 + its index in the scene, 0 for the street."""
    return label_view(_painted(scene)[1], scene.size, view_box, view_size)


def paint_uncached(scene: Scene) -> tuple[Image.Image, tuple[Silhouette, ...]]:
    """The picture of a scene, as `paint` gives it but not kept, and where its signs are in it."""
    check_image_size(scene.size, scene.size)
    if scene.size < MIN_SCENE_SIZE:
        raise ImageSizeError(f"expected a scene of at least {MIN_SCENE_SIZE} pixels a side, got {scene.size}")
    image = paint_backdrop(scene.size, scene.backdrop_seed)
    silhouettes = tuple(paste_sign(image, sign) for sign in scene.signs)
    return add_noise(image, scene.noise, scene.backdrop_seed) if scene.noise else image, silhouettes


_painted = lru_cache(maxsize=12)(paint_uncached)
