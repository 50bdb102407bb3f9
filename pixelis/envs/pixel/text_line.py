"""A cheap test for "this region holds one line of text", so that the slow text detector can be left out."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_STEEPEST = math.tan(math.radians(8))
_LEAST_CONTRAST = 60.0  # sum of the RGB differences between ink and surface
_MARGIN = 0.3  # of the line's height, kept around it: recognisers are trained on loose crops


def find_text_line(pixels: NDArray[np.uint8]) -> tuple[int, int, int, int] | None:
    """Return the box of the only line of text in a region, or None when there may be none or several.

    The ink is what differs from the region's main colour and does not touch its edge (backdrop in the corners
    of a turned sign, a frame). Its connected components must look like the characters of one line: of similar
    height, no wider than a few characters, no far gaps, and their centres on one straight line of at most 8
    degrees.

    Args:
        pixels: ``[H, W, 3]`` uint8 RGB.

    Returns:
        ``(x0, y0, x1, y1)`` in pixels of the region, half open, with a margin; or None.
    """
    import cv2

    height, width = pixels.shape[:2]
    difference = np.abs(
        pixels.astype(np.int16) - np.median(pixels[::2, ::2], axis=(0, 1)).astype(np.int16)
    ).sum(-1)
    peak = float(np.percentile(difference, 98))
    if peak < _LEAST_CONTRAST or height > width:
        return None
    ink = (difference > 0.5 * peak).astype(np.uint8)
    _, _, stats, centres = cv2.connectedComponentsWithStats(ink, connectivity=8)
    parts = stats[1:]
    inside = (parts[:, 0] > 0) & (parts[:, 1] > 0)
    inside &= (parts[:, 0] + parts[:, 2] < width) & (parts[:, 1] + parts[:, 3] < height)
    inside &= parts[:, 3] >= 4
    if not inside.any():
        return None
    return _line_of(parts[inside], centres[1:][inside], (height, width))


def _line_of(
    parts: NDArray[np.int32], centres: NDArray[np.float64], size: tuple[int, int]
) -> tuple[int, int, int, int] | None:
    """Return the padded box around components if they form one line.

    Args:
        parts: ``[N, 5]`` x, y, width, height, area.
        centres: ``[N, 2]`` x, y.
        size: height and width of the region.
    """
    tall = parts[:, 3] >= 0.6 * parts[:, 3].max()
    letters, middle = parts[tall], centres[tall]
    line_height = float(np.median(letters[:, 3]))
    if not 2 <= len(letters) <= 40 or letters[:, 2].max() > 4 * line_height:
        return None
    order = np.argsort(letters[:, 0])
    gaps = letters[order][1:, 0] - (letters[order][:-1, 0] + letters[order][:-1, 2])
    slope = _slope(middle)
    residual = middle[:, 1] - slope * middle[:, 0]
    if gaps.max() > 2 * line_height or abs(slope) > _STEEPEST:
        return None
    if np.ptp(residual) > 0.5 * line_height:
        return None
    margin = round(_MARGIN * line_height) + 1
    x0, y0 = letters[:, 0].min() - margin, letters[:, 1].min() - margin
    x1, y1 = (letters[:, 0] + letters[:, 2]).max() + margin, (letters[:, 1] + letters[:, 3]).max() + margin
    return max(0, int(x0)), max(0, int(y0)), min(size[1], int(x1)), min(size[0], int(y1))


def _slope(points: NDArray[np.float64]) -> float:
    """Return the least-squares slope dy/dx of ``[N, 2]`` points."""
    x, y = points[:, 0] - points[:, 0].mean(), points[:, 1] - points[:, 1].mean()
    return float((x * y).sum() / max(1e-9, (x * x).sum()))
