"""Types and clean-up of binary masks, shared by the segmentation methods."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
"""bool ``[H, W]``."""

Image = NDArray[np.uint8]
"""uint8 ``[H, W, 3]``."""


def fill_holes(mask: NDArray[np.uint8]) -> Mask:
    """Return a 0/1 mask with one-pixel gaps closed and everything inside its outlines set.

    Args:
        mask: uint8 ``[H, W]``, 0 or 1.
    """
    import cv2

    padded = np.pad(mask, 1)  # closing would grow a mask along the image's edge
    closed = cv2.morphologyEx(padded, cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8))
    contours, _ = cv2.findContours(closed, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    filled = np.zeros_like(padded)
    cv2.drawContours(filled, contours, -1, (1,), cv2.FILLED)
    return filled[1:-1, 1:-1].astype(bool)


def stroke_width(mask: Mask) -> float:
    """Return the width of a mask's thickest part in pixels: twice the largest distance to its edge."""
    import cv2

    padded = np.pad(mask.astype(np.uint8), 1)
    return 2 * float(cv2.distanceTransform(padded, cv2.DIST_L2, 3).max())
