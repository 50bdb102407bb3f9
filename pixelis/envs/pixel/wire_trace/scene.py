"""Scenes of WireTrace: cables between labelled ports around a board, drawn so that each can be followed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated

import numpy as np
from annotated_types import Interval
from numpy.typing import NDArray
from pydantic import StringConstraints

from pixelis.envs.keywords import Expected
from pixelis.envs.pixel.base.splits import sample_seed
from pixelis.envs.pixel.drawing.codes import sample_codes
from pixelis.envs.pixel.drawing.fonts import FONTS, Font
from pixelis.envs.pixel.drawing.noise import Noise, Seed
from pixelis.envs.pixel.drawing.signs import BLACK_INK, Scene, Sign
from pixelis.envs.pixel.tools.palette import BASE_COLOURS, PALETTE
from pixelis.envs.pixel.wire_trace.curves import Mesh, unclear_tiles
from pixelis.envs.pixel.wire_trace.grid import BOTTOM, TOP, cables, port_side, possible_ends, sample_tiles
from pixelis.envs.schema import Int, OneOf, Stored, check_count, check_range
from pixelis.errors import TaskError

SCENE_SIZE = 1536
EDGE = 190
"""Native pixels from the scene's edge to the grid of cables: room for labels and sockets."""

CABLE_COLOURS: tuple[str, ...] = tuple(name for name in BASE_COLOURS if name not in ("yellow", "brown"))
LABEL_COLOUR = "yellow"
GRIDS = range(3, 9)

_LABEL_SIZE = (110, 40)
_LABEL_PLACES = (88, 123)  # native pixels from the grid to a label's middle: above and below, at the sides
_CORNER_SHIFT = 18  # percent of the pitch that a corner inside the grid is moved by, at most
_GATES = (25, 75)  # where on a side of a tile a cable goes through, percent
_PORTS = (40, 60)  # the same at the ports, whose labels need room
_TRIES = 12
_Code = Annotated[
    str, StringConstraints(strict=True, pattern="^[0-9A-Za-z]{1,6}$"), Expected("1 to 6 letters and digits")
]


@dataclass(frozen=True)
class WireLevel:
    """How hard the scenes of one difficulty are.

    Attributes:
        grid: tiles in a row; there are four times as many ports.
        crossings: how many, exactly.
        on_way: how many of them the cable that is asked for goes through at least.
        colours: of cables.
        noise: amplitude of the pixel noise, grey levels.
    """

    grid: int
    crossings: int
    on_way: int
    colours: int
    noise: int


LEVELS: tuple[WireLevel, ...] = (
    WireLevel(4, 0, 0, 6, 0),
    WireLevel(5, 8, 1, 4, 0),
    WireLevel(6, 16, 3, 3, 2),
    WireLevel(7, 28, 5, 2, 2),
    WireLevel(8, 40, 7, 1, 3),
)
MOST_TILES = 24
"""Tiles that the cable that is asked for goes through, at most."""


