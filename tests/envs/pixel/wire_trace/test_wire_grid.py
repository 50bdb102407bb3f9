from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.envs.pixel.wire_trace.grid import (
    BENDS_LEFT,
    BENDS_RIGHT,
    BOTTOM,
    LEFT,
    LEVEL_OVER,
    RIGHT,
    TOP,
    UPRIGHT_OVER,
    Strand,
    cables,
    crossings,
    follow,
    open_rings,
    port_side,
    possible_ends,
    sample_tiles,
)
from pixelis.errors import TaskError

RING = (BENDS_LEFT, BENDS_RIGHT, BENDS_RIGHT, BENDS_LEFT)
"""2 x 2 tiles: each corner joins its two ports, and a ring runs around the middle."""


@st.composite
def tilings(draw):
    grid = draw(st.integers(1, 6))
    return draw(st.lists(st.integers(0, 3), min_size=grid * grid, max_size=grid * grid)), grid


def test_ports_go_around_clockwise():
    assert [port_side(port, 2) for port in range(8)] == [
        *((0, TOP), (1, TOP), (1, RIGHT), (3, RIGHT)),
        *((3, BOTTOM), (2, BOTTOM), (2, LEFT), (0, LEFT)),
    ]


def test_one_tile_by_hand():
    ends = {
        kind: [follow([kind], 1, port)[0] for port in range(4)]
        for kind in (UPRIGHT_OVER, LEVEL_OVER, BENDS_LEFT, BENDS_RIGHT)
    }
    assert ends == {
        UPRIGHT_OVER: [2, 3, 0, 1],
        LEVEL_OVER: [2, 3, 0, 1],
        BENDS_LEFT: [3, 2, 1, 0],
        BENDS_RIGHT: [1, 0, 3, 2],
    }


def test_a_way_through_four_tiles_by_hand():
    """In from the top left, straight down, right at the bend below, straight out."""
    tiles = (UPRIGHT_OVER, UPRIGHT_OVER, BENDS_RIGHT, LEVEL_OVER)
    end, strands = follow(tiles, 2, 0)
    assert end == 3
    assert strands == [Strand(0, TOP, BOTTOM), Strand(2, TOP, RIGHT), Strand(3, LEFT, RIGHT)]
    assert crossings(tiles) == 3


@given(tilings())
def test_every_cable_has_two_ends_and_the_same_way_back(tiling):
    tiles, grid = tiling
    passed = Counter()
    for start, end, strands in cables(tiles, grid):
        back, way_back = follow(tiles, grid, end)
        assert back == start != end
        assert [Strand(s.tile, s.leave, s.enter) for s in reversed(way_back)] == strands
        passed.update(strand.tile for strand in strands)
    assert len(cables(tiles, grid)) == 2 * grid
    assert max(passed.values()) <= 2


@given(tilings())
def test_without_crossings_cables_end_an_odd_number_of_ports_further(tiling):
    tiles, grid = tiling
    bends = [kind | 2 for kind in tiles]
    assert all((end - start) % 2 for start, end, _ in cables(bends, grid))
    assert all(end in possible_ends(grid, 0, start) for start, end, _ in cables(bends, grid))


def test_possible_ends_by_hand():
    assert possible_ends(1, 1, 2) == [0, 1, 3]
    assert possible_ends(2, 0, 3) == [0, 2, 4, 6]


def test_a_ring_becomes_part_of_a_cable():
    assert sum(len(strands) for *_, strands in cables(RING, 2)) == 4
    opened = open_rings(RING, 2)
    assert opened is not None
    assert sum(len(strands) for *_, strands in cables(opened, 2)) == 8
    assert [ends[:2] for ends in cables(opened, 2)] == [ends[:2] for ends in cables(RING, 2)]


@given(tilings())
def test_opening_rings_moves_no_end_and_no_crossing(tiling):
    tiles, grid = tiling
    opened = open_rings(tiles, grid)
    if opened is not None:
        assert [ends[:2] for ends in cables(opened, grid)] == [ends[:2] for ends in cables(tiles, grid)]
        assert crossings(opened) == crossings(tiles)
        assert sum(len(strands) for *_, strands in cables(opened, grid)) == 2 * grid * grid


@given(st.integers(0, 2**32 - 1), st.integers(0, 16))
def test_tiles_are_drawn_as_asked_for(seed, count):
    rng = np.random.default_rng(seed)
    start = int(rng.integers(16))
    end = int(rng.choice(possible_ends(4, min(count, 10), start)))
    tiles = sample_tiles(rng, 4, min(count, 10), (start, end), (0, 12))
    assert crossings(tiles) == min(count, 10)
    found, strands = follow(tiles, 4, start)
    assert found == end and len(strands) <= 12
    assert sum(len(way) for *_, way in cables(tiles, 4)) == 32


def test_what_cannot_be_drawn_is_an_error():
    with pytest.raises(TaskError, match="no tangle of 1 x 1 tiles with 1 crossings"):
        sample_tiles(np.random.default_rng(0), 1, 1, (0, 1), (0, 9))
