"""Segmentation of a view with no learned weights: at a point, or in a box.

The methods are old and well understood: flood filling at the tolerance where the area is most stable (the
idea of MSER, Matas et al. 2002) and GrabCut (Rother et al. 2004). What stands out by itself is listed by
`salient`. All coordinates are pixels of the view. OpenCV is imported at the first call, to keep ``import
pixelis`` light.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pixelis.envs.pixel.tools.masks import Image, Mask, fill_holes, stroke_width
from pixelis.envs.pixel.tools.salient import Region, salient_regions
from pixelis.errors import ImageSizeError

__all__ = ["Region", "salient_regions", "segment_box", "segment_point"]

_TOLERANCES = (4, 6, 8, 10, 13, 16, 20, 25, 31, 38, 46)
_SMALLEST_SEGMENT = 30  # pixels; below this a flood has only found noise
_STEADY = 0.02  # change of area that noise alone makes; the first run of such floods is the object
_EDGE = 24  # difference of 8-bit Lab values in 3 x 3 pixels; blurred outlines have more, noise has less
_BLOT = 16  # pixels; a letter this small has lost its strokes to the smoothing
_LARGEST_SHARE = 0.6  # of the view; above this a flood has leaked into the background


# ---------------------------------------------------------------------- point


def segment_point(view: Image, x: int, y: int) -> Mask:
    """Return the object at a point: the flood from it whose area depends least on the tolerance.

    The view is smoothed and flooded in Lab at rising tolerances; among the floods of a plausible size the one
    with the smallest relative change of area to its neighbours wins. Holes are filled, so the text on a sign
    belongs to the sign; a point on a letter selects the sign around it (see :func:`_enclosing_surface`).

    Args:
        view: ``[H, W, 3]`` uint8 RGB.
        x: column, 0 to W - 1.
        y: row, 0 to H - 1.

    Returns:
        bool ``[H, W]``; the pixel (x, y) is always in it.

    Raises:
        ImageSizeError: the point is outside the view.
    """
    height, width = view.shape[:2]
    if not (0 <= x < width and 0 <= y < height):
        raise ImageSizeError(f"The point must be inside the {width} x {height} view, got ({x}, {y}).")
    smooth = _smooth_lab(view)
    seed_x, seed_y = _off_the_edge(smooth, x, y)
    flood = _stable_flood(smooth, seed_x, seed_y)
    surface = _enclosing_surface(smooth, flood, seed_x, seed_y)
    found = fill_holes(flood) if surface is None else surface
    found[y, x] = True
    return found


def _smooth_lab(view: Image) -> Image:
    """Return the view in 8-bit Lab, noise removed and edges kept."""
    import cv2

    smooth = cv2.bilateralFilter(cv2.medianBlur(np.ascontiguousarray(view), 5), 7, 30, 5)
    return np.asarray(cv2.cvtColor(smooth, cv2.COLOR_RGB2LAB), np.uint8)


def _off_the_edge(lab: Image, x: int, y: int) -> tuple[int, int]:
    """Return the point, or, if it lies on a blurred outline, the flattest pixel within three of it."""
    import cv2

    left, top = max(0, x - 4), max(0, y - 4)
    window = lab[top : y + 5, left : x + 5]
    gradient = cv2.morphologyEx(window, cv2.MORPH_GRADIENT, np.ones((3, 3), np.uint8)).max(-1)
    if gradient[y - top, x - left] <= _EDGE:
        return x, y
    row, column = np.unravel_index(int(gradient.argmin()), gradient.shape)
    return left + int(column), top + int(row)


def _flood(lab: Image, x: int, y: int, tolerance: int) -> NDArray[np.uint8]:
    """Return the 4-connected pixels within ``tolerance`` of the seed in every channel, as 0/1."""
    import cv2

    mask = np.zeros((lab.shape[0] + 2, lab.shape[1] + 2), np.uint8)
    flags = 4 | (1 << 8) | cv2.FLOODFILL_MASK_ONLY | cv2.FLOODFILL_FIXED_RANGE
    cv2.floodFill(lab, mask, (x, y), (0, 0, 0), (tolerance,) * 3, (tolerance,) * 3, flags)
    return mask[1:-1, 1:-1]


def _stable_flood(lab: Image, x: int, y: int) -> NDArray[np.uint8]:
    """Return the most stable flood of the first run of steady tolerances, as 0/1 with its holes."""
    floods = [_flood(lab, x, y, tolerance) for tolerance in _TOLERANCES]
    areas = np.array([int(flood.sum()) for flood in floods], np.float64)
    change = (areas[2:] - areas[:-2]) / areas[1:-1]
    plausible = (areas[1:-1] >= _SMALLEST_SEGMENT) & (areas[1:-1] <= _LARGEST_SHARE * lab[..., 0].size)
    # The background itself is a fair answer when nothing smaller was found.
    instability = np.where(plausible, change, change + 1e6)
    steady = instability <= max(_STEADY, float(instability.min()))
    first = int(steady.argmax())
    length = int(np.append(~steady[first:], True).argmax())
    run = instability[first : first + length]
    return floods[1 + first + int(run.argmin())]


def _enclosing_surface(lab: Image, flood: NDArray[np.uint8], x: int, y: int) -> Mask | None:
    """Return the surface a thin detail is drawn on, holes filled, or None when the flood is no such detail.

    A letter is thin (its strokes are much narrower than it is tall; small ones blur to a blot) and lies
    wholly inside one other segment that ends within the view. A wire or a frame is thin too, but its
    surroundings reach the view's border.
    """
    import cv2

    rows, columns = np.flatnonzero(flood.any(1)), np.flatnonzero(flood.any(0))
    sides = sorted((int(np.ptp(rows)) + 1, int(np.ptp(columns)) + 1))
    if sides[1] > _BLOT and stroke_width(flood > 0) > 0.6 * sides[0]:
        return None
    # The nearest pixels are a blurred edge: the ring starts behind it.
    ring = cv2.dilate(flood, np.ones((13, 13), np.uint8)) > cv2.dilate(flood, np.ones((7, 7), np.uint8))
    ring_ys, ring_xs = np.nonzero(ring)
    if not len(ring_xs):
        return None
    colours = lab[ring_ys, ring_xs].astype(np.int32)
    seed = int(np.abs(colours - np.median(colours, axis=0)).sum(1).argmin())
    surface = fill_holes(_stable_flood(lab, int(ring_xs[seed]), int(ring_ys[seed])))
    border = surface[0].any() or surface[-1].any() or surface[:, 0].any() or surface[:, -1].any()
    inside = surface[y, x] and surface[flood > 0].mean() > 0.9
    return surface if inside and not border else None


# ---------------------------------------------------------------------- box

_GRABCUT_SIDE = 160  # pixels; larger crops are shrunk, which bounds the time
_GRABCUT_ITERATIONS = 3


def segment_box(view: Image, box: tuple[int, int, int, int]) -> Mask:
    """Return the object a box is drawn around, by GrabCut.

    If that finds nothing, a stable flood from the centre decides. Everything outside the box is background;
    the crop keeps a margin of half the box to learn its colours. OpenCV's random generator is seeded, so
    equal input gives an equal mask.

    Args:
        view: ``[H, W, 3]`` uint8 RGB.
        box: ``(x0, y0, x1, y1)`` in pixels, half open; clipped to the view.

    Returns:
        bool ``[H, W]``, not empty, inside the box unless the flood was used.

    Raises:
        ImageSizeError: the box has no pixel inside the view.
    """
    height, width = view.shape[:2]
    x0, y0, x1, y1 = max(0, box[0]), max(0, box[1]), min(width, box[2]), min(height, box[3])
    if x1 <= x0 or y1 <= y0:
        raise ImageSizeError(f"The box must cover pixels of the {width} x {height} view, got {box}.")
    mask = _grabcut(view, (x0, y0, x1, y1))
    if mask.any():
        return mask
    return segment_point(view, (x0 + x1) // 2, (y0 + y1) // 2)


def _grabcut(view: Image, box: tuple[int, int, int, int]) -> Mask:
    import cv2

    height, width = view.shape[:2]
    x0, y0, x1, y1 = box
    margin_x, margin_y = max(4, (x1 - x0) // 2), max(4, (y1 - y0) // 2)
    left, top = max(0, x0 - margin_x), max(0, y0 - margin_y)
    right, bottom = min(width, x1 + margin_x), min(height, y1 + margin_y)
    scale = min(1.0, _GRABCUT_SIDE / max(right - left, bottom - top))
    size = max(1, round((right - left) * scale)), max(1, round((bottom - top) * scale))
    crop = cv2.resize(np.ascontiguousarray(view[top:bottom, left:right]), size, interpolation=cv2.INTER_AREA)
    labels = np.full(crop.shape[:2], cv2.GC_BGD, np.uint8)
    sx, sy = size[0] / (right - left), size[1] / (bottom - top)
    rows = slice(round((y0 - top) * sy), max(round((y0 - top) * sy) + 1, round((y1 - top) * sy)))
    columns = slice(round((x0 - left) * sx), max(round((x0 - left) * sx) + 1, round((x1 - left) * sx)))
    labels[rows, columns] = cv2.GC_PR_FGD
    mask = np.zeros((height, width), bool)
    if (labels == cv2.GC_BGD).sum() < 10 or (labels == cv2.GC_PR_FGD).sum() < 10:
        return mask  # too few samples for the two colour models of five Gaussians each
    cv2.setRNGSeed(0)
    models = np.zeros((1, 65)), np.zeros((1, 65))
    cv2.grabCut(crop, labels, (0, 0, 0, 0), *models, _GRABCUT_ITERATIONS, cv2.GC_INIT_WITH_MASK)
    found = np.isin(labels, (cv2.GC_FGD, cv2.GC_PR_FGD)).astype(np.uint8)
    found = fill_holes(found).astype(np.uint8)
    full = cv2.resize(found, (right - left, bottom - top), interpolation=cv2.INTER_LINEAR_EXACT)
    mask[top:bottom, left:right] = full > 0
    outside = np.ones((height, width), bool)
    outside[y0:y1, x0:x1] = False
    mask[outside] = False
    return mask
