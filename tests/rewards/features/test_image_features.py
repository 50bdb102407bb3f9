"""Thumbnails and patch features of pictures, and features of plain numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.rewards.features.image import PatchProjection, is_image, thumbnail

PATCHES = PatchProjection(384, seed=0)


def flat(shape: tuple[int, ...], colour: object) -> np.ndarray:
    return np.full(shape, colour, np.uint8)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (flat((8, 8), 1), True),
        (flat((84, 84, 1), 1), True),
        (flat((3, 64, 64), 1), True),
        (flat((2, 2, 3), 1), True),
        (flat((5,), 1), False),
        (flat((1, 9), 1), False),
        (np.zeros((8, 8, 3)), False),
        ([[1, 2], [3, 4]], False),
    ],
)
def test_what_counts_as_a_picture(value: object, expected: bool):
    assert is_image(value) is expected


@given(st.integers(2, 200), st.integers(2, 200), st.integers(0, 255))
def test_thumbnail_of_one_colour_is_that_colour(height: int, width: int, level: int):
    small = thumbnail(flat((height, width, 3), level))
    assert small.shape == (16, 16, 3) and small.dtype == np.uint8
    assert (small == level).all()


def test_thumbnail_keeps_places_and_colours():
    image = flat((384, 384, 3), 0)
    image[:96, 288:] = (200, 100, 50)
    small = thumbnail(image)
    assert (small[:4, 12:] == (200, 100, 50)).all()
    assert not small[4:].any() and not small[:, :12].any()


def test_thumbnail_takes_the_mean():
    image = flat((32, 32, 3), 0)
    image[:, ::2] = 100
    assert (thumbnail(image) == 50).all()


@pytest.mark.parametrize("size", [16, 48, 84, 384])
def test_layouts_of_channels_agree(size: int):
    image = np.random.default_rng(0).integers(0, 256, (size, size, 3), dtype=np.uint8)
    channels_first = np.ascontiguousarray(image.transpose(2, 0, 1))
    assert np.array_equal(thumbnail(channels_first), thumbnail(image))
    grey = image[:, :, 0]
    assert np.array_equal(thumbnail(grey), thumbnail(grey[:, :, None]))
    assert np.array_equal(thumbnail(grey), thumbnail(np.repeat(grey[:, :, None], 3, axis=2)))


def test_newest_frames_of_a_stack_count():
    stack = np.random.default_rng(0).integers(0, 256, (84, 84, 4), dtype=np.uint8)
    assert np.array_equal(thumbnail(stack), thumbnail(stack[:, :, 1:]))


def test_picture_that_is_a_slice_gives_the_same():
    image = np.random.default_rng(0).integers(0, 256, (128, 128, 3), dtype=np.uint8)
    assert np.array_equal(thumbnail(image[:, ::2]), thumbnail(np.ascontiguousarray(image[:, ::2])))


def test_change_in_one_corner_moves_one_patch():
    image = flat((16, 16, 3), 100)
    changed = image.copy()
    changed[:4, 12:] = 200
    difference = np.subtract(*PATCHES.images(np.stack([changed, image])))
    moved = np.abs(difference).reshape(16, 24).max(1) > 0
    assert list(np.flatnonzero(moved)) == [3]


def test_contrast_of_noise_gives_about_unit_features():
    noise = np.random.default_rng(0).integers(0, 256, (50, 16, 16, 3), dtype=np.uint8)
    mean_square = float(np.square(PATCHES.images(noise)).mean())
    assert mean_square == pytest.approx((256**2 - 1) / 12 * (4 / 255) ** 2, rel=0.05)


def test_numbers_of_any_size_stay_bounded():
    features = PATCHES.numbers(np.array([1e30, -1e-30, 0.0, 3.0]))
    assert features.shape == (384,) and features.dtype == np.float32
    assert np.abs(features).max() < 400
    assert not PATCHES.numbers(np.zeros(5)).any()


@given(st.integers(0, 40))
def test_each_number_moves_features_of_its_own_part(count: int):
    zero = np.zeros(40)
    moved = zero.copy()
    moved[min(count, 39)] = 2.0
    parts = np.abs(PATCHES.numbers(moved)).reshape(16, 24).max(1) > 0
    assert list(np.flatnonzero(parts)) == [min(count, 39) // 3]
