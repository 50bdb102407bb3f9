"""Colour names: the nearest named colour in CIE Lab, where equal distances look about equally different."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pixelis.envs.pixel.tools.palette import PALETTE

ACHROMATIC = ("black", "grey", "white")

# Below this chroma a surface has no hue a person would name; the palest palette colour (beige) is far above
# it.
_GREY_CHROMA = 9.0
_BLACK_LIGHTNESS = 25.0
_WHITE_LIGHTNESS = 88.0

# IEC 61966-2-1 (sRGB) to CIE XYZ, and the D65 white point of the 2 degree observer.
_RGB_TO_XYZ = np.array([[0.4124564, 0.3575761, 0.1804375],
                        [0.2126729, 0.7151522, 0.0721750],
                        [0.0193339, 0.1191920, 0.9503041]])  # fmt: skip
_WHITE_POINT = np.array([0.95047, 1.0, 1.08883])


def rgb_to_lab(rgb: ArrayLike) -> NDArray[np.float64]:
    """Convert sRGB to CIE 1976 L*a*b* (D65).

    Formula: IEC 61966-2-1 for the transfer curve, CIE 15:2004 for Lab.

    Args:
        rgb: ``[..., 3]``, 0 to 255.

    Returns:
        ``[..., 3]``: L* in 0-100, a* and b* in about -128 to 127.
    """
    scaled = np.asarray(rgb, np.float64) / 255.0
    linear = np.where(scaled <= 0.04045, scaled / 12.92, ((scaled + 0.055) / 1.055) ** 2.4)
    xyz = linear @ _RGB_TO_XYZ.T / _WHITE_POINT
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    x, y, z = f[..., 0], f[..., 1], f[..., 2]
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], -1)


@lru_cache(maxsize=1)
def colour_names() -> tuple[str, ...]:
    """Return every name that can be given: the palette's, then black, grey and white."""
    return (*PALETTE, *ACHROMATIC)


@lru_cache(maxsize=1)
def _palette_lab() -> NDArray[np.float64]:
    return rgb_to_lab(list(PALETTE.values()))


def name_indices(rgb: ArrayLike) -> NDArray[np.intp]:
    """Return, for each colour, the index of its name in :func:`colour_names`.

    Colours of little chroma are black, grey or white by their lightness; the others take the nearest
    palette colour by Euclidean distance in Lab (CIE 1976 colour difference).

    Args:
        rgb: ``[..., 3]``, 0 to 255.

    Returns:
        ``[...]`` integer indices.
    """
    lab = rgb_to_lab(rgb)
    nearest = ((lab[..., None, :] - _palette_lab()) ** 2).sum(-1).argmin(-1)
    lightness, chroma = lab[..., 0], np.hypot(lab[..., 1], lab[..., 2])
    grey = len(PALETTE) + np.where(
        lightness < _BLACK_LIGHTNESS, 0, np.where(lightness > _WHITE_LIGHTNESS, 2, 1)
    )
    return np.where(chroma < _GREY_CHROMA, grey, nearest)


def name_colour(rgb: ArrayLike) -> str:
    """Return the name of one sRGB colour (three values, 0 to 255)."""
    return colour_names()[int(name_indices(rgb))]


def dominant_colour(view: NDArray[np.uint8], mask: NDArray[np.bool_]) -> tuple[int, int, int]:
    """Return the colour of the main surface under a mask.

    It is the median of the pixels nearest to their own median. A plain median is pulled towards ink and
    blurred edges; half of the pixels is dropped twice (a half-sample mode estimate, after Robertson and Cryer
    1974), so up to about 40 % of other colours do no harm.

    Args:
        view: ``[H, W, 3]`` uint8 RGB.
        mask: ``[H, W]`` bool with at least one True.

    Returns:
        sRGB, 0-255.
    """
    pixels = view[mask]
    if len(pixels) > 4096:
        pixels = pixels[:: len(pixels) // 2048]  # evenly over the rows; enough for a median
    values = pixels.astype(np.int16)
    for _ in range(2):
        distance = np.abs(values - _median(values)).sum(1)
        values = values[distance <= _median(distance)]
    red, green, blue = _median(values)
    return int(red), int(green), int(blue)


def _median(values: NDArray[np.integer]) -> NDArray[np.integer]:
    """Return the lower median along the first axis (on a few hundred rows far faster than numpy's own)."""
    middle = (len(values) - 1) // 2
    return np.partition(values, middle, axis=0)[middle]
