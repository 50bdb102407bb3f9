"""Pictures and plain numbers as fixed vectors that keep places apart."""

from __future__ import annotations

from typing import Any

import numpy as np

SIDE = 16
"""Width and height of a thumbnail."""
PATCHES = 16
"""Parts that a picture (4 × 4 of them) or a row of numbers is cut into, each with dimensions of its own."""
_PATCH_SIDE, _SAMPLED_ROWS = SIDE // 4, 2 * SIDE


def is_image(value: Any) -> bool:
    """Return whether a value is a picture: uint8 [H, W], [H, W, C] or [C, H, W], at least 2 × 2."""
    if not isinstance(value, np.ndarray) or value.dtype != np.uint8 or value.ndim not in (2, 3):
        return False
    return min(sorted(value.shape)[-2:]) >= 2


def thumbnail(image: np.ndarray) -> np.ndarray:
    """Return a picture's thumbnail, uint8 [16, 16, 3]: the mean colour of each place.

    Of a tall picture only every so many rows are read, two or more to each row of the thumbnail. Of a stack
    of more than three channels, the last three count.

    Args:
        image: as `is_image` has it.
    """
    import cv2

    if image.ndim == 2:
        image = image[:, :, None]
    elif image.shape[0] <= 4 < image.shape[2]:
        image = image.transpose(1, 2, 0)
    if image.shape[2] != 3:
        image = np.repeat(image[:, :, -1:], 3, axis=2) if image.shape[2] < 3 else image[:, :, -3:]
    rows = image[:: max(1, image.shape[0] // _SAMPLED_ROWS)]
    if rows.strides[1:] != (3, 1):
        rows = np.ascontiguousarray(rows)
    height, width = rows.shape[:2]
    if height == _SAMPLED_ROWS and width % 2 == 0:  # halving first is a quarter faster
        rows = cv2.resize(rows, (width // 2, height // 2), interpolation=cv2.INTER_AREA)
    return cv2.resize(rows, (SIDE, SIDE), interpolation=cv2.INTER_AREA)


class PatchProjection:
    """A fixed random projection of each patch into dimensions of its own.

    What happens in one place of a picture then moves only that place's dimensions, which can be given a
    weight of their own.

    Args:
        dims: of the result, a multiple of 16.
        seed: of the projection.
    """

    def __init__(self, dims: int, seed: int) -> None:
        self.dims, self._seed = dims, seed
        inputs, outputs = _PATCH_SIDE**2 * 3, dims // PATCHES
        square = np.random.default_rng([seed, 0]).standard_normal((inputs, max(inputs, outputs)))
        scale = 4.0 / 255  # a thumbnail's contrast is about a quarter of its range: then about 1
        self._image = (np.linalg.qr(square)[0][:, :outputs] * scale).astype(np.float32)
        self._numbers: dict[int, np.ndarray] = {}

    def images(self, thumbnails: np.ndarray) -> np.ndarray:
        """Return the features, float32 [n, dims], of thumbnails, uint8 [n, 16, 16, 3]."""
        n, side = len(thumbnails), _PATCH_SIDE
        grid = (thumbnails.astype(np.float32) - 127.5).reshape(n, 4, side, 4, side, 3)
        patches = grid.transpose(0, 1, 3, 2, 4, 5).reshape(n, PATCHES, -1)
        # One product a picture: one for all would round differently for different n.
        return (patches @ self._image).reshape(n, self.dims)

    def numbers(self, values: np.ndarray) -> np.ndarray:
        """Return the features, float32 [dims], of finite numbers of any size, float64 [k].

        Their sizes are compressed by sign(x) ln(1 + |x|) (symlog, Hafner et al. 2023, arXiv:2301.04104).
        """
        each = max(1, -(-len(values) // PATCHES))
        if each not in self._numbers:
            shape = (each, self.dims // PATCHES)
            random = np.random.default_rng([self._seed, each]).standard_normal(shape)
            self._numbers[each] = random / np.sqrt(each)
        padded = np.zeros(each * PATCHES)
        padded[: len(values)] = np.sign(values) * np.log1p(np.abs(values))
        return (padded.reshape(PATCHES, each) @ self._numbers[each]).reshape(-1).astype(np.float32)
