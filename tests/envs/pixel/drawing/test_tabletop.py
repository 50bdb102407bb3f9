from __future__ import annotations

import numpy as np
import pytest

from pixelis.envs.pixel.drawing.tabletop import TONES, paint_tabletop, tabletop_pixels


@pytest.mark.parametrize("size", [100, 256, 300, 520])
def test_the_grain_repeats_after_256_columns_whatever_the_size(size):
    pixels = tabletop_pixels(size, 3)
    assert pixels.shape == (size, size, 3) and pixels.dtype == np.uint8
    assert np.array_equal(pixels[:, 256:], pixels[:, : max(0, size - 256)])
    assert np.array_equal(pixels, np.asarray(paint_tabletop(size, 3)))


def test_nothing_stands_out():
    """A tone, shifted by at most 4 and 3 for a board and its grain, and 12 darker in a joint."""
    for seed in range(8):
        pixels = tabletop_pixels(400, seed).astype(int)
        assert any((np.abs(pixels - tone) <= 4 + 3 + 12).all() for tone in TONES)


def test_an_array_is_the_callers_own():
    first = tabletop_pixels(300, 1)
    kept = first.copy()
    first[:] = 0
    assert np.array_equal(tabletop_pixels(300, 1), kept)
