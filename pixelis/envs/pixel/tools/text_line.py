"""A cheap test for "this region holds one line of text", so that the slow text detector can be left out."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pixelis.envs.pixel.tools.masks import fill_holes

_STEEPEST = math.tan(math.radians(8))
_SURFACE = 54  # sum of RGB differences up to which a pixel is the board: noise of +-18 a channel
_LEAST_BOARD = 0.35  # share of the region that one plain board must fill
_MARGIN = 0.35  # of the line's height, kept around it: recognisers are trained on loose crops


def find_text_line(pixels: NDArray[np.uint8]) -> tuple[int, int, int, int] | None:
    """Return the box of the only line of text in a region, or None when there may be none or several.

    The region's main colour is the board. What differs from it and lies wholly on it is ink (so neither
    frames nor the street in the corners of a turned sign). The ink's connected components must look like the
    characters of one
    line: of similar height, no wider than a few characters, no far gaps, and their centres on one straight
    line of at most 8 degrees.

    Args:
        pixels: ``[H, W, 3]`` uint8 RGB.

    Returns:
        ``(x0, y0, x1, y1)`` in pixels of the region, half open, with a margin; or None.
    """
    import cv2

    height, width = pixels.shape[:2]
    if height > width:
        return None
    middle = np.median(pixels[::2, ::2].reshape(-1, 3), axis=0).astype(np.int16)
    difference = np.abs(pixels.astype(np.int16) - middle).sum(-1)
    ink = _ink_on_board(difference)
    if ink is None:
        return None
    _, _, stats, means = cv2.connectedComponentsWithStats(ink, connectivity=8)
    stats, centres = np.asarray(stats, np.int32), np.asarray(means, np.float64)
    kept = stats[1:, cv2.CC_STAT_HEIGHT] >= 4
    if not kept.any():
        return None
    return _line_of(stats[1:][kept], centres[1:][kept], (height, width))


def _ink_on_board(difference: NDArray[np.int16]) -> NDArray[np.uint8] | None:
    """Return the ink as 0/1 ``[H, W]``, or None if no plain board fills the region.

    Args:
        difference: how far each pixel is from the board's colour.
    """
    import cv2

    plain = (difference < _SURFACE).astype(np.uint8)
    _, labels, stats, _ = cv2.connectedComponentsWithStats(plain, connectivity=4)
    largest = 1 + int(stats[1:, cv2.CC_STAT_AREA].argmax()) if len(stats) > 1 else 0
    if largest == 0 or stats[largest, cv2.CC_STAT_AREA] < _LEAST_BOARD * difference.size:
        return None
    board = fill_holes((labels == largest).astype(np.uint8))
    drawn = board & (difference >= _SURFACE)
    if not drawn.any():
        return None
    # Half of the ink's own contrast separates strokes that blur has joined.
    contrast = float(np.percentile(difference[drawn], 80))
    return (board & (difference >= max(_SURFACE, 0.5 * contrast))).astype(np.uint8)


def _line_of(
    parts: NDArray[np.int32], centres: NDArray[np.float64], size: tuple[int, int]
) -> tuple[int, int, int, int] | None:
    """Return the padded box around components if they form one line.

    Args:
        parts: ``[N, 5]`` x, y, width, height, area.
        centres: ``[N, 2]`` x, y.
        size: height and width of the region.
    """
    letters = parts[:, 3] >= 0.6 * np.percentile(parts[:, 3], 75)
    # What is lower than a letter may be a dot or a dash; anything nearly as large means that this is no plain
    # line.
    if (parts[~letters, 4] > 0.4 * np.median(parts[letters, 4])).any():
        return None
    parts, centres = parts[letters], centres[letters]
    line_height = float(np.median(parts[:, 3]))
    if (
        not 2 <= len(parts) <= 40
        or parts[:, 2].max() > 4 * line_height
        or parts[:, 3].max() > 1.6 * line_height
    ):
        return None
    order = np.argsort(parts[:, 0])
    gaps = parts[order][1:, 0] - (parts[order][:-1, 0] + parts[order][:-1, 2])
    slope = _slope(centres)
    residual = centres[:, 1] - slope * centres[:, 0]
    if gaps.max() > 1.2 * line_height or abs(slope) > _STEEPEST or np.ptp(residual) > 0.5 * line_height:
        return None
    margin = round(_MARGIN * line_height) + 1
    x0, y0 = parts[:, 0].min() - margin, parts[:, 1].min() - margin
    x1, y1 = (parts[:, 0] + parts[:, 2]).max() + margin, (parts[:, 1] + parts[:, 3]).max() + margin
    return max(0, int(x0)), max(0, int(y0)), min(size[1], int(x1)), min(size[0], int(y1))


def _slope(points: NDArray[np.float64]) -> float:
    """Return the least-squares slope dy/dx of ``[N, 2]`` points."""
    x, y = points[:, 0] - points[:, 0].mean(), points[:, 1] - points[:, 1].mean()
    return float((x * y).sum() / max(1e-9, (x * x).sum()))
