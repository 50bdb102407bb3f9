"""Flat convex shapes as polygons: made, measured, turned, cut and filled."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

Polygon = NDArray[np.float64]
"""``[N, 2]``: x, y of the corners in order, y down, in native pixels."""

SUBPIXELS = 8
"""Corners are painted on a grid of this many steps a native pixel."""

GROWTH = 0.5 / SUBPIXELS
"""How far outside its corners a polygon is painted, native pixels: Pillow paints the outline's pixels too."""

SHAPES: tuple[str, ...] = ("disc", "ellipse", "square", "rectangle", "triangle", "pentagon", "hexagon")
_ROUND = 64  # corners of a disc


def unit_shape(kind: str, stretch: float) -> Polygon:
    """A shape of area 1 around the origin.

    Args:
        kind: one of `SHAPES`.
        stretch: length over width of an ellipse or rectangle, 1 or more; the others are regular.
    """
    corners = {"square": 4, "rectangle": 4, "triangle": 3, "pentagon": 5, "hexagon": 6}.get(kind, _ROUND)
    angles = (np.arange(corners) + 0.5) * (2 * math.pi / corners)
    shape = np.stack([np.cos(angles), np.sin(angles)], 1)
    if kind in ("ellipse", "rectangle"):
        shape *= (math.sqrt(stretch), 1 / math.sqrt(stretch))
    return shape / math.sqrt(polygon_area(shape))


def polygon_area(polygon: Polygon) -> float:
    """Area of a polygon without crossings (shoelace formula, Meister 1769); 0 with fewer than 3 corners."""
    (x, y), (next_x, next_y) = polygon.T, following(polygon).T
    return abs(float((x * next_y - y * next_x).sum())) / 2


def following(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each corner's next one (np.roll takes ten times as long)."""
    return np.concatenate([values[1:], values[:1]])


def turned(polygon: Polygon, degrees: float) -> Polygon:
    """The polygon turned about the origin, counter-clockwise as seen."""
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return polygon @ np.array([[cos, -sin], [sin, cos]])


def cut(polygon: Polygon, direction: float, depth: float) -> Polygon:
    """What is left of a convex polygon when its far end in a direction is taken off.

    Sutherland and Hodgman 1974, for one edge.

    Args:
        polygon: convex.
        direction: degrees, counter-clockwise as seen from the x axis.
        depth: how much is taken off, share of the polygon's length in that direction, 0-1.
    """
    along = polygon @ unit(direction)
    limit = along.max() - depth * (along.max() - along.min())
    kept = []
    corners, reaches = polygon.tolist(), along.tolist()
    for (x, y), (next_x, next_y), reach, next_reach in zip(
        corners, corners[1:] + corners[:1], reaches, reaches[1:] + reaches[:1], strict=True
    ):
        if reach <= limit:
            kept.append((x, y))
        if (reach - limit) * (next_reach - limit) < 0:
            share = (limit - reach) / (next_reach - reach)
            kept.append((x + (next_x - x) * share, y + (next_y - y) * share))
    return np.array(kept)


def cover(polygon: Polygon, direction: float, depth: float, rim: float) -> Polygon:
    """The rectangle that hides what `cut` takes off, with a rim on its three other sides."""
    ahead = unit(direction)
    aside = np.array([-ahead[1], ahead[0]])
    along, across = polygon @ ahead, polygon @ aside
    near = along.max() - depth * (along.max() - along.min())
    far, left, right = along.max() + rim, across.min() - rim, across.max() + rim
    return np.array(
        [a * ahead + b * aside for a, b in ((near, left), (near, right), (far, right), (far, left))]
    )


def unit(degrees: float) -> NDArray[np.float64]:
    """The direction at an angle counter-clockwise as seen, as a vector with y down."""
    return np.array([math.cos(math.radians(degrees)), -math.sin(math.radians(degrees))])


def coverage(corners: NDArray[np.integer]) -> tuple[Image.Image, int, int]:
    """How far a polygon covers each native pixel (mode L, 0-255), and the column and row it starts at.

    Args:
        corners: ``[N, 2]``, x and y in steps of 1 / `SUBPIXELS` native pixels.
    """
    left, top = (int(value) // SUBPIXELS for value in corners.min(0))
    right, bottom = (int(value) // SUBPIXELS + 1 for value in corners.max(0))
    mask = Image.new("L", ((right - left) * SUBPIXELS, (bottom - top) * SUBPIXELS))
    points = [(int(x) - left * SUBPIXELS, int(y) - top * SUBPIXELS) for x, y in corners]
    ImageDraw.Draw(mask).polygon(points, fill=255)
    return mask.reduce(SUBPIXELS), left, top
