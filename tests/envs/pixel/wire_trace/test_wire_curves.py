from __future__ import annotations

import math

import numpy as np
import pytest

from pixelis.envs.pixel.wire_trace.curves import (
    LEAST_ANGLE,
    STEPS,
    Mesh,
    all_crossing_points,
    all_curves,
    crossing_points,
    strand_curve,
    unclear_tiles,
)
from pixelis.envs.pixel.wire_trace.grid import (
    BENDS_LEFT,
    BENDS_RIGHT,
    BOTTOM,
    LEFT,
    RIGHT,
    TOP,
    UPRIGHT_OVER,
    Strand,
)


def plain_mesh(grid=2, pitch=100.0):
    lines = np.array([200 + pitch * step for step in range(grid + 1)], np.float64)
    half = np.full((grid + 1, grid), 0.5)
    return Mesh(np.stack(np.meshgrid(lines, lines), -1), half, half.T)


def test_gates_of_a_plain_mesh_are_in_the_middles_and_look_inward():
    places, inward = plain_mesh().gates()
    assert places[0].tolist() == [[250, 200], [300, 250], [250, 300], [200, 250]]
    assert places[3].tolist() == [[350, 300], [400, 350], [350, 400], [300, 350]]
    assert inward[1].tolist() == [[0, 1], [-1, 0], [0, -1], [1, 0]]


def test_a_straight_strand_and_a_bend_by_hand():
    curves = all_curves(plain_mesh())
    straight = strand_curve(curves, Strand(0, LEFT, RIGHT))
    assert straight[:, 1] == pytest.approx(250)
    assert straight[[0, STEPS // 2, STEPS], 0] == pytest.approx([200, 250, 300])
    bend = strand_curve(curves, Strand(0, TOP, LEFT))
    # Bézier at 1/2: (p0 + 3 p1 + 3 p2 + p3) / 8 with handles of 30 pixels
    assert bend[STEPS // 2] == pytest.approx([(250 + 3 * 250 + 3 * 230 + 200) / 8] * 2)
    assert strand_curve(curves, Strand(0, LEFT, TOP)) == pytest.approx(bend[::-1])


def test_cables_go_on_smoothly_in_the_next_tile():
    mesh = plain_mesh(3)
    mesh.corners[1:3, 1:3] += np.array([[[7, -4], [3, 9]], [[-8, 2], [5, 5]]])
    curves = all_curves(mesh)
    here, beyond = curves[4, LEFT, RIGHT], curves[5, LEFT, BOTTOM]
    assert here[-1] == pytest.approx(beyond[0])
    before, after = here[-1] - here[-2], beyond[1] - beyond[0]
    cosine = (before @ after) / (np.hypot(*before) * np.hypot(*after))
    assert math.degrees(math.acos(min(1.0, cosine))) < 3


def test_crossing_points_by_hand():
    level = np.array([[0.0, 1.0], [4.0, 1.0], [8.0, 1.0]])
    zigzag = np.array([[1.0, 0.0], [1.0, 2.0], [6.0, 2.0], [6.0, 0.0]])
    assert crossing_points(level, zigzag).tolist() == [[1, 1, 0.25, 0.5], [6, 1, 1.5, 2.5]]
    assert len(crossing_points(level, level + 1)) == 0
    assert len(crossing_points(level, level)) == 0
    assert len(crossing_points(zigzag, zigzag)) == 0


def test_crossings_of_many_pairs_by_hand():
    """A cross at (1, 1), no meeting, and a line that is crossed twice: in the order of the pairs."""
    flat = [[0.0, 1.0], [2.0, 1.0], [4.0, 1.0]]
    first = np.array([flat, flat, flat])
    second = np.array(
        [[[1, 0], [1, 2], [1, 3]], [[0, 2], [2, 2], [4, 2]], [[0.5, 0], [1.5, 2], [2.5, 0]]], np.float64
    )
    pair, found = all_crossing_points(first, second)
    assert pair.tolist() == [0, 2, 2]
    assert found.tolist() == [[1, 1, 0.5, 0.5], [1, 1, 0.5, 0.5], [2, 1, 1.0, 1.5]]
    none, places = all_crossing_points(first[:0], second[:0])
    assert (none.shape, places.shape) == ((0,), (0, 4))


@pytest.mark.parametrize("kind", [UPRIGHT_OVER, BENDS_LEFT, BENDS_RIGHT])
def test_a_plain_mesh_is_clear(kind):
    assert unclear_tiles(plain_mesh(), [kind] * 4) == []


def test_bends_too_close_are_unclear():
    mesh = plain_mesh()
    mesh.level[0, 0], mesh.upright[0, 0] = 0.95, 0.95  # the upper left bend comes near the other corner
    assert unclear_tiles(mesh, [BENDS_LEFT] * 4) == [0]
    assert unclear_tiles(mesh, [BENDS_RIGHT] + [BENDS_LEFT] * 3) == []


def test_a_flat_crossing_is_unclear():
    mesh = plain_mesh()
    mesh.level[0, 0], mesh.level[1, 0] = 0.02, 0.98  # one runs from the upper left to the lower right ...
    mesh.upright[0, 0], mesh.upright[0, 1] = 0.05, 0.95  # ... and so does the other
    assert 0 in unclear_tiles(mesh, [UPRIGHT_OVER] + [BENDS_LEFT] * 3)
    curves = all_curves(mesh)
    found = crossing_points(curves[0, TOP, BOTTOM], curves[0, LEFT, RIGHT])
    assert len(found) >= 1
    assert LEAST_ANGLE == 45


def test_crossings_too_close_are_unclear():
    assert unclear_tiles(plain_mesh(2, 40.0), [UPRIGHT_OVER] * 4) == [0, 1, 2, 3]
    assert unclear_tiles(plain_mesh(2, 51.0), [UPRIGHT_OVER] * 4) == []
