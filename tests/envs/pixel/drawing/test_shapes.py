from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.envs.pixel.drawing.shapes import (
    GROWTH,
    SHAPES,
    SUBPIXELS,
    cover,
    coverage,
    cut,
    polygon_area,
    turned,
    unit_shape,
)

SQUARE = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 4.0]])


def test_areas_by_hand():
    assert polygon_area(SQUARE) == 16
    assert polygon_area(np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])) == 6
    assert polygon_area(SQUARE[::-1]) == 16


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("degrees", [0, 37, 200])
def test_every_shape_has_area_one_however_turned(kind, degrees):
    shape = turned(unit_shape(kind, 1.8), degrees)
    assert polygon_area(shape) == pytest.approx(1)
    assert shape.mean(0) == pytest.approx([0, 0], abs=1e-9)


def test_the_stretch_is_length_over_width():
    assert np.ptp(turned(unit_shape("rectangle", 2.0), 0), 0) == pytest.approx([math.sqrt(2), math.sqrt(0.5)])


def test_turning_is_counter_clockwise_as_seen():
    assert turned(np.array([[1.0, 0.0]]), 90)[0] == pytest.approx([0, -1])  # to the top: y points down


def test_cuts_by_hand():
    assert sorted(cut(SQUARE, 0, 0.25).tolist()) == [[0, 0], [0, 4], [3, 0], [3, 4]]
    assert polygon_area(cut(SQUARE, 90, 0.5)) == 8
    assert cut(SQUARE, 90, 0.5)[:, 1].min() == 2  # the upper half is gone


@given(st.sampled_from(SHAPES), st.floats(0, 360), st.floats(0.05, 0.9), st.floats(0, 360))
def test_a_card_hides_all_that_is_cut_off_and_nothing_else(kind, direction, depth, degrees):
    shape = turned(unit_shape(kind, 1.5), degrees) * 50
    left = cut(shape, direction, depth)
    card = cover(shape, direction, depth, 5)
    ahead = np.array([math.cos(math.radians(direction)), -math.sin(math.radians(direction))])
    aside = np.array([-ahead[1], ahead[0]])
    near = (card @ ahead).min()
    assert (left @ ahead).max() == pytest.approx(near)
    assert (card @ ahead).max() == pytest.approx((shape @ ahead).max() + 5)
    assert np.ptp(card @ aside) == pytest.approx(np.ptp(shape @ aside) + 10)
    assert polygon_area(left) < polygon_area(shape)


def test_coverage_of_whole_pixels_by_hand():
    corners = np.array([[16, 24], [39, 24], [39, 39], [16, 39]])  # to the last of 8 steps of pixels 4 and 4
    mask, left, top = coverage(corners)
    assert (left, top) == (2, 3)
    assert np.asarray(mask).tolist() == [[255] * 3] * 2


def test_outlines_are_painted_half_a_step_outside_their_corners():
    shape = turned(unit_shape("ellipse", 1.5), 30) * 200
    mask, *_ = coverage(np.round((shape + 400) * SUBPIXELS).astype(int))
    perimeter = np.hypot(*(np.roll(shape, -1, 0) - shape).T).sum()
    painted = np.asarray(mask).sum(dtype=int) / 255
    assert painted == pytest.approx(200**2 + GROWTH * perimeter, rel=0.001)
