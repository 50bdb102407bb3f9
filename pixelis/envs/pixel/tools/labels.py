"""Which object every pixel of a view shows: the ground truth that SEGMENT is scored against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pixelis.envs.pixel.tools.masks import Mask
from pixelis.envs.pixel.tools.view import Box

Labels = NDArray[np.uint16]
"""uint16 ``[V, V]``: 0 where no object is seen, else 1 + the object's index."""


@dataclass(frozen=True)
class Silhouette:
    """Where one object was painted.

    Attributes:
        left: column of the mask's first pixel, native pixels; may lie outside the scene.
        top: its row.
        mask: the pixels the object covers by at least half.
    """

    left: int
    top: int
    mask: Mask


def silhouette(coverage: Image.Image, left: int, top: int) -> Silhouette:
    """Return what a painter's coverage (mode L, 0-255) pasted at a place covers."""
    return Silhouette(left, top, np.asarray(coverage) >= 128)


def label_view(silhouettes: Sequence[Silhouette], scene_size: int, view_box: Box, view_size: int) -> Labels:
    """Return which silhouette the centre of every view pixel lies in; later ones hide earlier ones.

    Args:
        silhouettes: in the order of painting, at most 65,535.
        scene_size: side of the scene, native pixels.
        view_box: [x0, y0, x1, y1] of the square view, 0-1 of the scene.
        view_size: V.
    """
    labels = np.zeros((view_size, view_size), np.uint16)
    columns, rows = _native(scene_size, view_box, view_size)
    across = np.array([(s.left, s.left + s.mask.shape[1]) for s in silhouettes]).reshape(-1, 2)
    down = np.array([(s.top, s.top + s.mask.shape[0]) for s in silhouettes]).reshape(-1, 2)
    places = np.concatenate([np.searchsorted(columns, across), np.searchsorted(rows, down)], 1).tolist()
    for number, (shape, (x0, x1, y0, y1)) in enumerate(zip(silhouettes, places, strict=True), 1):
        if x0 < x1 and y0 < y1:
            seen = shape.mask[rows[y0:y1, None] - shape.top, columns[x0:x1] - shape.left]
            labels[y0:y1, x0:x1][seen] = number
    return labels


def label_map_view(label_map: NDArray[np.uint8], view_box: Box, view_size: int) -> Labels:
    """Return what a map of the whole scene says at the centre of every view pixel.

    For objects that are long and thin, such as cables, whose silhouettes would take more than one map.

    Args:
        label_map: uint8 ``[S, S]`` at native resolution, 0 where no object is seen.
        view_box: [x0, y0, x1, y1] of the square view, 0-1 of the scene.
        view_size: V.
    """
    columns, rows = _native(len(label_map), view_box, view_size)
    return label_map[rows[:, None], columns].astype(np.uint16)


def _native(scene_size: int, view_box: Box, view_size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the native columns and rows that the centres of a view's pixels lie in."""
    steps = (np.arange(view_size) + 0.5) * ((view_box[2] - view_box[0]) * scene_size / view_size)
    columns, rows = (np.floor(start * scene_size + steps).astype(np.int64) for start in view_box[:2])
    return columns, rows
