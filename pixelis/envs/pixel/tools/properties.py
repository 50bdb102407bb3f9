"""Measurements of one segment: size, place, colour and shape, each by a published formula."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelis.envs.pixel.tools.colours import dominant_colour, name_colour
from pixelis.errors import ImageSizeError

_ROWS = ("top", "", "bottom")
_COLUMNS = ("left", "", "right")
_SIZE_WORDS = ((0.01, "tiny"), (0.05, "small"), (0.2, "medium"), (0.5, "large"), (math.inf, "very large"))


@dataclass(frozen=True)
class Properties:
    """What :func:`measure` found. Lengths are pixels of the view, x to the right and y down.

    Attributes:
        area: pixels in the mask.
        area_share: area as a share of the view, 0-1.
        box: ``(x0, y0, x1, y1)``, half open: the last column is ``x1 - 1``.
        centroid: mean ``(x, y)`` of the pixel centres; pixel (0, 0) has its centre at (0.5, 0.5).
        mean_rgb: mean sRGB colour, 0-255.
        dominant_rgb: colour of the main surface (ink and edges left out), 0-255.
        colour: name of the dominant colour.
        perimeter: length of the outer outline, see :func:`outline_length`.
        circularity: 4 pi A / P^2 (Cox 1927), 1 for a disc, pi/4 for a square; never above 1.
        solidity: area / area of the convex hull, in (0, 1].
        aspect_ratio: long axis / short axis of the rectangle (or ellipse) with the same second moments, >= 1.
        orientation_degrees: angle of the long axis, counter-clockwise as seen, in (-90, 90]; 0 when there is
            none.
        size: "tiny" (< 1 % of the view), "small" (< 5 %), "medium" (< 20 %), "large" (< 50 %), "very large".
        position: where the centroid lies on a 3 x 3 grid, e.g. "top left", "bottom", "centre".
    """

    area: int
    area_share: float
    box: tuple[int, int, int, int]
    centroid: tuple[float, float]
    mean_rgb: tuple[int, int, int]
    dominant_rgb: tuple[int, int, int]
    colour: str
    perimeter: float
    circularity: float
    solidity: float
    aspect_ratio: float
    orientation_degrees: float
    size: str
    position: str

    def to_json(self) -> dict[str, Any]:
        """Return the measurements as JSON values (tuples become lists)."""
        return {
            key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()
        }


def measure(view: NDArray[np.uint8], mask: NDArray[np.bool_]) -> Properties:
    """Measure the pixels of ``mask`` in ``view``.

    Args:
        view: ``[H, W, 3]`` uint8 RGB.
        mask: ``[H, W]`` bool; several separate parts are measured as one object.

    Raises:
        ImageSizeError: the mask has another size than the view, or no pixel is set.
    """
    if mask.shape != view.shape[:2]:
        raise ImageSizeError(f"The mask must have the view's size {view.shape[:2]}, got {mask.shape}.")
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    if not len(rows):
        raise ImageSizeError(
            "The mask has no pixels, so there is nothing to measure: segment something first."
        )
    box = (int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1)
    patch = mask[
        box[1] : box[3], box[0] : box[2]
    ]  # a view has many small segments: the rest is not touched again
    ys, xs = np.nonzero(patch)
    area, (height, width) = len(xs), mask.shape
    centroid = (float(xs.mean()) + box[0] + 0.5, float(ys.mean()) + box[1] + 0.5)
    perimeter, hull_area = outline_length(patch), _hull_area(patch)
    aspect_ratio, orientation = _axes(xs, ys)
    part = view[box[1] : box[3], box[0] : box[2]]
    red, green, blue = part[patch].mean(axis=0)
    dominant = dominant_colour(part, patch)
    return Properties(
        area=area,
        area_share=area / mask.size,
        box=box,
        centroid=centroid,
        mean_rgb=(round(float(red)), round(float(green)), round(float(blue))),
        dominant_rgb=dominant,
        colour=name_colour(dominant),
        perimeter=perimeter,
        circularity=min(1.0, 4 * math.pi * area / perimeter**2),
        solidity=min(1.0, area / hull_area),
        aspect_ratio=aspect_ratio,
        orientation_degrees=orientation,
        size=next(word for limit, word in _SIZE_WORDS if area / mask.size < limit),
        position=position_words(centroid[0] / width, centroid[1] / height),
    )


def position_words(x: float, y: float) -> str:
    """Return the 3 x 3 grid cell of a point given in shares (0-1) of the view, e.g. ``"top left"``."""
    words = f"{_ROWS[min(2, int(y * 3))]} {_COLUMNS[min(2, int(x * 3))]}".strip()
    return words or "centre"


def outline_length(mask: NDArray[np.bool_]) -> float:
    """Return the length of the mask's outer outline in pixels (holes are not counted).

    Each outer contour joins the centres of the border pixels; it is simplified by Douglas-Peucker (0.7 px),
    which undoes the staircase, and moved outwards by half a pixel to the pixels' outer edge. Moving a polygon
    out by d adds ``2 d tan(turn / 2)`` at every corner (mitred Steiner formula), so a w x h rectangle
    measures exactly 2 (w + h) and a disc of radius r about 2 pi r.
    """
    import cv2

    contours, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    return sum(_offset_length(cv2.approxPolyDP(contour, 0.7, True).reshape(-1, 2)) for contour in contours)


def _offset_length(corners: NDArray[Any]) -> float:
    """Return the perimeter of a closed polygon of pixel centres moved out by half a pixel."""
    if len(corners) == 1:
        return 4.0  # one pixel
    edges = np.roll(corners, -1, axis=0) - corners.astype(np.float64)
    following = np.roll(edges, -1, axis=0)
    cross = edges[:, 0] * following[:, 1] - edges[:, 1] * following[:, 0]
    turns = np.arctan2(cross, (edges * following).sum(1))
    if len(corners) == 2:
        turns = np.abs(turns)  # out and back along a line one pixel wide: two half turns
    turns *= -1 if turns.sum() < 0 else 1
    # The end of a one-pixel-wide line is a half turn, whose square cap is two pixels longer than the centre
    # line.
    corner_lengths = np.clip(np.tan(np.clip(turns, -3.1, 3.1) / 2), -2, 2)
    return float(np.hypot(edges[:, 0], edges[:, 1]).sum() + corner_lengths.sum())


def _hull_area(mask: NDArray[np.bool_]) -> float:
    """Return the area of the convex hull of the pixels' squares (not only of their centres)."""
    import cv2

    contours, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    centres = np.concatenate(contours).reshape(-1, 2)
    corners = np.concatenate([centres + offset for offset in ((0, 0), (1, 0), (0, 1), (1, 1))])
    return float(cv2.contourArea(cv2.convexHull(corners.astype(np.int32))))


def _axes(xs: NDArray[np.intp], ys: NDArray[np.intp]) -> tuple[float, float]:
    """Return aspect ratio (>= 1) and orientation in degrees from the second central moments (Hu 1962).

    Each pixel is a unit square, not a point, which adds 1/12 to both variances: a w x h rectangle then has
    exactly the variances w^2/12 and h^2/12, and the ratio w/h.
    """
    xx, yy = float(xs.var()) + 1 / 12, float(ys.var()) + 1 / 12
    xy = float(((xs - xs.mean()) * (ys - ys.mean())).mean())
    spread = math.hypot(xx - yy, 2 * xy)
    ratio = math.sqrt((xx + yy + spread) / (xx + yy - spread))
    if spread < 1e-9 * (xx + yy):
        return ratio, 0.0
    # y points down in an image; the sign makes the angle counter-clockwise as seen.
    degrees = -math.degrees(0.5 * math.atan2(2 * xy, xx - yy))
    return ratio, 90.0 if degrees <= -90 else degrees + 0.0
