import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.envs.pixel.tools.colours import (
    colour_names,
    dominant_colour,
    name_colour,
    name_indices,
    rgb_to_lab,
)
from pixelis.envs.pixel.tools.palette import PALETTE


@pytest.mark.parametrize(
    ("rgb", "lab"),
    [  # published values for sRGB under D65
        ((255, 255, 255), (100.0, 0.0, 0.0)),
        ((0, 0, 0), (0.0, 0.0, 0.0)),
        ((255, 0, 0), (53.24, 80.09, 67.20)),
        ((0, 255, 0), (87.73, -86.18, 83.18)),
        ((0, 0, 255), (32.30, 79.19, -107.86)),
        ((119, 119, 119), (50.03, 0.0, 0.0)),
    ],
)
def test_lab_of_reference_colours(rgb, lab):
    np.testing.assert_allclose(rgb_to_lab(rgb), lab, atol=0.02)


@pytest.mark.parametrize("name", PALETTE)
def test_every_palette_colour_has_its_own_name(name):
    assert name_colour(PALETTE[name]) == name


@pytest.mark.parametrize("name", PALETTE)
def test_names_survive_the_jitter_of_the_hardest_level(name):
    rng = np.random.default_rng(0)
    jittered = np.clip(np.array(PALETTE[name]) + rng.integers(-6, 7, (200, 3)), 0, 255)
    assert {colour_names()[index] for index in name_indices(jittered)} == {name}


@pytest.mark.parametrize(
    ("rgb", "name"),
    [((0, 0, 0), "black"), ((22, 22, 26), "black"), ((128, 128, 128), "grey"), ((250, 250, 246), "white")],
)
def test_achromatic_colours(rgb, name):
    assert name_colour(rgb) == name


@given(st.lists(st.tuples(*[st.integers(0, 255)] * 3), min_size=1, max_size=5))
def test_many_colours_are_named_as_each_alone(colours):
    assert [colour_names()[index] for index in name_indices(colours)] == [name_colour(rgb) for rgb in colours]


def test_dominant_colour_ignores_ink_and_pixels_outside_the_mask():
    view = np.zeros((20, 20, 3), np.uint8)
    view[:, :10] = (208, 32, 38)
    view[4:10, 2:8] = (255, 255, 255)  # 36 of the 200 masked pixels are ink
    mask = np.zeros((20, 20), bool)
    mask[:, :10] = True
    assert dominant_colour(view, mask) == (208, 32, 38)


def test_dominant_colour_of_a_large_mask_samples_all_of_its_rows():
    view = np.full((200, 200, 3), 255, np.uint8)
    view[60:] = (32, 98, 214)  # 30 % white at the top, where a sample of the first pixels would look
    assert dominant_colour(view, np.ones((200, 200), bool)) == (32, 98, 214)
