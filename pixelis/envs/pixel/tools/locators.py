"""Two ways to find a known object in a small part of a picture: by its texture, and by its colours."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from pixelis.envs.pixel.tools.masks import Image
from pixelis.envs.pixel.tools.ocr import PixelBox

Method = Literal["template", "mean_shift"]

_TEXTURED = 9.0  # mean grey-level gradient of what has enough texture for a template
_COLOURFUL = 60  # HSV saturation and value from which on a hue means something, 0-255
_MOSTLY = 0.4  # share of a box that must be colourful for its hues to say where it is
_PULL = 0.25  # of the expectation: what a match at the rim of the search loses
_PLAIN = 2.0  # standard deviation below which a sample is noise, and correlates with anything; grey levels
_LIKE = 0.5  # least correlation with the template
_ENOUGH = 0.5  # least share of the object's colour that must be there
_HUES = 32


@dataclass(frozen=True)
class Found:
    """Where the object's middle is, pixels, and how like it it looks, 0-1."""

    x: float
    y: float
    confidence: float


class Locator(Protocol):
    """Knows an object and finds it in pictures.

    Attributes:
        sure: the confidence from which on a place is exact; below it, what is hidden of the object shifts it.
    """

    sure: float

    def locate(self, pixels: Image, middle: tuple[float, float], reach: float) -> Found | None:
        """Return where the object is, or ``None`` where it cannot be seen.

        Args:
            pixels: ``[H, W, 3]`` uint8 RGB, a little more than what is searched.
            middle: where it is expected, x and y.
            reach: how far from there its middle may be, pixels.
        """
        ...


