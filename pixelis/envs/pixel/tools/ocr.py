"""Readers of text: what READ_TEXT runs on the pixels of the current view.

`RapidReader` is real optical character recognition (rapidocr 3 with PP-OCR models inside its wheel, no
network). `ocr_truth.TruthReader` reads from a scene's ground truth through a measured legibility curve, for
speed. Both return the same :class:`Reading`.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from typing import Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from pixelis.envs.pixel.tools.ocr_engine import DETECTION_SIDE, ENGINES, check_installed
from pixelis.envs.pixel.tools.pixel_cache import PixelCache
from pixelis.envs.pixel.tools.text_line import find_text_line
from pixelis.errors import ConfigError, shown, suggest

PixelBox = tuple[int, int, int, int]


@dataclass(frozen=True)
class Word:
    """A run of characters without spaces; ``box`` and ``confidence`` as in `TextLine`."""

    text: str
    box: PixelBox
    confidence: float


@dataclass(frozen=True)
class TextLine:
    """One line of text.

    Attributes:
        text: the characters.
        box: ``(x0, y0, x1, y1)`` in pixels of the view, half open.
        confidence: the reader's own, 0-1.
        words: the parts between spaces.
    """

    text: str
    box: PixelBox
    confidence: float
    words: tuple[Word, ...]


@dataclass(frozen=True)
class Reading:
    """The lines of text in a region, in reading order; none when nothing could be read."""

    lines: tuple[TextLine, ...] = ()

    @property
    def text(self) -> str:
        """The lines joined by line breaks."""
        return "\n".join(line.text for line in self.lines)


class Reader(Protocol):
    """Reads the text in a part of a view."""

    def read(self, view: NDArray[np.uint8], box: PixelBox) -> Reading:
        """Return the text of ``view[y0:y1, x0:x1]``.

        Args:
            view: ``[H, W, 3]`` uint8 RGB.
            box: ``(x0, y0, x1, y1)`` in pixels, half open; clipped to the view.
        """
        ...


ReaderName = Literal["ocr", "truth"]


def make_reader(name: str) -> Reader:
    """Return a reader: ``"ocr"`` reads the pixels, ``"truth"`` the scene's ground truth.

    Raises:
        ConfigError: another name.
        MissingDependencyError: ``ocr`` without rapidocr and onnxruntime.
    """
    if name == "ocr":
        check_installed()  # now, not in the middle of an episode
        return RapidReader()
    if name == "truth":
        from pixelis.envs.pixel.tools.ocr_truth import TruthReader

        return TruthReader()
    raise ConfigError(
        f"reader must be 'ocr' or 'truth', got {shown(name)}.{suggest(name, get_args(ReaderName))}"
    )


def make_line(text: str, box: PixelBox, confidence: float) -> TextLine:
    """Return a line with its words; their boxes share the line's width by the number of characters."""
    x0, y0, x1, y1 = box
    step = (x1 - x0) / max(1, len(text))
    words = tuple(
        Word(found[0], (round(x0 + found.start() * step), y0, round(x0 + found.end() * step), y1), confidence)
        for found in re.finditer(r"\S+", text)
    )
    return TextLine(text, box, confidence, words)


# ---------------------------------------------------------------------- rapidocr

_SMALLEST_SIDE = 4  # pixels; nothing can be read in less
_MIN_CONFIDENCE = 0.8  # legible codes score 0.89 and more, four-pixel ones 0.6 to 0.95
_SURE = 0.85  # a recognition at least this confident is not checked by detection
_ENLARGED_SIDE = 256
_SECOND_SCALE = 1.5  # of the second look when the first found nothing
_PADDED_SIDE = 200  # regions with a shorter side are padded
_PADDING = 16  # pixels around a region before detection, so that text at its edge is found


_SHARED_CACHE: PixelCache[Reading] = PixelCache()


