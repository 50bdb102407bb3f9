"""The smooth curves that cables follow through a grid of tiles, and whether the eye can follow them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pixelis.envs.pixel.wire_trace.grid import BENDS_LEFT, EXITS, LEFT, RIGHT, TOP, Strand

Curve = NDArray[np.float64]
"""``[STEPS + 1, 2]``: x, y of points along a strand, native pixels."""

STEPS = 16
LEAST_ANGLE = 45.0
"""Degrees between two cables where they cross, at least."""

LEAST_GAP = 20.0
"""Native pixels between two cables that pass each other in a tile, at least."""

LEAST_DISTANCE = 50.0
"""Native pixels between two crossings, at least."""

_REACH = 0.3  # length of a Bézier handle, share of the grid's pitch
_FIRST_SIDES = tuple((TOP, RIGHT if EXITS[kind][TOP] != RIGHT else LEFT) for kind in range(4))


@dataclass(frozen=True)
class Mesh:
    """Corners of the tiles, and where on their sides the cables go through.

    Attributes:
        corners: ``[G + 1, G + 1, 2]``, x and y in native pixels.
        level: ``[G + 1, G]``, where on each upper or lower side, share of it from the left.
        upright: ``[G, G + 1]``, where on each left or right side, share of it from the top.
    """

    corners: NDArray[np.float64]
    level: NDArray[np.float64]
    upright: NDArray[np.float64]

    @property
    def grid(self) -> int:
        """G."""
        return len(self.upright)

    def gates(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return where cables go through the sides of every tile, and the directions into it.

        Both are ``[G * G, 4, 2]``: tile, side (top, right, bottom, left), x and y. A direction has length 1.
        """
        level = _between(self.corners[:, :-1], self.corners[:, 1:], self.level)
        upright = _between(self.corners[:-1], self.corners[1:], self.upright)
        down = _normals(self.corners[:, 1:] - self.corners[:, :-1])
        right = -_normals(self.corners[1:] - self.corners[:-1])
        places = np.stack([level[:-1], upright[:, 1:], level[1:], upright[:, :-1]], 2)
        inward = np.stack([down[:-1], -right[:, 1:], -down[1:], right[:, :-1]], 2)
        return places.reshape(-1, 4, 2), inward.reshape(-1, 4, 2)


def _between(
    start: NDArray[np.float64], end: NDArray[np.float64], share: NDArray[np.float64]
) -> NDArray[np.float64]:
    return start + (end - start) * share[..., None]


def _normals(edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn vectors by 90 degrees, from right to down, and give them length 1."""
    turned = np.stack([-edges[..., 1], edges[..., 0]], -1)
    return turned / np.sqrt((turned * turned).sum(-1, keepdims=True))


def all_curves(mesh: Mesh) -> NDArray[np.float64]:
    """Return the curve from every side of every tile to every other: ``[G * G, 4, 4, STEPS + 1, 2]``.

    Cubic Bézier curves that leave every side at a right angle, so that a cable goes on smoothly in the next
    tile. Their handles, 0.3 of the pitch, keep them inside their tile.
    """
    places, inward = mesh.gates()
    pitch = (mesh.corners[-1, -1, 0] - mesh.corners[0, 0, 0]) / mesh.grid
    handles = places + inward * (_REACH * pitch)
    t = (np.arange(STEPS + 1) / STEPS)[:, None]
    a, b, c, d = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
    near = a * places[:, :, None] + b * handles[:, :, None]
    far = c * handles[:, :, None] + d * places[:, :, None]
    return near[:, :, None] + far[:, None]


def strand_curve(curves: NDArray[np.float64], strand: Strand) -> Curve:
    """Return the curve of a strand, out of those that `all_curves` gives."""
    return curves[strand.tile, strand.enter, strand.leave]


def crossing_points(first: Curve, second: Curve) -> NDArray[np.float64]:
    """Return where two curves cross, ``[N, 4]``: x, y, and the place along each, 0 to its number of segments.

    Segment by segment: p + s r = q + u v with 0 <= s, u < 1.
    """
    return all_crossing_points(first[None], second[None])[1]


def all_crossing_points(
    first: NDArray[np.float64], second: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return where curves cross their partners: the pair of each crossing, rising, and `crossing_points`.

    Args:
        first: curves, ``[K, points, 2]``.
        second: the partner of each.
    """
    p, q = first[:, :-1, None], second[:, None, :-1]
    r, v = np.diff(first, axis=1)[:, :, None], np.diff(second, axis=1)[:, None]
    cross, gap = _cross(r, v), q - p
    with np.errstate(divide="ignore", invalid="ignore"):
        s, u = _cross(gap, v) / cross, _cross(gap, r) / cross
        meets = (cross != 0) & (s >= 0) & (s < 1) & (u >= 0) & (u < 1)
    pair, i, j = np.nonzero(meets)
    s, u = s[pair, i, j], u[pair, i, j]
    return pair, np.column_stack([first[pair, i] + s[:, None] * r[pair, i, 0], i + s, j + u])


def _cross(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def unclear_tiles(mesh: Mesh, tiles: Sequence[int]) -> list[int]:
    """Return the tiles whose cables cannot be told apart by eye.

    In a clear one that crosses, the two cables meet once, at `LEAST_ANGLE` or more and `LEAST_DISTANCE` from
    the next crossing; in a clear one of bends they stay `LEAST_GAP` apart.
    """
    kinds, curves = np.array(tiles), all_curves(mesh)
    sides, each = np.array(_FIRST_SIDES)[kinds].T, np.arange(len(kinds))
    first, second = (curves[each, side, np.array(EXITS)[kinds, side]] for side in sides)
    bends = kinds >= BENDS_LEFT
    unclear = bends.copy()
    unclear[bends] = _gaps(first[bends], second[bends]) < LEAST_GAP
    crossed = np.flatnonzero(~bends)
    pair, found = all_crossing_points(first[crossed], second[crossed])
    once = np.bincount(pair, minlength=len(crossed)) == 1
    pair, found = pair[once[pair]], found[once[pair]]
    steep = _angles(first[crossed[pair]], second[crossed[pair]], found) >= LEAST_ANGLE
    unclear[crossed] = True
    meeting, places = crossed[pair[steep]], found[steep, :2]
    unclear[meeting] = False
    near = ((places[:, None] - places) ** 2).sum(-1) < LEAST_DISTANCE**2
    return [*np.flatnonzero(unclear).tolist(), *meeting[near.sum(1) > 1].tolist()]


def _gaps(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distance in native pixels between each curve and its partner."""
    squares = ((first[:, :, None] - second[:, None]) ** 2).sum(-1)
    return np.sqrt(squares.min((1, 2)))


def _angles(
    first: NDArray[np.float64], second: NDArray[np.float64], found: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Degrees between each curve and its partner where they cross, 0 to 90."""
    each = np.arange(len(found))
    a, b = (
        curve[each, at + 1] - curve[each, at]
        for curve, at in zip((first, second), found[:, 2:].astype(np.int64).T, strict=True)
    )
    return np.degrees(np.arctan2(np.abs(_cross(a, b)), np.abs((a * b).sum(-1))))
