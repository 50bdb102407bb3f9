"""What a TrackRead scene holds: vehicles and where each is in every frame, what stands in front of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pixelis.envs.pixel.base.splits import SEEDS
from pixelis.envs.pixel.drawing.fonts import FONTS
from pixelis.envs.pixel.tools.palette import PALETTE
from pixelis.errors import TaskError, shown

SCENE_SIZE = 1536
MAX_FRAMES = 64
ROADS: tuple[tuple[int, ...], ...] = ((470, 566, 662, 758), (950, 1046, 1142, 1238))
"""Ground lines of the lanes, native pixels from the top: on the first road they drive right, then left."""

LENGTHS: dict[str, tuple[int, int]] = {
    "saloon": (190, 64),
    "hatchback": (164, 68),
    "van": (200, 86),
    "lorry": (330, 160),
}
"""Kind of vehicle -> length and height, native pixels."""

CAR_KINDS: tuple[str, ...] = ("saloon", "hatchback", "van")
LORRY_COLOURS: tuple[str, ...] = ("grey", "white")
TREE = (180, 250)
"""Width and height of a tree, native pixels."""

CLEAR, GLARE, SMEAR = 0, 1, 2
"""States of a plate: legible, washed out by the sun, smeared by motion."""


@dataclass(frozen=True)
class Vehicle:
    """One vehicle through all frames.

    Attributes:
        kind: a name of `LENGTHS`.
        colour: a name of `PALETTE`, for a lorry one of `LORRY_COLOURS`.
        right: whether it drives to the right.
        path: x of its middle and y of its ground line in each frame, native pixels; may be outside.
        code: on its plate; empty for a lorry, which has none.
        font: file name of a font in `FONTS`.
        states: of its plate in each frame.
    """

    kind: str
    colour: str
    right: bool
    path: tuple[tuple[int, int], ...]
    code: str
    font: str
    states: tuple[int, ...]

    def box(self, frame: int) -> tuple[int, int, int, int]:
        """Box (x0, y0, x1, y1) around it in a frame, native pixels; may reach beyond the scene."""
        (x, y), (length, height) = self.path[frame], LENGTHS[self.kind]
        return x - length // 2, y - height, x - length // 2 + length, y


@dataclass(frozen=True)
class TrackScene:
    """A street through some frames: everything the painter needs, and nothing random.

    Attributes:
        size: side of the square pictures, native pixels.
        vehicles: cars and lorries.
        trees: x of the middle and y of the foot of each, native pixels.
        bridge: left and right end of the footbridge above the roads, native pixels; equal for none.
        seed: of the ground.
    """

    size: int
    vehicles: tuple[Vehicle, ...]
    trees: tuple[tuple[int, int], ...]
    bridge: tuple[int, int]
    seed: int

    @property
    def frames(self) -> int:
        """How many frames there are."""
        return len(self.vehicles[0].path)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; `from_json` gives an equal scene back."""
        vehicles = [
            {**vars(v), "path": [list(axis) for axis in zip(*v.path, strict=True)], "states": list(v.states)}
            for v in self.vehicles
        ]
        trees = [list(tree) for tree in self.trees]
        return {**vars(self), "vehicles": vehicles, "trees": trees, "bridge": list(self.bridge)}

    @classmethod
    def from_json(cls, data: Any) -> TrackScene:
        """The scene that `to_json` wrote.

        Raises:
            TaskError: a part is missing, of the wrong type or out of range.
        """
        try:
            size, seed = _whole(data["size"], 256, 4096), _whole(data["seed"], 0, SEEDS - 1)
            vehicles = tuple(_vehicle(one) for one in data["vehicles"])
            if not 1 <= len(vehicles) <= 64 or len({len(v.path) for v in vehicles}) != 1:
                raise ValueError("no vehicle, more than 64, or some with more frames than others")
            trees = tuple((_whole(x, -size, 2 * size), _whole(y, 0, size)) for x, y in data["trees"])
            left, right = (_whole(x, 0, size) for x in data["bridge"])
            if left > right or len(trees) > 64:
                raise ValueError("a bridge that ends before it begins, or more than 64 trees")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            reason = f"no field {error}" if isinstance(error, KeyError) else str(error)
            raise TaskError(
                f"expected a scene as TrackScene.to_json writes it, got one with {reason}"
            ) from error
        return cls(size, vehicles, trees, (left, right), seed)


def _vehicle(data: Mapping[str, Any]) -> Vehicle:
    path = tuple((_whole(x, -9999, 9999), _whole(y, 0, 4096)) for x, y in zip(*data["path"], strict=True))
    states = tuple(_whole(state, CLEAR, SMEAR) for state in data["states"])
    vehicle = Vehicle(data["kind"], data["colour"], data["right"], path, data["code"], data["font"], states)
    if vehicle.kind not in LENGTHS or not isinstance(vehicle.right, bool) or vehicle.font not in FONTS:
        raise ValueError("a vehicle of an unknown kind, direction or font")
    if vehicle.colour not in (LORRY_COLOURS if vehicle.kind == "lorry" else PALETTE):
        raise ValueError(f"a {vehicle.kind} in the colour {shown(vehicle.colour, 40)}")
    if not isinstance(vehicle.code, str) or len(vehicle.code) > 8 or not vehicle.code.isprintable():
        raise ValueError(f"the code {shown(vehicle.code, 40)}")
    if not 1 <= len(path) <= MAX_FRAMES or len(states) != len(path):
        raise ValueError(f"a vehicle with {len(path)} places and {len(states)} plates")
    return vehicle


def _whole(value: Any, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"{shown(value, 40)} where a whole number from {low} to {high} belongs")
    return value