def texture(sample: Image) -> float:
    """Return how much there is to match in an object: the mean gradient, grey levels a pixel.

    The outer sixth on each side is left out: there the object ends and the background begins.

    Args:
        sample: the object's box, ``[H, W, 3]`` uint8 RGB.
    """
    import cv2

    grey = cv2.cvtColor(sample, cv2.COLOR_RGB2GRAY).astype(np.float32)
    height, width = grey.shape
    inner = grey[height // 6 : height - height // 6, width // 6 : width - width // 6]
    if min(inner.shape) < 2:
        return 0.0
    dy, dx = np.diff(inner, axis=0)[:, 1:], np.diff(inner, axis=1)[1:]
    return float(np.hypot(dx, dy).mean())


def choose_method(sample: Image) -> Method:
    """Return the template for what has texture, mean shift for a flat surface of some colour."""
    import cv2

    hsv = cv2.cvtColor(sample, cv2.COLOR_RGB2HSV)
    colourful = ((hsv[..., 1] >= _COLOURFUL) & (hsv[..., 2] >= _COLOURFUL)).mean()
    return "mean_shift" if texture(sample) < _TEXTURED and colourful >= _MOSTLY else "template"


def make_locator(method: Method, sample: Image, around: Image, box: PixelBox) -> Locator:
    """Return a locator of an object.

    Args:
        method: which.
        sample: the object's box, ``[H, W, 3]`` uint8 RGB.
        around: the object with its surroundings.
        box: of the object in ``around``, pixels.
    """
    return TemplateLocator(sample) if method == "template" else HueLocator(sample, around, box)


class TemplateLocator:
    """Finds what looks most like the sample, by normalised cross-correlation (Lewis 1995).

    A match loses with its distance from the expected place, so that of two objects that look the same the
    nearer one is taken. Places are compared in grey, which takes a third of the time; the best one is then
    compared in colour, and that is the confidence.
    """

    sure = 0.0

    def __init__(self, sample: Image) -> None:
        import cv2

        self._grey = cv2.cvtColor(np.ascontiguousarray(sample), cv2.COLOR_RGB2GRAY)
        self._colours = _deviations(sample)
        self._plain = float(sample.std(axis=(0, 1)).max()) < _PLAIN

    def locate(self, pixels: Image, middle: tuple[float, float], reach: float) -> Found | None:
        """Return the best match; see `Locator`."""
        import cv2

        if self._plain:
            return None
        height, width = self._grey.shape
        # Where a part of the object is outside the picture, the sample must still fit into what is searched.
        rows, columns = (
            max(0, side - have) for side, have in zip((height, width), pixels.shape, strict=False)
        )
        if rows or columns:
            pixels = np.pad(pixels, ((rows, rows), (columns, columns), (0, 0)), mode="edge")
        grey = cv2.cvtColor(np.ascontiguousarray(pixels), cv2.COLOR_RGB2GRAY)
        likeness = cv2.matchTemplate(grey, self._grey, cv2.TM_CCOEFF_NORMED)
        likeness = np.asarray(likeness, np.float32)
        if not np.isfinite(likeness).all():
            likeness = np.nan_to_num(likeness, nan=-1.0, posinf=-1.0, neginf=-1.0)
        x = np.arange(likeness.shape[1]) + width / 2 - columns - middle[0]
        y = np.arange(likeness.shape[0])[:, None] + height / 2 - rows - middle[1]
        distance = (x * x + y * y) / max(reach, 1.0) ** 2
        wanted = np.where(distance <= 1, likeness - _PULL * distance, -2.0)
        row, column = divmod(int(wanted.argmax()), wanted.shape[1])
        if wanted[row, column] == -2.0:
            return None
        here = _deviations(pixels[row : row + height, column : column + width])
        confidence = float(np.vdot(here, self._colours))
        if confidence < _LIKE:
            return None
        return Found(
            middle[0] + float(x[column]) + _vertex(likeness[row], column),
            middle[1] + float(y[row, 0]) + _vertex(likeness[:, column], row),
            min(1.0, confidence),
        )


def _deviations(pixels: Image) -> NDArray[np.float32]:
    """Return how pixels differ from their mean colour, scaled to length 1, or 0 where all are alike.

    The product of two of these is the correlation of two pictures.
    """
    import cv2

    values = pixels.astype(np.float32)
    values -= np.array(cv2.mean(values)[:3], np.float32)
    length = math.sqrt(float(np.vdot(values, values)))
    return values / length if length > 0 else values


def _vertex(values: NDArray[np.float32], index: int) -> float:
    """Return how far from its highest value a parabola through it and its neighbours peaks, -0.5 to 0.5."""
    if not 0 < index < len(values) - 1:
        return 0.0
    before, here, after = (float(value) for value in values[index - 1 : index + 2])
    bend = before - 2 * here + after
    return min(max((before - after) / (2 * bend), -0.5), 0.5) if bend < -1e-9 else 0.0


class HueLocator:
    """Finds where the object's hues gather, by mean shift (Comaniciu and Meer 2002; Bradski 1998).

    Every hue weighs as much as it is the object's rather than its surroundings'.
    """

    sure = 0.88

    def __init__(self, sample: Image, around: Image, box: PixelBox) -> None:
        inside = _hue_histogram(sample)
        outside = np.maximum(_hue_histogram(around) - inside, 0)
        self._weights = np.where(inside > 0, inside / np.maximum(inside + outside, 1e-9), 0.0)
        self._weights[inside < 0.02 * inside.sum()] = 0.0
        self._size = sample.shape[1], sample.shape[0]
        self._mass = float(self._map(sample).sum())
        x0, y0, x1, y1 = box
        sums = self._middle(self._map(around[max(0, y0) : y1, max(0, x0) : x1]))
        self._offset = (
            (0.0, 0.0) if sums is None else (sums[0] - self._size[0] / 2, sums[1] - self._size[1] / 2)
        )

    def _map(self, pixels: Image) -> NDArray[np.float32]:
        """Return how much each pixel is the object's, 0-1."""
        hues, valid = _hues(pixels)
        return np.where(valid, self._weights[hues], 0.0).astype(np.float32)

    @staticmethod
    def _middle(weights: NDArray[np.float32]) -> tuple[float, float] | None:
        total = float(weights.sum())
        if total <= 0:
            return None
        rows, columns = weights.sum(1), weights.sum(0)
        return (
            float((np.arange(len(columns)) + 0.5) @ columns) / total,
            float((np.arange(len(rows)) + 0.5) @ rows) / total,
        )

    def locate(self, pixels: Image, middle: tuple[float, float], reach: float) -> Found | None:
        """Return where mean shift ends that begins at the expected place; see `Locator`."""
        import cv2

        weights = self._map(pixels)
        width, height = min(self._size[0], weights.shape[1]), min(self._size[1], weights.shape[0])
        left = min(max(round(middle[0] - width / 2), 0), weights.shape[1] - width)
        top = min(max(round(middle[1] - height / 2), 0), weights.shape[0] - height)
        criteria = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 20, 0.5)
        _, (left, top, width, height) = cv2.meanShift(weights, (left, top, width, height), criteria)
        here = weights[top : top + height, left : left + width]
        share = float(here.sum()) / max(self._mass, 1e-9)
        centre = self._middle(here)
        if centre is None or share < _ENOUGH:
            return None
        x, y = left + centre[0] - self._offset[0], top + centre[1] - self._offset[1]
        if np.hypot(x - middle[0], y - middle[1]) > max(reach, 1.0):
            return None
        return Found(x, y, min(1.0, share))


def _hues(pixels: Image) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the bin of every pixel's hue, and whether it is colourful enough to have one."""
    import cv2

    hsv = cv2.cvtColor(np.ascontiguousarray(pixels), cv2.COLOR_RGB2HSV)
    valid = (hsv[..., 1] >= _COLOURFUL) & (hsv[..., 2] >= _COLOURFUL)
    return (hsv[..., 0].astype(np.intp) * _HUES // 180), valid


def _hue_histogram(pixels: Image) -> NDArray[np.float64]:
    hues, valid = _hues(pixels)
    return np.bincount(hues[valid], minlength=_HUES).astype(np.float64)
