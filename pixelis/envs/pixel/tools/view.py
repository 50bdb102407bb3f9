"""What the agent sees of a picture: an overview, or a square part of it, always at the same size."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from PIL import Image

from pixelis.errors import ImageSizeError

Box = tuple[float, float, float, float]
"""[x0, y0, x1, y1], normalised to 0-1 of the scene, x0 < x1 and y0 < y1."""

MAX_PIXELS = 100_000_000
"""Largest picture that is looked at, pixels (300 MB as RGB)."""

MIN_SIDE = 0.02
"""Smallest side of a view, share of the scene."""


def check_image_size(width: int, height: int) -> None:
    """Refuse pictures that are empty or would fill the memory.

    Raises:
        ImageSizeError: if width x height is not 1 to `MAX_PIXELS` pixels.
    """
    if width < 1 or height < 1 or width * height > MAX_PIXELS:
        raise ImageSizeError(
            f"expected an image of 1 to {MAX_PIXELS:,} pixels, got {width} x {height}; crop or resize it"
        )


def overview(image: Image.Image, view_size: int) -> np.ndarray:
    """The whole picture, averaged down.

    Args:
        image: RGB.
        view_size: V, pixels.

    Returns:
        uint8 [V, V, 3], C-contiguous.

    Raises:
        ImageSizeError: if the image or the view has no pixels or too many.
    """
    return crop_view(image, (0.0, 0.0, 1.0, 1.0), view_size)


def crop_view(image: Image.Image, box: Sequence[float], view_size: int) -> np.ndarray:
    """A part of the picture: averaged where it shrinks, bicubic where it grows.

    Args:
        image: RGB.
        box: [x0, y0, x1, y1] of the part, x0 < x1 and y0 < y1 within 0-1 of the image; a square keeps shapes.
        view_size: V, pixels.

    Returns:
        uint8 [V, V, 3], C-contiguous.

    Raises:
        ImageSizeError: if the image or the view has no pixels or too many.
    """
    check_image_size(*image.size)
    check_image_size(view_size, view_size)
    width, height = image.size
    part = (box[0] * width, box[1] * height, box[2] * width, box[3] * height)
    shrinks = part[2] - part[0] > view_size
    method = Image.Resampling.BILINEAR if shrinks else Image.Resampling.BICUBIC
    image, part = _average_blocks(image, part, view_size)
    return np.array(image.resize((view_size, view_size), method, box=part), dtype=np.uint8)


def _average_blocks(image: Image.Image, part: Box, view_size: int) -> tuple[Image.Image, Box]:
    """Shrink by the whole factor first, which keeps every view under 3 ms; `part` is in pixels."""
    factor = int(min(part[2] - part[0], part[3] - part[1]) / view_size)
    if factor < 2:
        return image, part
    left, top = int(part[0]), int(part[1])
    image = image.reduce(factor, (left, top, math.ceil(part[2]), math.ceil(part[3])))
    x0, x1 = ((x - left) / factor for x in part[::2])
    y0, y1 = ((y - top) / factor for y in part[1::2])
    return image, (x0, y0, x1, y1)


def square_box(center: Sequence[float], factor: float) -> Box:
    """The square view `factor` times closer than the overview, moved inside the scene.

    Args:
        center: x, y in 0-1; values outside are clipped, NaN counts as the middle.
        factor: 1 shows the whole scene; clipped to 1 to 1 / `MIN_SIDE`, NaN counts as 1.

    Returns:
        [x0, y0, x1, y1] with sides 1 / factor.
    """
    side = 1.0 if math.isnan(factor) else 1.0 / min(max(factor, 1.0), 1.0 / MIN_SIDE)
    x0, y0 = (_start(0.5 if math.isnan(v) else v, side) for v in center)
    return x0, y0, min(x0 + side, 1.0), min(y0 + side, 1.0)


def square_around(box: Sequence[float], margin: float) -> Box:
    """The square view that holds a box and some margin around it, moved inside the scene.

    Args:
        box: [x0, y0, x1, y1] in 0-1, corners in either order; values outside are clipped.
        margin: on each side, share of the box's longer side; 0 or more.

    Returns:
        [x0, y0, x1, y1] with equal sides of `MIN_SIDE` to 1.
    """
    x0, x1 = sorted((_clip(box[0]), _clip(box[2])))
    y0, y1 = sorted((_clip(box[1]), _clip(box[3])))
    side = max(x1 - x0, y1 - y0) * (1 + 2 * max(margin, 0.0))
    return square_box(((x0 + x1) / 2, (y0 + y1) / 2), 1 / max(side, MIN_SIDE))


def _clip(value: float) -> float:
    return 0.5 if math.isnan(value) else min(max(value, 0.0), 1.0)


def _start(middle: float, side: float) -> float:
    """Where a stretch of length `side` around `middle` starts so that it stays in 0-1."""
    return min(max(_clip(middle) - side / 2, 0.0), 1.0 - side)
