"""Pictures of vehicles: as large as they count, mirrored, painted in the colour that is asked for."""

from __future__ import annotations

import numpy as np
import pytest

from pixelis.envs.pixel.tools.colours import dominant_colour, name_colour
from pixelis.envs.pixel.track_read.cars import car_picture
from pixelis.envs.pixel.track_read.scene import CAR_KINDS, LENGTHS

KINDS = [*((kind, "red") for kind in CAR_KINDS), ("lorry", "grey")]


@pytest.mark.parametrize(("kind", "colour"), KINDS)
def test_a_picture_fills_its_box_and_nothing_outside_its_outline(kind, colour):
    image, mask = car_picture(kind, colour, True)
    assert image.size == mask.size == LENGTHS[kind] and (image.mode, mask.mode) == ("RGB", "L")
    assert mask.getbbox() == (0, 0, *LENGTHS[kind])
    cover = np.asarray(mask)
    assert cover.max() == 255 and 0.6 < (cover > 127).mean() < 0.95
    length, height = LENGTHS[kind]
    assert cover[height - 1, length // 2] == 0  # one sees through between the wheels


@pytest.mark.parametrize(("kind", "colour"), KINDS)
def test_one_that_drives_to_the_left_is_the_mirror_image(kind, colour):
    for right, left in zip(car_picture(kind, colour, True), car_picture(kind, colour, False), strict=True):
        assert np.array_equal(np.asarray(right)[:, ::-1], np.asarray(left))
        assert not np.array_equal(np.asarray(right), np.asarray(left))


@pytest.mark.parametrize("colour", ["red", "blue", "green", "yellow"])
@pytest.mark.parametrize("kind", CAR_KINDS)
def test_the_body_has_the_colour_that_the_question_names(kind, colour):
    image, mask = car_picture(kind, colour, True)
    assert name_colour(dominant_colour(np.asarray(image), np.asarray(mask) > 127)) == colour


def test_tarpaulins_of_lorries_differ():
    grey, white = (np.asarray(car_picture("lorry", colour, True)[0]) for colour in ("grey", "white"))
    assert grey.mean() < white.mean() and np.array_equal(grey[-20:], white[-20:])  # the wheels do not