@dataclass(frozen=True)
class WireScene(Stored):
    """A board with cables: everything the painter needs, and nothing random.

    Attributes:
        side: of the square picture, native pixels.
        grid: G, tiles in a row.
        tiles: their kinds, row by row, see `wire_grid`.
        corners: x and y of the tiles' corners, (G + 1)² of them, row by row, native pixels.
        gates: where cables go through the sides of tiles, percent of the side: (G + 1) G upper and lower ones
            from the left, then G (G + 1) left and right ones from the top, row by row.
        colours: of the cables, by their lower port: names of `CABLE_COLOURS`.
        codes: on the labels of the ports, clockwise from the top left one.
        font: of the labels, a name of `FONTS`.
        text_height: line height of the labels' text, native pixels.
        seed: of the board and the noise.
        noise: amplitude of the pixel noise, grey levels (0: none).
    """

    side: Annotated[Int, Interval(ge=1024, le=4096)]
    grid: Annotated[Int, Interval(ge=GRIDS[0], le=GRIDS[-1])]
    tiles: tuple[Annotated[Int, Interval(ge=0, le=3)], ...]
    corners: tuple[tuple[Int, Int], ...]
    gates: tuple[Annotated[Int, Interval(ge=_GATES[0], le=_GATES[1])], ...]
    colours: tuple[Annotated[str, OneOf(CABLE_COLOURS)], ...]
    codes: tuple[_Code, ...]
    font: Font
    text_height: Annotated[Int, Interval(ge=8, le=24)]
    seed: Seed
    noise: Noise

    @property
    def mesh(self) -> Mesh:
        """The corners and gates as arrays."""
        n = self.grid
        shares = np.array(self.gates, np.float64) / 100
        return Mesh(
            np.array(self.corners, np.float64).reshape(n + 1, n + 1, 2),
            shares[: n * (n + 1)].reshape(n + 1, n),
            shares[n * (n + 1) :].reshape(n, n + 1),
        )

    def port_places(self, outside: int = 0) -> NDArray[np.float64]:
        """Where the ports' cables enter the grid, or so many native pixels before: ``[4 G, 2]``, x and y."""
        places, inward = self.mesh.gates()
        tiles, sides = zip(*(port_side(port, self.grid) for port in range(4 * self.grid)), strict=True)
        return places[tiles, sides] - outside * inward[tiles, sides]

    def labels(self) -> Scene:
        """The ports' labels, in the order of the ports, as signs of a scene."""
        near, far = (np.round(self.port_places(away)).astype(int).tolist() for away in _LABEL_PLACES)
        signs = tuple(
            Sign(
                kind="label",
                colour=LABEL_COLOUR,
                rgb=PALETTE[LABEL_COLOUR],
                ink=BLACK_INK,
                code=code,
                center=tuple(near[port] if port // self.grid in (TOP, BOTTOM) else far[port]),
                size=_LABEL_SIZE,
                angle_degrees=0.0,
                text_height=self.text_height,
                font=self.font,
            )
            for port, code in enumerate(self.codes)
        )
        return Scene(self.side, signs, self.seed, 0)

    def check(self) -> None:
        """There is one of everything for each tile and port, and the cables can be told apart."""
        n = self.grid
        check_count(self.tiles, n * n, "tiles")
        check_count(self.corners, (n + 1) ** 2, "corners")
        check_count(self.gates, 2 * n * (n + 1), "gates")
        check_count(self.colours, 2 * n, "colours")
        check_count(self.codes, 4 * n, "codes")
        lines = _grid_lines(self.side, n)
        most = (lines[-1] - EDGE) * _CORNER_SHIFT // (100 * n)
        for (x, y), (b, a) in zip(self.corners, product(lines, lines), strict=True):
            check_range((x,), a - most, a + most, "the columns of corners")
            check_range((y,), b - most, b + most, "the rows of corners")
        if len(set(self.codes)) < len(self.codes):
            raise ValueError("a code that two ports have")
        if sum(len(strands) for *_, strands in cables(self.tiles, n)) < 2 * n * n:
            raise ValueError("cables that run in rings")
        if unclear_tiles(self.mesh, self.tiles):
            raise ValueError("cables that cannot be told apart")


def _grid_lines(side: int, grid: int) -> list[int]:
    """Where the lines of a plain grid are, native pixels."""
    return [EDGE + (side - 2 * EDGE) * i // grid for i in range(grid + 1)]


def sample_wire_scene(rng: np.random.Generator, difficulty: int, split: str) -> tuple[WireScene, int, int]:
    """Draw a scene and return it with the port that is named and the port its cable ends in.

    A pure function of the generator's state. The two ports are drawn before the cables, every pair that can
    be joined as often, so that neither the place of a port nor a habit of cables tells the answer.

    Args:
        rng: the only source of randomness.
        difficulty: index into `LEVELS`.
        split: "train" or "test"; the scene's seed and its codes belong to it.

    Raises:
        TaskError: no scene was found in which all cables can be told apart.
    """
    level = LEVELS[difficulty]
    grid, seed = level.grid, sample_seed(rng, split)
    codes = tuple(sample_codes(rng, 4 * grid, split))
    start = int(rng.integers(4 * grid))
    ends = possible_ends(grid, level.crossings, start)
    end = ends[int(rng.integers(len(ends)))]
    tiles = sample_tiles(rng, grid, level.crossings, (start, end), (level.on_way, MOST_TILES))
    palette = rng.choice(len(CABLE_COLOURS), level.colours, replace=False)
    drawn = rng.permutation(np.arange(2 * grid) % level.colours)
    colours = tuple(CABLE_COLOURS[palette[i]] for i in drawn)
    font, text_height = FONTS[int(rng.integers(len(FONTS)))], int(rng.integers(14, 17))
    corners, gates = _clear_mesh(rng, grid, tiles)
    return (
        WireScene(
            *(SCENE_SIZE, grid, tiles, corners, gates, colours, codes, font, text_height, seed, level.noise)
        ),
        start,
        end,
    )


def _clear_mesh(
    rng: np.random.Generator, grid: int, tiles: Sequence[int]
) -> tuple[tuple[tuple[int, int], ...], tuple[int, ...]]:
    """Draw corners and gates at random places; those around an unclear tile go halfway back to the middle."""
    lines = _grid_lines(SCENE_SIZE, grid)
    plain = np.stack(np.meshgrid(lines, lines), -1)
    shifts = np.zeros_like(plain)
    most = (lines[-1] - EDGE) * _CORNER_SHIFT // (100 * grid)
    shifts[1:-1, 1:-1] = rng.integers(-most, most + 1, size=(grid - 1, grid - 1, 2))
    level, upright = (rng.integers(_GATES[0] - 50, _GATES[1] - 49, size=(grid + 1, grid)) for _ in range(2))
    ports = rng.integers(_PORTS[0] - 50, _PORTS[1] - 49, size=(4, grid))
    level[0], level[-1], upright[0], upright[-1] = ports
    upright = upright.T
    for _ in range(_TRIES):
        corners, shares = plain + shifts, ((level + 50) / 100, (upright + 50) / 100)
        unclear = unclear_tiles(Mesh(corners.astype(np.float64), *shares), tiles)
        if not unclear:
            gates = np.concatenate([level.ravel(), upright.ravel()]) + 50
            return tuple((x, y) for x, y in corners.reshape(-1, 2).tolist()), tuple(gates.tolist())
        rows, columns = np.divmod(unclear, grid)
        for down, across in ((0, 0), (0, 1), (1, 0), (1, 1)):
            shifts[rows + down, columns + across] //= 2
        for side in (0, 1):
            level[rows + side, columns] //= 2
            upright[rows, columns + side] //= 2
    raise TaskError(f"found no clear way to lay {2 * grid} cables through {grid} x {grid} tiles")
