"""Follow an object through frames with no learned weights: where it is looked for, and when it is lost.

The object is expected where constant velocity leads (the usual motion model of a Kalman filter) and is looked
for only there; `locators` says how. While it is out of sight it is expected further on, in a circle that
grows with every frame; nothing is reported for such a frame. Coordinates are native pixels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pixelis.envs.pixel.tools.locators import Locator, Method, choose_method, make_locator
from pixelis.envs.pixel.tools.ocr import PixelBox

PartOf = Callable[[int, PixelBox], Image.Image]
"""``(frame, box) -> RGB`` of that part of the frame, inside it."""

_LONG_SIDE = 64  # pixels of the object's longer side after it is averaged down
_FIRST_REACH = 0.65  # radius of the first search, shares of the object's mean side: no velocity is known yet
_REACH = 0.3  # of the later ones
_GROWTH = 0.03  # how much wider for every frame out of sight
_FARTHEST = 0.65
_PATIENCE = 24  # frames out of sight after which the object is given up
_MEMORY = 6  # sightings that the velocity is fitted to
_RECENT = 20  # sightings of which these may be


@dataclass(frozen=True)
class Sighting:
    """Where the object was seen.

    Attributes:
        frame: index of the frame.
        box: ``(x0, y0, x1, y1)``, native pixels, inside the frame.
        confidence: 0-1, how like the object it looks.
    """

    frame: int
    box: tuple[float, float, float, float]
    confidence: float


@dataclass
class Trail:
    """What became of an object.

    Attributes:
        method: how it was looked for.
        sightings: one for each frame in which it was seen, in the order they were looked at.
        lost_after: the frame of the last sighting when it was not seen in the last frame; else ``None``.
    """

    method: Method
    sightings: list[Sighting] = field(default_factory=list)
    lost_after: int | None = None


def follow(
    part_of: PartOf,
    size: tuple[int, int],
    start: Sighting,
    stop: int,
    method: Method | None = None,
) -> Trail:
    """Follow what is in a box through all frames from one to another, forwards or backwards.

    Args:
        part_of: the frames.
        size: width and height of a frame, native pixels.
        start: the frame and box in which the object is now; the confidence is not used.
        stop: the last frame.
        method: how; ``None`` chooses by the look of the object.

    Returns:
        Where it was seen, the start included with confidence 1.
    """
    path = _Path(part_of, size, start.box)
    sample, around = path.cut(start.frame, start.box, 0.0), path.cut(start.frame, start.box, 0.5)
    method = method or choose_method(sample.pixels)
    locator = make_locator(method, sample.pixels, around.pixels, around.box_of(start.box))
    path.sure = locator.sure
    trail = Trail(method, [Sighting(start.frame, start.box, 1.0)])
    step = 1 if stop >= start.frame else -1
    for frame in range(start.frame + step, stop + step, step):
        found = path.look(frame, trail.sightings, locator)
        if found is not None:
            trail.sightings.append(found)
        elif abs(frame - trail.sightings[-1].frame) > _PATIENCE or path.is_gone(frame, trail.sightings):
            break
    last = trail.sightings[-1].frame
    trail.lost_after = None if last == stop else last
    return trail


@dataclass(frozen=True)
class _Cut:
    """A part of a frame, averaged down.

    Attributes:
        pixels: uint8 ``[H, W, 3]``.
        left: native column of its left edge.
        top: native row of its upper edge.
        scale: native pixels along the sides of one of its pixels.
    """

    pixels: NDArray[np.uint8]
    left: int
    top: int
    scale: int

    def box_of(self, box: tuple[float, float, float, float]) -> PixelBox:
        """Return a native box in pixels of the cut."""
        x0, y0, x1, y1 = box
        return (
            round((x0 - self.left) / self.scale),
            round((y0 - self.top) / self.scale),
            round((x1 - self.left) / self.scale),
            round((y1 - self.top) / self.scale),
        )


class _Path:
    """The frames at the scale at which the object is looked for, and where it may have gone."""

    def __init__(
        self, part_of: PartOf, size: tuple[int, int], box: tuple[float, float, float, float]
    ) -> None:
        self._part_of, self._size = part_of, size
        self.width, self.height = box[2] - box[0], box[3] - box[1]
        self._scale = max(1, round(max(self.width, self.height) / _LONG_SIDE))
        self.sure = 0.0  # confidence from which on a sighting's place is exact
        self._unit = math.sqrt(self.width * self.height)

    def cut(self, frame: int, box: tuple[float, float, float, float], margin: float) -> _Cut:
        """Return the part of a frame in a box with a margin (shares of the mean side), inside the frame."""
        reach, scale = margin * self._unit, self._scale
        left, top = max(0, math.floor(box[0] - reach)), max(0, math.floor(box[1] - reach))
        right, low = (
            min(self._size[0], math.ceil(box[2] + reach)),
            min(self._size[1], math.ceil(box[3] + reach)),
        )
        right, low = max(right, left + scale), max(low, top + scale)
        part = self._part_of(frame, (left, top, right, low))
        return _Cut(np.asarray(part.reduce(scale) if scale > 1 else part), left, top, scale)

    def expected(self, frame: int, seen: list[Sighting]) -> tuple[float, float, int]:
        """Return where the middle should be, and since which frame: a straight line through sightings.

        Only those count, while there are some, whose place is exact.
        """
        sure = [one for one in seen[-_RECENT:] if one.confidence >= self.sure]
        recent = (sure or seen)[-_MEMORY:]
        last = recent[-1].frame
        mean = sum(one.frame for one in recent) / len(recent)
        times = [
            one.frame - mean for one in recent
        ]  # a handful of numbers: arrays would take ten times longer
        spread = sum(time * time for time in times)
        x, y = (
            (recent[-1].box[axis] + recent[-1].box[axis + 2]) / 2
            + (frame - last)
            * sum(
                time * (one.box[axis] + one.box[axis + 2]) / 2
                for time, one in zip(times, recent, strict=True)
            )
            / (spread or 1.0)
            for axis in (0, 1)
        )
        return x, y, last

    def is_gone(self, frame: int, seen: list[Sighting]) -> bool:
        """Return whether the object should have left the picture."""
        x, y, _ = self.expected(frame, seen)
        reach = _FARTHEST * self._unit
        return not (-reach <= x <= self._size[0] + reach and -reach <= y <= self._size[1] + reach)

    def look(self, frame: int, seen: list[Sighting], locator: Locator) -> Sighting | None:
        """Return where the object is in a frame, or None where it cannot be seen."""
        x, y, since = self.expected(frame, seen)
        unseen = abs(frame - since) - 1
        reach = _FIRST_REACH if len(seen) == 1 else min(_REACH + _GROWTH * unseen, _FARTHEST)
        box = (x - self.width / 2, y - self.height / 2, x + self.width / 2, y + self.height / 2)
        if self._outside(box):
            return None
        cut = self.cut(frame, box, reach)
        middle = (x - cut.left) / cut.scale, (y - cut.top) / cut.scale
        found = locator.locate(cut.pixels, middle, reach * self._unit / cut.scale)
        if found is None:
            return None
        left = cut.left + found.x * cut.scale - self.width / 2
        top = cut.top + found.y * cut.scale - self.height / 2
        box = max(0.0, left), max(0.0, top), left + self.width, top + self.height
        inside = box[0], box[1], min(box[2], self._size[0]), min(box[3], self._size[1])
        return Sighting(frame, inside, found.confidence)

    def _outside(self, box: tuple[float, float, float, float]) -> bool:
        """Return whether less than half of a box is inside the picture."""
        width = min(box[2], self._size[0]) - max(box[0], 0)
        height = min(box[3], self._size[1]) - max(box[1], 0)
        return width <= 0 or height <= 0 or width * height < self.width * self.height / 2
