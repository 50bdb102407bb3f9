"""Draw TrackRead scenes of a difficulty and a split: a car that can be followed, and traffic around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pixelis.envs.pixel.base.splits import SEEDS
from pixelis.envs.pixel.drawing.codes import sample_codes
from pixelis.envs.pixel.drawing.fonts import FONTS
from pixelis.envs.pixel.tools.palette import BASE_COLOURS
from pixelis.envs.pixel.track_read.motion import (
    GOAL_FRAMES,
    Path,
    apart,
    boxes_along,
    bridge_box,
    drive,
    prediction_errors,
    stretches,
    tree_box,
    visible_share,
)
from pixelis.envs.pixel.track_read.scene import (
    CAR_KINDS,
    CLEAR,
    GLARE,
    LENGTHS,
    LORRY_COLOURS,
    ROADS,
    SCENE_SIZE,
    SMEAR,
    TREE,
    TrackScene,
    Vehicle,
)


@dataclass(frozen=True)
class TrackLevel:
    """How hard the scenes of one difficulty are.

    Attributes:
        frames: how many; a multiple of 8.
        look_alikes: cars of the kind and colour of the one that is asked for.
        others: cars of other colours.
        lorries: they hide cars of the lane behind them.
        trees: along the roads.
        bridge: width of the footbridge over both roads, native pixels; 0 for none.
        speeds: least and greatest speed a driver means to have, native pixels a frame.
        changes: whether half of the cars change lanes.
        hidden: frames for which the car is out of sight at least once before its plate can be read.
    """

    frames: int
    look_alikes: int
    others: int
    lorries: int
    trees: int
    bridge: int
    speeds: tuple[int, int]
    changes: bool
    hidden: int

    @property
    def cars(self) -> int:
        """How many cars there are, the one that is asked for among them."""
        return 1 + self.look_alikes + self.others


LEVELS: tuple[TrackLevel, ...] = (
    TrackLevel(32, 0, 3, 0, 0, 0, (8, 16), False, 0),
    TrackLevel(40, 2, 3, 0, 4, 0, (8, 18), False, 0),
    TrackLevel(48, 4, 3, 1, 5, 120, (8, 22), False, 2),
    TrackLevel(56, 6, 3, 2, 6, 160, (8, 26), True, 4),
    TrackLevel(64, 8, 3, 3, 7, 200, (8, 30), True, 6),
)

_GAP = 40  # least distance between two vehicles in a lane, native pixels
_EDGE = 16  # the car that is asked for stays so far inside the scene, native pixels
_TRIES = 60
_SURPRISE = 20.0  # native pixels the car may be off what its last velocity says, when it comes in sight again
_LONGEST = 20  # frames it may be out of sight
_HALF = 0.5  # share of a car that must be visible to count as in sight


@dataclass(frozen=True)
class _Traffic:
    """A vehicle that is being placed."""

    kind: str
    colour: str
    right: bool
    path: Path

    @property
    def size(self) -> tuple[int, int]:
        return LENGTHS[self.kind]

    def clear_of(self, others: Sequence[_Traffic]) -> bool:
        return all(
            apart(self.path, other.path, (self.size[0] + other.size[0]) // 2 + _GAP) for other in others
        )


Standing = list[tuple[int, int, int, int]]


def sample_track_scene(rng: np.random.Generator, difficulty: int, split: str) -> tuple[TrackScene, int]:
    """Draw a scene and return it with the index of the car that is asked for.

    A pure function of the generator's state. That car stays in the scene, is in full view in the first four
    frames and can be followed: wherever it is out of sight, constant velocity leads to where it comes back.
    Its plate and every other car's can be read in two or three frames only, its own after a third of them.

    Args:
        rng: the only source of randomness.
        difficulty: index into `LEVELS`.
        split: "train" or "test"; every code of the scene belongs to it.
    """
    level = LEVELS[difficulty]
    codes = sample_codes(rng, level.cars, split)
    while True:
        trees, bridge = _furniture(rng, level)
        standing = [*map(tree_box, trees), *([bridge_box(bridge)] if level.bridge else [])]
        traffic = _place_all(rng, level, standing)
        if traffic is not None:
            break
    clear = [
        _clear_frames(rng, one, index == 0, traffic, standing, level) for index, one in enumerate(traffic)
    ]
    order = rng.permutation(len(traffic))
    vehicles = [_vehicle(rng, traffic[i], clear[i], codes[i] if i < level.cars else "") for i in order]
    scene = TrackScene(SCENE_SIZE, tuple(vehicles), tuple(trees), bridge, int(rng.integers(SEEDS)))
    return scene, int(np.flatnonzero(order == 0)[0])


def _furniture(rng: np.random.Generator, level: TrackLevel) -> tuple[list[tuple[int, int]], tuple[int, int]]:
    """Trees on the strips below the roads, none in another's place, and the bridge."""
    slots = [(x, road[-1] + 84) for road in ROADS for x in range(130, SCENE_SIZE - 100, TREE[0] + 40)]
    trees = [slots[i] for i in rng.choice(len(slots), level.trees, replace=False)]
    trees = [(x + int(rng.integers(-16, 17)), y + int(rng.integers(-8, 9))) for x, y in trees]
    left = int(rng.integers(500, 1036 - level.bridge)) if level.bridge else 0
    return sorted(trees, key=lambda tree: tree[1]), (left, left + level.bridge)


