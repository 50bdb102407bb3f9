"""Clean-up of masks: rings and gaps filled, strokes measured, by hand and for any mask."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.envs.pixel.tools.masks import fill_holes, stroke_width

SIDE = 24


def rectangle(left, top, right, low):
    mask = np.zeros((SIDE, SIDE), np.uint8)
    mask[top:low, left:right] = 1
    return mask


def random_mask(seed, share):
    return (np.random.default_rng(seed).random((SIDE, SIDE)) < share).astype(np.uint8)


def test_a_ring_is_filled_and_two_parts_stay_apart():
    ring = rectangle(2, 2, 12, 10) - rectangle(4, 4, 10, 8)
    other = rectangle(15, 2, 20, 22)
    assert np.array_equal(fill_holes(ring | other), (rectangle(2, 2, 12, 10) | other).astype(bool))


def test_a_gap_of_one_pixel_is_closed_and_one_of_three_stays_open():
    for gap, filled in ((1, True), (3, False)):
        ring = rectangle(2, 2, 14, 14) - rectangle(4, 4, 12, 12)
        ring[7 : 7 + gap, 2:4] = 0
        assert fill_holes(ring)[8, 8] == filled, gap


def test_a_mask_along_the_edge_does_not_grow():
    for mask in (rectangle(0, 0, SIDE, 5), rectangle(0, 0, 5, SIDE), rectangle(0, 0, SIDE, SIDE)):
        assert np.array_equal(fill_holes(mask), mask.astype(bool))


@given(st.integers(0, 2**32 - 1), st.floats(0, 0.6))
def test_nothing_is_taken_away_and_twice_is_once(seed, share):
    mask = random_mask(seed, share)
    once = fill_holes(mask)
    assert once.dtype == bool and (once >= mask).all()
    assert (fill_holes(once.astype(np.uint8)) >= once).all()


@pytest.mark.parametrize(("thick", "width"), [(1, 2.0), (3, 4.0), (7, 8.0)])
def test_the_width_of_a_bar_is_its_shorter_side_and_a_pixel(thick, width):
    """Half a pixel too far on each side, to the next one's middle; OpenCV's distances are 4.5 % short."""
    assert stroke_width(rectangle(2, 4, 20, 4 + thick).astype(bool)) == pytest.approx(width, rel=0.05)
    assert stroke_width(rectangle(4, 2, 4 + thick, 20).astype(bool)) == pytest.approx(width, rel=0.05)
    assert stroke_width(rectangle(0, 0, SIDE, thick).astype(bool)) == pytest.approx(width, rel=0.05)


def test_the_thickest_part_counts_and_an_empty_mask_has_no_width():
    both = (rectangle(0, 0, 20, 1) | rectangle(5, 8, 14, 17)).astype(bool)
    assert stroke_width(both) == stroke_width(rectangle(5, 8, 14, 17).astype(bool))
    assert stroke_width(np.zeros((SIDE, SIDE), bool)) == 0.0
