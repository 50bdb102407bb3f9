"""A tangle of cables as tiles: in each, two cables cross, or pass each other in two bends.

A square of G x G tiles (Truchet 1704; with bends, Smith 1987) has 4 G ports around it, numbered clockwise
from the top left one. Every tile joins its four sides in pairs, so that each cable leads from a port to a
port, and there are as many crossings as tiles that cross.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pixelis.errors import TaskError

TOP, RIGHT, BOTTOM, LEFT = range(4)
UPRIGHT_OVER, LEVEL_OVER, BENDS_LEFT, BENDS_RIGHT = range(4)
"""Kinds of tiles: two that cross (which cable lies above), and two of bends: one joins the top side with the
left one and the bottom with the right, the other the top with the right and the bottom with the left."""

EXITS: tuple[tuple[int, ...], ...] = (
    (BOTTOM, LEFT, TOP, RIGHT),
    (BOTTOM, LEFT, TOP, RIGHT),
    (LEFT, BOTTOM, RIGHT, TOP),
    (RIGHT, TOP, LEFT, BOTTOM),
)
"""``EXITS[kind][side]``: where a cable that comes in at a side leaves the tile."""

_STEPS = ((-1, 0), (0, 1), (1, 0), (0, -1))  # row, column of the tile beyond a side
_TRIES = 200_000  # changes of one tile until a cable joins two given ports; the most seen is about 20,000


@dataclass(frozen=True)
class Strand:
    """A cable's way through one tile: the tile's index, row by row, and the sides it enters and leaves by."""

    tile: int
    enter: int
    leave: int


def port_side(port: int, grid: int) -> tuple[int, int]:
    """Return the tile next to a port and the side of it that the port is at."""
    side, step = divmod(port, grid)
    back = grid - 1 - step
    row, column = ((0, step), (step, grid - 1), (grid - 1, back), (back, 0))[side]
    return row * grid + column, side


def follow(tiles: Sequence[int], grid: int, port: int) -> tuple[int, list[Strand]]:
    """Follow the cable that starts at a port; return the port it ends in, and its strands in order."""
    tile, enter = port_side(port, grid)
    row, column = divmod(tile, grid)
    strands = []
    while True:
        leave = EXITS[tiles[row * grid + column]][enter]
        strands.append(Strand(row * grid + column, enter, leave))
        down, across = _STEPS[leave]
        if not (0 <= row + down < grid and 0 <= column + across < grid):
            return (column, grid + row, 3 * grid - 1 - column, 4 * grid - 1 - row)[leave], strands
        row, column, enter = row + down, column + across, (leave + 2) % 4


def cables(tiles: Sequence[int], grid: int) -> list[tuple[int, int, list[Strand]]]:
    """Return every cable once, from its lower port: the ports at its two ends, and its strands."""
    found, seen = [], set()
    for port in range(4 * grid):
        if port not in seen:
            end, strands = follow(tiles, grid, port)
            seen |= {port, end}
            found.append((port, end, strands))
    return found


def crossings(tiles: Sequence[int]) -> int:
    """Return how many crossings there are."""
    return sum(tile < BENDS_LEFT for tile in tiles)


def possible_ends(grid: int, count: int, start: int) -> list[int]:
    """Return the ports that the cable from a port can end in.

    All others; without any crossing only those an odd number of ports further, since a cable that nothing
    crosses has an even number of ports on either side.
    """
    return [end for end in range(4 * grid) if end != start and (count > 0 or (end - start) % 2)]


def sample_tiles(
    rng: np.random.Generator, grid: int, count: int, ends: tuple[int, int], needs: tuple[int, int]
) -> tuple[int, ...]:
    """Draw tiles with a number of crossings in which a cable joins two given ports, without closed rings.

    Tiles in random order are changed one at a time (two exchanged, or a bend turned) until they do. Drawing
    the ends first makes every end as likely, whatever the tangle.

    Args:
        rng: the only source of randomness.
        grid: G.
        count: how many tiles cross, 0 to G².
        ends: the two ports.
        needs: least crossings on the cable's way, and most tiles it may go through.

    Raises:
        TaskError: no such tiles were found.
    """
    size = grid * grid
    kinds = np.concatenate([rng.integers(0, 2, count), rng.integers(2, 4, size - count)])
    tiles: list[int] = rng.permutation(kinds).tolist()
    for _ in range(_TRIES // 1000):
        for first, second in rng.integers(size, size=(1000, 2)).tolist():
            if _joins(tiles, grid, ends, needs):
                opened = open_rings(tiles, grid)
                if opened is not None and _joins(opened, grid, ends, needs):
                    return tuple(opened)
            if tiles[first] >= BENDS_LEFT and tiles[second] >= BENDS_LEFT:
                tiles[first] ^= 1
            else:
                tiles[first], tiles[second] = tiles[second], tiles[first]
    raise TaskError(
        f"found no tangle of {grid} x {grid} tiles with {count} crossings from {ends[0]} to {ends[1]}"
    )


def _joins(tiles: Sequence[int], grid: int, ends: tuple[int, int], needs: tuple[int, int]) -> bool:
    """Return whether the cable from one port leads to the other as `sample_tiles` wants it.

    It is asked thousands of times a scene, so it walks as `follow` does but makes no list of strands, and
    gives up on a cable that is too long.
    """
    start, end = (port_side(port, grid) for port in ends)
    (tile, side), crossed = start, 0
    row, column = divmod(tile, grid)
    for _ in range(needs[1]):
        kind = tiles[row * grid + column]
        crossed += kind < BENDS_LEFT
        side = EXITS[kind][side]
        down, across = _STEPS[side]
        if not (0 <= row + down < grid and 0 <= column + across < grid):
            return (row * grid + column, side) == end and crossed >= needs[0]
        row, column, side = row + down, column + across, (side + 2) % 4
    return False


def open_rings(tiles: Sequence[int], grid: int) -> list[int] | None:
    """Return the tiles without rings, or None where no bend joins a ring with a cable.

    A bend in which a ring meets a cable is turned: both become one cable, with the ends it had.
    """
    opened = list(tiles)
    while True:
        sides = [0] * len(opened)  # of a tile that cables pass, one bit each
        for _, _, strands in cables(opened, grid):
            for strand in strands:
                sides[strand.tile] |= 1 << strand.enter | 1 << strand.leave
        if all(passed == 15 for passed in sides):
            return opened
        half = [i for i, passed in enumerate(sides) if passed not in (0, 15) and opened[i] >= BENDS_LEFT]
        if not half:
            return None
        opened[half[0]] ^= 1