# ---------------------------------------------------------------------- traffic


def _place_all(rng: np.random.Generator, level: TrackLevel, standing: Standing) -> list[_Traffic] | None:
    """The car that is asked for, its look-alikes, other cars, lorries; None where there is no room."""
    colours = rng.permutation(len(BASE_COLOURS))[: 1 + level.others]
    kind = CAR_KINDS[int(rng.integers(len(CAR_KINDS)))]
    first, *rest = (BASE_COLOURS[i] for i in colours)
    looks = [(kind, first)] * (1 + level.look_alikes)
    looks += [(CAR_KINDS[int(rng.integers(len(CAR_KINDS)))], colour) for colour in rest]
    flow = rng.integers(level.speeds[0], level.speeds[1] + 1, (2, 4, level.frames // GOAL_FRAMES))
    target = _target(rng, level, looks[0], standing, flow)
    if target is None:
        return None
    lorries = [("lorry", LORRY_COLOURS[int(rng.integers(2))]) for _ in range(level.lorries)]
    placed = [target]
    for look in [*lorries, *looks[1:]]:
        one = _another(rng, level, look, placed, standing, flow)
        if one is None:
            return None
        placed.append(one)
    count = 1 + level.lorries
    return [target, *placed[count:], *placed[1:count]]


def _target(
    rng: np.random.Generator,
    level: TrackLevel,
    look: tuple[str, str],
    standing: Standing,
    flow: NDArray[np.int64],
) -> _Traffic | None:
    for _ in range(_TRIES):
        car = _draw(rng, level, look, (0.0, 0.35), standing, flow)
        half = car.size[0] // 2 + _EDGE
        inside = car.path[:, 0].min() >= half and car.path[:, 0].max() <= SCENE_SIZE - half
        if inside and can_be_followed(car.path, car.size, standing, [], level):
            return car
    return None


def _another(
    rng: np.random.Generator,
    level: TrackLevel,
    look: tuple[str, str],
    placed: list[_Traffic],
    standing: Standing,
    flow: NDArray[np.int64],
) -> _Traffic | None:
    target = placed[0]
    for _ in range(_TRIES):
        one = _draw(rng, level, look, (-0.2, 0.85), standing, flow)
        if not one.clear_of(placed):
            continue
        lorries = [boxes_along(v.path, v.size) for v in [*placed, one] if v.kind == "lorry"]
        if look[0] != "lorry" or can_be_followed(target.path, target.size, standing, lorries, level):
            return one
    return None


def _draw(
    rng: np.random.Generator,
    level: TrackLevel,
    look: tuple[str, str],
    begin: tuple[float, float],
    standing: Standing,
    flow: NDArray[np.int64],
) -> _Traffic:
    """A vehicle that begins between two shares of its way through the scene and goes with its lane's flow."""
    road, lane = int(rng.integers(2)), int(rng.integers(4))
    way = 1 if road == 0 else -1
    along = (
        int(rng.integers(int(begin[0] * SCENE_SIZE), int(begin[1] * SCENE_SIZE))) + LENGTHS[look[0]][0] // 2
    )
    start = along if road == 0 else SCENE_SIZE - along
    goals = np.maximum(flow[road, lane] + rng.integers(-3, 4, flow.shape[2]), 4) * way
    beside = lane + int(rng.choice((-1, 1)))
    frame = int(rng.integers(4, level.frames // 2))
    changes = level.changes and look[0] != "lorry" and beside in range(4) and bool(rng.integers(3))
    lanes = [ROADS[road][lane], *([ROADS[road][beside]] if changes else [])]
    hides = stretches(standing, lanes, LENGTHS[look[0]])
    path = drive(goals.tolist(), (start, lanes[0]), (frame, lanes[1]) if changes else None, hides)
    return _Traffic(*look, road == 0, path)


def can_be_followed(
    path: Path,
    size: tuple[int, int],
    standing: Standing,
    moving: Sequence[NDArray[np.int64]],
    level: TrackLevel,
) -> bool:
    """Return whether a car can be followed with the eye, is hidden as the level says, and shows its plate."""
    shares = visible_share(boxes_along(path, size), standing, moving)
    errors = prediction_errors(path, shares >= _HALF)
    if (shares[:4] < 1).any() or any(gap > _LONGEST or off > _SURPRISE for gap, off in errors):
        return False
    return bool(len(_plate_runs(shares, level.frames // 3, level.hidden)))


def _plate_runs(shares: NDArray[np.float64], first: int, hidden: int) -> NDArray[np.int64]:
    """The frames with two after them in which nothing covers a car.

    Only those from ``first`` on, and after the car was out of sight in ``hidden`` frames.
    """
    whole = shares >= 1
    runs = whole[:-2] & whole[1:-1] & whole[2:] & (np.cumsum(shares < _HALF)[:-2] >= hidden)
    runs[:first] = False
    return np.flatnonzero(runs)


# ---------------------------------------------------------------------- plates


def _clear_frames(
    rng: np.random.Generator,
    one: _Traffic,
    asked: bool,
    traffic: Sequence[_Traffic],
    standing: Standing,
    level: TrackLevel,
) -> list[int]:
    """Two or three frames in a row in which a car's plate can be read and nothing covers the car."""
    lorries = [boxes_along(v.path, v.size) for v in traffic if v.kind == "lorry" and v is not one]
    shares = visible_share(boxes_along(one.path, one.size), standing, lorries)
    runs = _plate_runs(shares, level.frames // 3, level.hidden if asked else 0)
    if not len(runs) or one.kind == "lorry":
        return []
    first = int(rng.choice(runs))
    return list(range(first, first + int(rng.integers(2, 4))))


def _vehicle(rng: np.random.Generator, one: _Traffic, clear: Sequence[int], code: str) -> Vehicle:
    frames = len(one.path)
    spoilt = rng.integers(GLARE, SMEAR + 1, frames // 5 + 2).repeat(5)[int(rng.integers(5)) :][:frames]
    states = tuple(CLEAR if frame in clear else int(state) for frame, state in enumerate(spoilt))
    path = tuple((int(x), int(y)) for x, y in one.path)
    font = FONTS[int(rng.integers(len(FONTS)))]
    return Vehicle(one.kind, one.colour, one.right, path, code, font, states)
