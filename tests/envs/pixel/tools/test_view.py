from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from pixelis.envs.pixel.tools.view import (
    MIN_SIDE,
    check_image_size,
    crop_view,
    overview,
    square_around,
    square_box,
)
from pixelis.errors import ImageSizeError

anything = st.floats(allow_nan=True, allow_infinity=True)
shares = st.floats(0, 1)


def random_image(size, seed=0):
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (size, size, 3), dtype=np.uint8))


def test_overview_averages_blocks():
    pixels = np.zeros((8, 8, 3), np.uint8)
    pixels[:4, :4] = (10, 20, 30)
    pixels[:2, 4:] = 200  # half of the top right block
    view = overview(Image.fromarray(pixels), 2)
    assert view.tolist() == [[[10, 20, 30], [100, 100, 100]], [[0, 0, 0], [0, 0, 0]]]


def test_a_part_as_large_as_the_view_is_copied():
    image = random_image(64)
    view = crop_view(image, (0.25, 0.5, 0.5, 0.75), 16)
    assert np.array_equal(view, np.asarray(image)[32:48, 16:32])


def test_the_box_picks_the_part():
    pixels = np.zeros((100, 100, 3), np.uint8)
    pixels[20:40, 60:80] = 255
    assert crop_view(Image.fromarray(pixels), (0.6, 0.2, 0.8, 0.4), 10).min() == 255
    assert crop_view(Image.fromarray(pixels), (0.2, 0.6, 0.4, 0.8), 10).max() == 0


def test_a_part_that_is_no_whole_number_of_blocks_is_averaged_too():
    pixels = np.zeros((90, 90, 3), np.uint8)
    pixels[:, ::2] = 200  # stripes far too fine for the view
    view = crop_view(Image.fromarray(pixels), (0.05, 0.05, 0.95, 0.95), 25)
    assert abs(view.mean() - 100) < 3 and np.abs(view[1:-1, 1:-1].astype(int) - 100).max() <= 40


@given(shares, shares, st.floats(1, 50))
def test_any_square_box_can_be_viewed(x, y, factor):
    ramp = np.repeat(np.arange(0, 200, dtype=np.uint8)[None, :, None], 200, axis=0).repeat(3, axis=2)
    box = square_box((x, y), factor)
    row = crop_view(Image.fromarray(ramp), box, 20)[10, :, 0].astype(float)
    columns = np.linspace(box[0], box[2], 41)[1::2] * 200 - 0.5  # middles of the view's pixels, scene pixels
    assert np.abs(row[1:-1] - columns[1:-1]).max() <= 1.5  # two roundings


def test_an_enlarged_edge_stays_between_its_sides_and_in_its_place():
    pixels = np.full((10, 10, 3), 50, np.uint8)
    pixels[:, 5:] = 200
    row = crop_view(Image.fromarray(pixels), (0.0, 0.0, 1.0, 1.0), 100)[50, :, 0]
    assert row[:35].tolist() == [50] * 35 and row[65:].tolist() == [200] * 35
    assert row[49] < 125 < row[50]


@given(shares, shares, st.floats(1, 50), st.sampled_from([8, 32, 64]))
def test_a_plain_picture_stays_plain_in_every_view(x, y, factor, view_size):
    view = crop_view(Image.new("RGB", (90, 90), (1, 128, 254)), square_box((x, y), factor), view_size)
    assert view.shape == (view_size, view_size, 3)
    assert view.dtype == np.uint8
    assert view.flags.c_contiguous
    assert (view == (1, 128, 254)).all()


def test_a_view_is_writable_and_its_own():
    image = random_image(32)
    before = image.tobytes()
    view = crop_view(image, (0, 0, 1, 1), 32)
    view[:] = 0
    assert image.tobytes() == before


def test_square_box_by_hand():
    assert square_box((0.5, 0.5), 2) == (0.25, 0.25, 0.75, 0.75)
    assert square_box((0.0, 1.0), 4) == (0.0, 0.75, 0.25, 1.0)
    assert square_box((0.3, 0.9), 1) == (0.0, 0.0, 1.0, 1.0)
    assert square_box((0.5, 0.5), 0.1) == (0.0, 0.0, 1.0, 1.0)


def test_square_box_of_numbers_that_are_none():
    assert square_box((math.nan, math.nan), math.nan) == (0.0, 0.0, 1.0, 1.0)
    assert square_box((math.nan, math.inf), 2) == (0.25, 0.5, 0.75, 1.0)


def test_square_around_by_hand():
    assert square_around((0.4, 0.45, 0.6, 0.55), 0.0) == pytest.approx((0.4, 0.4, 0.6, 0.6))
    assert square_around((0.4, 0.45, 0.6, 0.55), 0.5) == pytest.approx((0.3, 0.3, 0.7, 0.7))
    assert square_around((0.9, 0.0, 1.0, 0.05), 0.5) == pytest.approx((0.8, 0.0, 1.0, 0.2))
    assert square_around((0.6, 0.55, 0.4, 0.45), 0.0) == pytest.approx((0.4, 0.4, 0.6, 0.6))


def test_square_around_a_point_has_the_smallest_side():
    x0, y0, x1, y1 = square_around((0.5, 0.5, 0.5, 0.5), 1.0)
    assert (x1 - x0, y1 - y0) == pytest.approx((MIN_SIDE, MIN_SIDE))


@given(anything, anything, anything)
def test_square_box_is_a_square_inside_the_scene(x, y, factor):
    x0, y0, x1, y1 = square_box((x, y), factor)
    assert 0 <= x0 < x1 <= 1 and 0 <= y0 < y1 <= 1
    assert x1 - x0 == pytest.approx(y1 - y0)
    assert x1 - x0 + 1e-9 >= MIN_SIDE


@given(shares, shares, st.floats(1, 50))
def test_square_box_holds_its_center(x, y, factor):
    x0, y0, x1, y1 = square_box((x, y), factor)
    assert x0 - 1e-9 <= x <= x1 + 1e-9 and y0 - 1e-9 <= y <= y1 + 1e-9


@given(shares, shares, shares, shares, st.floats(0, 3))
def test_square_around_holds_the_box(xa, ya, xb, yb, margin):
    x0, y0, x1, y1 = square_around((xa, ya, xb, yb), margin)
    assert x0 - 1e-9 <= min(xa, xb) and max(xa, xb) <= x1 + 1e-9
    assert y0 - 1e-9 <= min(ya, yb) and max(ya, yb) <= y1 + 1e-9


@given(anything, anything, anything, anything, anything)
def test_square_around_any_numbers_is_a_square_inside_the_scene(xa, ya, xb, yb, margin):
    x0, y0, x1, y1 = square_around((xa, ya, xb, yb), margin)
    assert 0 <= x0 < x1 <= 1 and 0 <= y0 < y1 <= 1
    assert x1 - x0 == pytest.approx(y1 - y0)


@pytest.mark.parametrize(("width", "height"), [(0, 5), (5, 0), (-1, -1), (10**9, 1), (31623, 31623)])
def test_image_size_is_checked(width, height):
    with pytest.raises(ImageSizeError, match=f"got {width} x {height}"):
        check_image_size(width, height)


@pytest.mark.parametrize("size", [(1, 1), (10_000, 10_000)])
def test_image_sizes_that_pass(size):
    assert check_image_size(*size) is None


def test_an_empty_image_or_view_is_refused():
    with pytest.raises(ImageSizeError):
        overview(Image.new("RGB", (0, 3)), 16)
    with pytest.raises(ImageSizeError):
        overview(random_image(8), 0)
