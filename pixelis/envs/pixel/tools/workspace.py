"""What the pixel tools act on: an image, the current view of it, and the regions found in that view."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from PIL import Image

from pixelis.envs.pixel.tools.ocr import Reader
from pixelis.envs.pixel.tools.view import Box, crop_view
from pixelis.envs.tools import CallRefused

WHOLE: Box = (0.0, 0.0, 1.0, 1.0)


@dataclass(frozen=True)
class FoundRegion:
    """A region of the current view.

    Attributes:
        mask: bool ``(V, V)``, in view pixels.
        box: its bounds, normalised to the scene.
    """

    mask: np.ndarray
    box: Box


class PixelWorkspace:
    """One episode's image and view; only ``look`` changes the view; a region belongs to its view.

    Args:
        image: the scene at native resolution, RGB; not modified.
        view_size: side V of the square view in pixels.
        reader_of: ``(view box) -> reader``; the reader of a view's text.
        box_decimals: how finely boxes are written in what an agent is told; 1 to 4.
    """

    def __init__(
        self,
        image: Image.Image,
        view_size: int,
        reader_of: Callable[[Box], Reader],
        box_decimals: int = 2,
    ) -> None:
        self.image, self.view_size, self._reader_of = image, view_size, reader_of
        self.box_decimals = box_decimals
        self._regions: dict[int, FoundRegion] = {}
        self._stale_regions = 0
        self.view_box: Box = WHOLE
        self.look(WHOLE)

    def look(self, box: Box) -> None:
        """Make the square ``box`` (0-1 of the scene) the current view and drop the last view's regions."""
        self.view_box = box
        self._stale_regions += len(self._regions)
        self._regions = {}
        self.__dict__.pop("view", None)

    @cached_property
    def view(self) -> np.ndarray:
        """The current view, uint8 ``(V, V, 3)``, read-only."""
        view = crop_view(self.image, self.view_box, self.view_size)
        view.setflags(write=False)
        return view

    @property
    def reader(self) -> Reader:
        """The reader of the current view."""
        return self._reader_of(self.view_box)

    @property
    def factor(self) -> float:
        """How many times closer than the overview the current view is."""
        return 1.0 / (self.view_box[2] - self.view_box[0])

    # ------------------------------------------------------------------ regions

    def add_region(self, mask: np.ndarray) -> tuple[int, FoundRegion]:
        """Remember a mask of the current view; return its id (unique in an episode) and the region."""
        rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
        pixels = (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1)
        region = FoundRegion(mask, self.to_scene(pixels))
        identifier = self._stale_regions + len(self._regions) + 1
        self._regions[identifier] = region
        return identifier, region

    def region(self, identifier: int) -> FoundRegion:
        """Return a region of the current view, or refuse the call and name the ids there are."""
        if identifier in self._regions:
            return self._regions[identifier]
        known = (
            f"regions of this view: {', '.join(map(str, self._regions))}"
            if self._regions
            else "call SEGMENT first"
        )
        if 0 < identifier <= self._stale_regions:
            raise CallRefused("stale_region", f"region {identifier} belongs to an earlier view; {known}.")
        raise CallRefused("unknown_region", f"there is no region {identifier}; {known}.")

    # ------------------------------------------------------------------ coordinates

    def to_scene(self, pixels: Sequence[float]) -> Box:
        """Return a box in view pixels as a box normalised to the scene."""
        x0, y0, x1, _ = self.view_box
        scale = (x1 - x0) / self.view_size
        left, top, right, bottom = (float(value) * scale for value in pixels)
        return (x0 + left, y0 + top, x0 + right, y0 + bottom)

    def to_view(self, box: Sequence[float]) -> tuple[int, int, int, int]:
        """Return the part of a scene box that is in the view, in view pixels; refuse one outside it."""
        x0, y0, x1, y1 = self.view_box
        scale = self.view_size / (x1 - x0)
        left, top = (round((max(box[0], x0) - x0) * scale), round((max(box[1], y0) - y0) * scale))
        right, bottom = (round((min(box[2], x1) - x0) * scale), round((min(box[3], y1) - y0) * scale))
        if right <= left or bottom <= top:
            shown = format_box(self.view_box)
            raise CallRefused(
                "out_of_view", f"{format_box(box)} is outside the current view {shown}; ZOOM there first."
            )
        return left, top, right, bottom

    def point_to_view(self, point: Sequence[float]) -> tuple[int, int]:
        """Return a scene point in view pixels ``(x, y)``; refuse one outside the view."""
        x0, y0, x1, y1 = self.view_box
        if not (x0 <= point[0] <= x1 and y0 <= point[1] <= y1):
            shown = format_box(self.view_box)
            raise CallRefused(
                "out_of_view", f"the point is outside the current view {shown}; ZOOM there first."
            )
        scale = self.view_size / (x1 - x0)
        limit = self.view_size - 1
        return min(int((point[0] - x0) * scale), limit), min(int((point[1] - y0) * scale), limit)


def format_box(box: Sequence[float], decimals: int = 2) -> str:
    """Return ``[x0, y0, x1, y1]`` with two decimals, or another number of them."""
    return "[" + ", ".join(f"{value:.{decimals}f}" for value in box) + "]"
