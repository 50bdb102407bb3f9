"""A reader that knows the text: fast, and as short-sighted as real OCR by a measured curve."""

from __future__ import annotations

import hashlib
import math
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pixelis.envs.pixel.tools.ocr import PixelBox, Reading, TextLine, make_line

LEGIBILITY: tuple[tuple[float, float], ...] = (
    (4.0, 0.0),
    (5.0, 0.13),
    (6.0, 0.45),
    (7.0, 0.55),
    (8.0, 0.90),
    (9.0, 0.95),
    (10.0, 1.0),
)
"""Line height (ascent + descent) in pixels of the view -> share of strings that rapidocr 3.10 reads.

Measured on 60 strings drawn at 32 px and averaged down; straight lines in between.
"""

_LEAST_VISIBLE = 0.7  # share of a character's height and width that must be inside the region
_MARKS = "~^*#"
_WRONG_SHARE = 0.5
"""Share of the characters of a misread line that are wrong, on average."""


@dataclass(frozen=True)
class TextItem:
    """A line of text in a view.

    Attributes:
        text: the string.
        corners: four ``(x, y)`` in pixels of the view: start-top, end-top, end-bottom, start-bottom in
            reading direction; they may lie outside the view.
        height: line height (ascent + descent) in pixels of the view.
        visible: share of the text that nothing covers, 0-1; the covered part is taken from the end.
    """

    text: str
    corners: tuple[tuple[float, float], ...]
    height: float
    visible: float = 1.0


class TruthReader:
    """Reads the texts it was shown instead of pixels, as far as a real reader could.

    A line is read by the chance that :data:`LEGIBILITY` gives its height; the draw is a hash of the text and
    its place, so the same view always reads the same. Below the curve's foot nothing is seen; in between, a
    failed draw gives a wrong string of low confidence. Which characters of it are wrong, and for what they
    are taken, is drawn likewise, so that nobody can learn to undo it. Of a line that is cut off, only the
    characters inside are read.
    """

    def __init__(self, items: Sequence[TextItem] = ()) -> None:
        """Args: ``items`` the texts of the current view; see `show`."""
        self._items: tuple[TextItem, ...] = tuple(items)

    def show(self, items: Sequence[TextItem]) -> None:
        """Replace the texts: to be called whenever the view changes."""
        self._items = tuple(items)

    def read(self, view: NDArray[np.uint8], box: PixelBox) -> Reading:
        """Return the shown texts inside a box, in reading order (rows, then from the left).

        Args:
            view: ``[H, W, 3]``; only its size is used.
            box: ``(x0, y0, x1, y1)`` in pixels, half open; clipped to the view.
        """
        height, width = view.shape[:2]
        clipped = max(0, box[0]), max(0, box[1]), min(width, box[2]), min(height, box[3])
        lines = [line for item in self._items if (line := _read_item(item, clipped)) is not None]
        return Reading(tuple(sorted(lines, key=lambda line: (line.box[1] // 10, line.box[0]))))


def text_inside(item: TextItem, box: PixelBox) -> str:
    """Return the part of a text that is inside a box of its view and not covered, legible or not."""
    if not _may_overlap(item, box):
        return ""
    if item.visible >= 1 and all(box[0] <= x <= box[2] and box[1] <= y <= box[3] for x, y in item.corners):
        return item.text.strip()
    return "".join(item.text[i] for i in _characters_inside(item, box)).strip()


def legibility(height: float) -> float:
    """Return the chance that text of this line height (pixels of the view) is read without error, 0-1."""
    heights, shares = zip(*LEGIBILITY, strict=True)
    return float(np.interp(height, heights, shares))


def _read_item(item: TextItem, box: PixelBox) -> TextLine | None:
    chance = legibility(item.height)
    if chance == 0 or not _may_overlap(item, box):
        return None
    inside = _characters_inside(item, box)
    if not inside:
        return None
    first, last = inside[0], inside[-1]
    text = "".join(item.text[i] for i in inside).strip()
    if not text:
        return None
    if _draw(item) >= chance:
        text, confidence = _misread(item, inside), 0.6 + 0.2 * chance
    else:
        confidence = 0.9 + 0.1 * chance
    return make_line(text, _bounds(item, first, last + 1, box), round(confidence, 3))


def _draw(item: TextItem, what: str = "") -> float:
    """Return a number in [0, 1) that depends on the text, its place and what is drawn only."""
    places = ",".join(f"{value:.1f}" for corner in item.corners for value in corner)
    digest = hashlib.blake2b(f"{item.text}|{places}{what}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def _misread(item: TextItem, inside: Sequence[int]) -> str:
    """Return characters of a line, about half of them, at least one, taken for others."""
    said = {i: item.text[i] for i in inside}
    seen = [i for i, character in said.items() if not character.isspace()]
    plain = [i for i in seen if _others(said[i])[0] not in _MARKS]
    drawn = {i: _draw(item, f"|{i}") for i in plain or seen}
    limit = max(_WRONG_SHARE, min(drawn.values()))
    for i in (i for i, number in drawn.items() if number <= limit):
        others = _others(said[i])
        said[i] = others[int(_draw(item, f"|{i}|for") * len(others))]
    return "".join(said.values()).strip()


def _others(character: str) -> str:
    """Return what a character may be taken for, never itself; a digit for letters: no number comes of it."""
    for is_one, kind in _KINDS:
        if is_one(character):
            return kind.replace(character, "")
    return _MARKS.replace(character, "")


_KINDS: tuple[tuple[Callable[[str], bool], str], ...] = (
    (str.isdecimal, string.ascii_uppercase),
    (str.isupper, string.ascii_uppercase + string.digits),
    (str.islower, string.ascii_lowercase + string.digits),
)


def _point(item: TextItem, along: float, across: float) -> tuple[float, float]:
    """Return the view point at shares of the line's length and height."""
    (x0, y0), (x1, y1), _, (x3, y3) = item.corners
    return x0 + along * (x1 - x0) + across * (x3 - x0), y0 + along * (y1 - y0) + across * (y3 - y0)


def _may_overlap(item: TextItem, box: PixelBox) -> bool:
    xs, ys = zip(*item.corners, strict=True)
    return min(xs) < box[2] and max(xs) > box[0] and min(ys) < box[3] and max(ys) > box[1]


def _characters_inside(item: TextItem, box: PixelBox) -> list[int]:
    """Return the indices of the characters that are inside a box and not covered."""
    count = len(item.text)
    inset = (1 - _LEAST_VISIBLE) / 2
    inside = []
    for i in range(count):
        if i + 1 > item.visible * count + 1e-9:
            break
        points = [_point(item, (i + a) / count, b) for a in (inset, 1 - inset) for b in (inset, 1 - inset)]
        if all(box[0] <= x <= box[2] and box[1] <= y <= box[3] for x, y in points):
            inside.append(i)
    return inside


def _bounds(item: TextItem, start: int, stop: int, box: PixelBox) -> PixelBox:
    """Return the upright box around some characters, clipped to the region."""
    count = len(item.text)
    points = [_point(item, along / count, across) for along in (start, stop) for across in (0, 1)]
    xs, ys = zip(*points, strict=True)
    x0, y0 = max(box[0], math.floor(min(xs))), max(box[1], math.floor(min(ys)))
    return x0, y0, max(x0 + 1, min(box[2], math.ceil(max(xs)))), max(y0 + 1, min(box[3], math.ceil(max(ys))))
