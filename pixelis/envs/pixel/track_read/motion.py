"""How vehicles drive, what hides them, and whether one can be followed: the geometry behind TrackRead."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pixelis.envs.pixel.track_read.scene import LENGTHS, ROADS, SCENE_SIZE, TREE, Vehicle

Path = NDArray[np.int64]
"""``[frames, 2]``: x of a vehicle's middle, y of its ground line, native pixels."""

Boxes = NDArray[np.int64]
"""``[frames, 4]``: x0, y0, x1, y1, native pixels."""

LANE_GAP = 90
"""Vehicles whose ground lines are closer than this must not overlap lengthwise; lanes are 96 apart."""

GOAL_FRAMES = 8  # a driver means to keep a speed for so long
_ACCELERATION = 1.2  # native pixels a frame squared
_CHANGE_FRAMES = 12  # a change of lanes takes
_MARGIN = 40  # before and behind what hides it, a vehicle keeps its speed and lane, native pixels
_GRID = (12, 6)  # points across and down a box at which it is looked whether something hides them


def drive(
    goals: Sequence[float], start: tuple[int, int], change: tuple[int, int] | None, hides: Sequence[range]
) -> Path:
    """Return a path: speeds tend to the goals, one for every eight frames, and never change where hidden.

    Args:
        goals: speeds, native pixels a frame, positive to the right; one for every eight frames.
        start: x and y in frame 0.
        change: first frame of a change of lanes and the y it leads to, or ``None``.
        hides: stretches of x in which something may hide the vehicle.
    """
    frames = len(goals) * GOAL_FRAMES
    x, speed, y = float(start[0]), float(goals[0]), start[1]
    left, path = 0, np.empty((frames, 2), np.int64)
    for frame in range(frames):
        path[frame] = round(x), y
        x += speed
        free = not any(round(x) in stretch for stretch in hides)
        if free:
            wish = goals[frame // GOAL_FRAMES] - speed
            speed += min(max(wish, -_ACCELERATION), _ACCELERATION)
        if change is not None and (left or (frame >= change[0] and free)) and left < _CHANGE_FRAMES:
            left += 1
            y = start[1] + (change[1] - start[1]) * left // _CHANGE_FRAMES
    return path


def stretches(
    boxes: Sequence[tuple[int, int, int, int]], lanes: Sequence[int], size: tuple[int, int]
) -> list[range]:
    """Return where, in x, standing things hide the middle of a vehicle that drives in some lanes."""
    reach = size[0] // 2 + _MARGIN
    low, high = min(lanes) - size[1], max(lanes)
    return [range(x0 - reach, x1 + reach) for x0, y0, x1, y1 in boxes if y0 < high and y1 > low]


def boxes_along(path: Path, size: tuple[int, int]) -> Boxes:
    """Return the box of a vehicle of a length and height in every frame."""
    left, low = path[:, 0] - size[0] // 2, path[:, 1]
    return np.stack([left, low - size[1], left + size[0], low], 1)


def vehicle_boxes(vehicle: Vehicle) -> Boxes:
    """Return the box of a vehicle in every frame."""
    return boxes_along(np.array(vehicle.path), LENGTHS[vehicle.kind])


def tree_box(tree: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return the box around a tree, native pixels."""
    return tree[0] - TREE[0] // 2, tree[1] - TREE[1], tree[0] + TREE[0] // 2, tree[1]


def bridge_box(bridge: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return the box of the footbridge, native pixels; without area for none."""
    return bridge[0], ROADS[0][0] - 150, bridge[1], ROADS[1][-1] + 60


def apart(a: Path, b: Path, gap: int) -> bool:
    """Return whether two vehicles never come closer than ``gap`` lengthwise in the same or a near lane."""
    near = np.abs(a[:, 1] - b[:, 1]) < LANE_GAP
    return not (near & (np.abs(a[:, 0] - b[:, 0]) < gap)).any()


def visible_share(
    boxes: Boxes, standing: Sequence[tuple[int, int, int, int]], moving: Sequence[Boxes]
) -> NDArray[np.float64]:
    """Return, for every frame, the share 0-1 of a box that nothing covers and that is inside the scene.

    Everything counts as the rectangle around it, so a share is never too large.

    Args:
        boxes: of the vehicle.
        standing: boxes of what stands in front of it.
        moving: boxes of vehicles that may; only those with a lower ground line do.
    """
    across, down = ((np.arange(count) + 0.5) / count for count in _GRID)
    x = (boxes[:, :1] + across * (boxes[:, 2:3] - boxes[:, :1]))[:, None, :]
    y = (boxes[:, 1:2] + down * (boxes[:, 3:] - boxes[:, 1:2]))[:, :, None]
    hidden = np.broadcast_to((x < 0) | (x >= SCENE_SIZE), (len(boxes), _GRID[1], _GRID[0])).copy()
    for x0, y0, x1, y1 in standing:
        hidden |= (x >= x0) & (x < x1) & (y >= y0) & (y < y1)
    for other in moving:
        x0, y0, x1, y1 = (other[:, i, None, None] for i in range(4))
        hidden |= (x >= x0) & (x < x1) & (y >= y0) & (y < y1) & (other[:, 3] > boxes[:, 3])[:, None, None]
    return 1 - hidden.mean((1, 2))


def prediction_errors(path: Path, seen: NDArray[np.bool_]) -> list[tuple[int, float]]:
    """Return for each stretch of unseen frames its length, and how far off constant velocity ends up.

    The velocity is that of the last five frames before the stretch; the error is the distance in native
    pixels to where the vehicle is seen again. A stretch that lasts to the end has an infinite error.
    """
    found, last = [], 0
    for frame in range(1, len(path)):
        if not seen[frame]:
            continue
        gap = frame - last - 1
        if gap:
            before = max(0, last - 4)
            velocity = (path[last] - path[before]) / max(1, last - before)
            found.append((gap, float(np.hypot(*(path[last] + velocity * (gap + 1) - path[frame])))))
        last = frame
    if last < len(path) - 1:
        found.append((len(path) - 1 - last, float("inf")))
    return found
