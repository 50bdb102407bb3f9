"""What a TrackRead scene holds: vehicles and where each is in every frame, what stands in front of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import Interval, Len, MaxLen
from pydantic import BeforeValidator, PlainSerializer

from pixelis.envs.pixel.drawing.fonts import Font
from pixelis.envs.pixel.drawing.noise import Seed
from pixelis.envs.pixel.tools.palette import PALETTE
from pixelis.envs.schema import Bool, Int, OneOf, ShortText, Stored, check_count, check_range

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


def _places(axes: Any) -> Any:
    """Return the pairs of x and y that are stored as all x and all y."""
    return tuple(zip(*axes, strict=True)) if isinstance(axes, list | tuple) and len(axes) == 2 else axes


def _axes(places: tuple[tuple[int, int], ...]) -> list[list[int]]:
    return [list(axis) for axis in zip(*places, strict=True)]


_Place = tuple[Annotated[Int, Interval(ge=-9999, le=9999)], Annotated[Int, Interval(ge=0, le=4096)]]
_State = Annotated[Int, Interval(ge=CLEAR, le=SMEAR)]


@dataclass(frozen=True)
class Vehicle(Stored):
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

    kind: Annotated[str, OneOf(LENGTHS)]
    colour: str
    right: Bool
    path: Annotated[tuple[_Place, ...], Len(1, MAX_FRAMES), BeforeValidator(_places), PlainSerializer(_axes)]
    code: Annotated[str, ShortText(8, shortest=0)]
    font: Font
    states: tuple[_State, ...]

    def box(self, frame: int) -> tuple[int, int, int, int]:
        """Box (x0, y0, x1, y1) around it in a frame, native pixels; may reach beyond the scene."""
        (x, y), (length, height) = self.path[frame], LENGTHS[self.kind]
        return x - length // 2, y - height, x - length // 2 + length, y


@dataclass(frozen=True)
class TrackScene(Stored):
    """A street through some frames: everything the painter needs, and nothing random.

    Attributes:
        size: side of the square pictures, native pixels.
        vehicles: cars and lorries.
        trees: x of the middle and y of the foot of each, native pixels.
        bridge: left and right end of the footbridge above the roads, native pixels; equal for none.
        seed: of the ground.
    """

    size: Annotated[Int, Interval(ge=256, le=4096)]
    vehicles: Annotated[tuple[Vehicle, ...], Len(1, 64)]
    trees: Annotated[tuple[tuple[Int, Int], ...], MaxLen(64)]
    bridge: tuple[Int, Int]
    seed: Seed

    @property
    def frames(self) -> int:
        """How many frames there are."""
        return len(self.vehicles[0].path)

    def check(self) -> None:
        """Vehicles have as many frames as each other; trees and the bridge are where they can be seen."""
        for vehicle in self.vehicles:
            check_count(vehicle.path, self.frames, "frames of a vehicle")
            check_count(vehicle.states, self.frames, "plates of a vehicle")
            if vehicle.colour not in (LORRY_COLOURS if vehicle.kind == "lorry" else PALETTE):
                raise ValueError(f"a {vehicle.kind} in the colour {vehicle.colour[:40]!r}")
        check_range((x for x, _ in self.trees), -self.size, 2 * self.size, "the columns of trees")
        check_range((y for _, y in self.trees), 0, self.size, "the rows of trees")
        check_range(self.bridge, 0, self.size, "the ends of the bridge")
        if self.bridge[0] > self.bridge[1]:
            raise ValueError("a bridge that ends before it begins")