class RapidReader:
    """Reads a view's pixels with rapidocr.

    A region with one line of text goes straight to recognition; any other goes through detection first.
    Readings are kept by the hash of their pixels, by default in one cache for the whole process, so a group
    of agents that looks at the same view pays once. The engines are shared too; readers may be used from
    several threads.
    """

    def __init__(self, cache: PixelCache[Reading] | None = None) -> None:
        """Args: ``cache`` of its own, or ``None`` for the process's."""
        self._own_cache = cache

    @property
    def cache(self) -> PixelCache[Reading]:
        """The cache that is used."""
        return _SHARED_CACHE if self._own_cache is None else self._own_cache

    def read(self, view: NDArray[np.uint8], box: PixelBox) -> Reading:
        """Return the text of ``view[y0:y1, x0:x1]``; an empty reading for a region too small to hold any.

        Args:
            view: ``[H, W, 3]`` uint8 RGB.
            box: ``(x0, y0, x1, y1)`` in pixels, half open; clipped to the view.

        Raises:
            MissingDependencyError: rapidocr or onnxruntime is not installed.
        """
        x0, y0 = max(0, box[0]), max(0, box[1])
        pixels = np.ascontiguousarray(view[y0 : max(y0, box[3]), x0 : max(x0, box[2])])
        if min(pixels.shape[:2]) < _SMALLEST_SIDE:
            return Reading()
        reading = self.cache.get(pixels, _read_pixels)
        return Reading(tuple(_moved(line, x0, y0) for line in reading.lines))


def _moved(line: TextLine, dx: int, dy: int) -> TextLine:
    def shift(box: PixelBox) -> PixelBox:
        return box[0] + dx, box[1] + dy, box[2] + dx, box[3] + dy

    words = tuple(replace(word, box=shift(word.box)) for word in line.words)
    return replace(line, box=shift(line.box), words=words)


def _read_pixels(pixels: NDArray[np.uint8]) -> Reading:
    line_box = find_text_line(pixels)
    line = None if line_box is None else _recognise(pixels, line_box)
    if line is not None and line.confidence >= _SURE:
        return Reading((line,))
    found = _detect(pixels, _detection_scale(*pixels.shape[:2]))
    if not found.lines and line is not None:
        return Reading((line,))
    # Detection at one size misses 2 or 3 legible lines in a hundred; another size finds most of them.
    return found if found.lines else _detect(pixels, _SECOND_SCALE)


def _recognise(pixels: NDArray[np.uint8], box: PixelBox) -> TextLine | None:
    """Read one line without detection; None when nothing but noise was seen."""
    x0, y0, x1, y1 = box
    found = ENGINES.run(pixels[y0:y1, x0:x1], detect=False)
    if not found.txts:
        return None
    return _kept_line(found.txts[0], box, float(found.scores[0]))


def _detect(pixels: NDArray[np.uint8], scale: float) -> Reading:
    """Find the lines of a region, enlarged by ``scale``, and read each; a small region is padded."""
    import cv2

    height, width = pixels.shape[:2]
    if scale != 1:
        pixels = np.asarray(
            cv2.resize(pixels, None, fx=scale, fy=scale, interpolation=cv2.INTER_CUBIC), np.uint8
        )
    offset = _PADDING if min(height, width) < _PADDED_SIDE else 0
    if offset:
        pixels = np.pad(pixels, ((offset, offset), (offset, offset), (0, 0)), mode="edge")
    found = ENGINES.run(pixels, detect=True)
    if not found.txts or found.boxes is None:
        return Reading()
    lines = []
    for quad, text, score in zip(found.boxes, found.txts, found.scores, strict=True):
        corners = (np.asarray(quad, np.float64) - offset) / scale
        low, high = np.floor(corners.min(0)), np.ceil(corners.max(0))
        x0, y0 = max(0, int(low[0])), max(0, int(low[1]))
        box = x0, y0, max(x0 + 1, min(width, int(high[0]))), max(y0 + 1, min(height, int(high[1])))
        line = _kept_line(text, box, float(score))
        if line is not None:
            lines.append(line)
    return Reading(tuple(lines))


def _detection_scale(height: int, width: int) -> float:
    """Return how much to enlarge a region; text of 12 px is found as it is, and pixels cost time."""
    return min(2.0, max(1.0, _ENLARGED_SIDE / max(height, width)), DETECTION_SIDE / max(height, width))


def _kept_line(text: str, box: PixelBox, confidence: float) -> TextLine | None:
    """Return a clean line, or None for a ghost: low confidence, only marks, or one foreign sign.

    The recogniser knows Chinese too, and sees a single such character in many an empty patch.
    """
    text = " ".join(
        "".join(c if c.isprintable() else " " for c in unicodedata.normalize("NFKC", text)).split()
    )
    letters = [c for c in text if c.isalnum()]
    foreign = [c for c in letters if ord(c) >= 0x2E80]
    if confidence < _MIN_CONFIDENCE or not letters or (foreign and len(letters) <= 1):
        return None
    return make_line(text, box, min(1.0, confidence))
