import json
import math

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.envs.pixel.tools.properties import measure, outline_length, position_words
from pixelis.errors import ImageSizeError


def blank(height=100, width=100, rgb=(32, 98, 214)):
    return np.full((height, width, 3), rgb, np.uint8)


def rectangle(x, y, width, height, size=100):
    mask = np.zeros((size, size), bool)
    mask[y : y + height, x : x + width] = True
    return mask


def test_rectangle_by_hand():
    found = measure(blank(), rectangle(10, 20, 40, 20))
    assert found.area == 800
    assert found.area_share == 0.08
    assert found.box == (10, 20, 50, 40)
    assert found.centroid == (30.0, 30.0)
    assert found.perimeter == pytest.approx(120)
    assert found.circularity == pytest.approx(4 * math.pi * 800 / 120**2)
    assert found.solidity == 1
    assert found.aspect_ratio == pytest.approx(2)
    assert found.orientation_degrees == 0
    assert (found.size, found.position) == ("medium", "top left")
    assert found.mean_rgb == found.dominant_rgb == (32, 98, 214)
    assert found.colour == "blue"


def test_upright_rectangle_points_up():
    found = measure(blank(), rectangle(70, 10, 10, 60))
    assert found.orientation_degrees == 90
    assert found.aspect_ratio == pytest.approx(6)
    assert found.position == "right"


def test_square_has_no_direction():
    found = measure(blank(), rectangle(40, 40, 20, 20))
    assert (found.orientation_degrees, found.aspect_ratio) == (0, 1)
    assert found.circularity == pytest.approx(math.pi / 4)
    assert found.position == "centre"


def test_disc():
    mask = np.hypot(*(np.mgrid[:201, :201] - 100)) <= 80
    found = measure(blank(201, 201), mask)
    assert found.perimeter == pytest.approx(2 * math.pi * 80, rel=0.02)
    assert found.circularity > 0.96
    assert found.solidity > 0.98
    assert found.aspect_ratio == pytest.approx(1, abs=1e-6)
    assert found.size == "large"


@pytest.mark.parametrize("degrees", [-75, -45, -20, 15, 45, 60, 80])
def test_turned_bar_keeps_its_aspect_and_shows_its_angle(degrees):
    canvas = np.zeros((300, 300), np.uint8)
    corners = cv2.boxPoints(((150, 150), (160, 40), -degrees))  # OpenCV turns clockwise as seen
    cv2.fillPoly(canvas, [np.round(corners).astype(np.int32)], 1)
    found = measure(blank(300, 300), canvas > 0)
    assert found.orientation_degrees == pytest.approx(degrees, abs=1)
    assert found.aspect_ratio == pytest.approx(4, rel=0.05)
    assert found.perimeter == pytest.approx(400, rel=0.03)
    assert found.solidity > 0.96


def test_diagonal_line_goes_up_to_the_right():
    found = measure(blank(), np.eye(100, dtype=bool)[::-1])
    assert found.orientation_degrees == pytest.approx(45)
    assert found.area == 100


def test_l_shape_is_not_solid():
    mask = rectangle(10, 10, 40, 40)
    mask[10:30, 30:50] = False
    # 1200 of the hull's 1600 - 200 pixels
    assert measure(blank(), mask).solidity == pytest.approx(1200 / 1400, abs=0.01)


@pytest.mark.parametrize(("width", "height"), [(1, 1), (7, 1), (1, 9), (2, 2), (40, 2), (3, 50)])
def test_outline_of_small_rectangles(width, height):
    assert outline_length(rectangle(5, 5, width, height)) == pytest.approx(2 * (width + height))


def test_parts_are_measured_together():
    mask = rectangle(0, 0, 10, 10) | rectangle(90, 90, 10, 10)
    found = measure(blank(), mask)
    assert found.box == (0, 0, 100, 100)
    assert found.perimeter == pytest.approx(80)
    assert found.centroid == (50, 50)


def test_ink_does_not_change_the_colour_name():
    view = blank(rgb=(208, 32, 38))
    view[45:55, 30:60] = 255
    found = measure(view, rectangle(20, 35, 60, 30))
    assert found.colour == "red"
    assert found.mean_rgb != found.dominant_rgb == (208, 32, 38)


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [(0, 0, "top left"), (0.5, 0, "top"), (1, 0.4, "right"), (0.5, 0.5, "centre"), (0.99, 1, "bottom right")],
)
def test_position_words(x, y, words):
    assert position_words(x, y) == words


def test_empty_mask_is_one_clear_error():
    with pytest.raises(ImageSizeError, match="no pixels"):
        measure(blank(), np.zeros((100, 100), bool))


def test_mask_of_another_size_names_both_sizes():
    with pytest.raises(ImageSizeError, match=r"\(100, 100\).*\(50, 50\)"):
        measure(blank(), np.ones((50, 50), bool))


@given(st.integers(0, 2**32 - 1), st.floats(0.001, 0.999))
def test_any_mask_has_finite_properties_in_their_ranges(seed, share):
    mask = np.random.default_rng(seed).random((24, 31)) < share
    mask[3, 4] = True
    found = measure(blank(24, 31), mask)
    assert 0 < found.circularity <= 1 and 0 < found.solidity <= 1
    assert found.aspect_ratio >= 1 and -90 < found.orientation_degrees <= 90
    assert found.area == mask.sum()
    json.dumps(found.to_json(), allow_nan=False)
