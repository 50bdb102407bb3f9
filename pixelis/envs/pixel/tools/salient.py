"""What stands out of a view: compact surfaces of one strong colour on a muted backdrop, such as signs.

Every pixel is named by the palette (a table look-up); connected pixels of one colourful name are a candidate,
which is then grown to the surface of its own dominant colour, with its holes (the text) filled.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pixelis.envs.pixel.tools.colours import dominant_colour, name_colour, name_indices, rgb_to_lab
from pixelis.envs.pixel.tools.masks import Image, Mask, fill_holes, stroke_width
from pixelis.envs.pixel.tools.palette import PALETTE

PixelBox = tuple[int, int, int, int]

_SALIENT_CHROMA = 17.0  # CIE Lab; the palette starts at 28, muted walls end at about 10
_SMALLEST_REGION = 40  # pixels
_SHORTEST_SIDE = 5  # pixels
_LEAST_EXTENT = 0.45  # share of its box a compact region fills
_SAME_SURFACE = 14.0  # distance in 8-bit Lab; noise and shading on one surface stay below it
_LARGE_SHARE = 0.4  # of the view; a larger surface is a background, and what lies on it is listed too


@dataclass(frozen=True)
class Region:
    """One salient region of a view.

    Attributes:
        box: ``(x0, y0, x1, y1)`` in pixels, half open.
        area: pixels of the region, holes filled.
        area_share: area as a share of the view, 0-1.
        colour: name of the dominant colour.
        rgb: the dominant colour, 0-255.
        patch: bool ``[y1 - y0, x1 - x0]``, the region's pixels within its box.
        view_shape: ``(H, W)`` of the view.
    """

    box: PixelBox
    area: int
    area_share: float
    colour: str
    rgb: tuple[int, int, int]
    patch: Mask
    view_shape: tuple[int, int]

    @property
    def mask(self) -> Mask:
        """The region as a bool mask of the whole view, ``[H, W]``."""
        x0, y0, x1, y1 = self.box
        mask = np.zeros(self.view_shape, bool)
        mask[y0:y1, x0:x1] = self.patch
        return mask


def salient_regions(view: Image, limit: int = 48) -> list[Region]:
    """List the regions of a view that stand out.

    Large candidates go first; what lies inside an accepted region, and thin strips along one (its frame, its
    shadow's edge), are not listed again.

    Args:
        view: ``[H, W, 3]`` uint8 RGB.
        limit: the largest number of regions; the larger ones are kept.

    Returns:
        The regions in reading order: rows of 1/24 of the view from top to bottom, each from left to right.
    """
    import cv2

    smooth = np.asarray(cv2.medianBlur(np.ascontiguousarray(view), 3), np.uint8)
    search = _Search(view, np.asarray(cv2.cvtColor(smooth, cv2.COLOR_RGB2LAB), np.uint8))
    for patch, box in _candidates(_name_map(smooth)):
        if len(search.regions) == limit:
            break
        search.consider(patch, box)
    row_height = max(1, view.shape[0] // 24)
    return sorted(
        search.regions, key=lambda region: ((region.box[1] + region.box[3]) // 2 // row_height, region.box)
    )


@lru_cache(maxsize=1)
def _colour_table() -> NDArray[np.uint8]:
    """Return 1 + the palette index of every 5-bit-a-channel colour, or 0 if it is not colourful."""
    levels = np.arange(32) * 8 + 4
    rgb = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), -1).reshape(-1, 3)
    lab, index = rgb_to_lab(rgb), name_indices(rgb)
    salient = (np.hypot(lab[:, 1], lab[:, 2]) >= _SALIENT_CHROMA) & (index < len(PALETTE))
    return np.where(salient, index + 1, 0).astype(np.uint8)


def _name_map(view: Image) -> NDArray[np.uint8]:
    fives = (view >> 3).astype(np.uint16)
    return _colour_table()[(fives[..., 0] << 10) | (fives[..., 1] << 5) | fives[..., 2]]


def _candidates(names: NDArray[np.uint8]) -> list[tuple[Mask, PixelBox]]:
    """Return the connected components of every colour name, the largest first, as (patch, box)."""
    import cv2

    # One labelling for all names: a pixel whose left or upper neighbour has another name is cut out.
    colourful = (names > 0).astype(np.uint8)
    colourful[:, 1:] &= names[:, 1:] == names[:, :-1]
    colourful[1:] &= names[1:] == names[:-1]
    _, labels, stats, _ = cv2.connectedComponentsWithStats(colourful, connectivity=4)
    found = []
    for index in np.flatnonzero(stats[1:, cv2.CC_STAT_AREA] >= _SMALLEST_REGION // 2) + 1:
        x, y, width, height, area = (int(value) for value in stats[index])
        patch = labels[y : y + height, x : x + width] == index
        found.append((area, patch, (x, y, x + width, y + height)))
    found.sort(key=lambda item: (-item[0], item[2]))
    return [(patch, box) for _, patch, box in found]


class _Search:
    """The regions accepted so far, and the pixels they take."""

    def __init__(self, view: Image, lab: Image) -> None:
        self.view, self.lab = view, lab
        self.taken = np.zeros(view.shape[:2], bool)
        self.regions: list[Region] = []

    def consider(self, patch: Mask, box: PixelBox) -> None:
        """Accept the surface a candidate belongs to if it is compact and new."""
        x0, y0, x1, y1 = box
        if self.taken[y0:y1, x0:x1][patch].mean() > 0.3:
            return
        rgb = dominant_colour(self.view[y0:y1, x0:x1], patch)
        window = _widened(box, self.taken.shape)
        plain = self._surface(patch, box, window, rgb)
        if plain is None:
            return
        surface = fill_holes(plain)
        left, top = window[:2]
        rows, columns = np.flatnonzero(surface.any(1)), np.flatnonzero(surface.any(0))
        tight = surface[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        area = int(tight.sum())
        found = (
            int(columns[0]) + left,
            int(rows[0]) + top,
            int(columns[-1]) + left + 1,
            int(rows[-1]) + top + 1,
        )
        here = self.taken[top : window[3], left : window[2]]
        if area < max(_SMALLEST_REGION, _LEAST_EXTENT * tight.size) or min(tight.shape) < _SHORTEST_SIDE:
            return
        if (here & surface).sum() > 0.3 * area or self._is_strip_along_another(
            found, stroke_width(plain > 0)
        ):
            return
        here |= plain > 0 if area > _LARGE_SHARE * self.taken.size else surface
        share = area / self.taken.size
        self.regions.append(
            Region(found, area, share, name_colour(rgb), rgb, tight, (self.view.shape[0], self.view.shape[1]))
        )

    def _surface(
        self, patch: Mask, box: PixelBox, window: PixelBox, rgb: tuple[int, int, int]
    ) -> NDArray[np.uint8] | None:
        """Return the free pixels of colour ``rgb`` connected to a candidate, 0/1 in ``window``."""
        import cv2

        left, top, right, bottom = window
        dominant = cv2.cvtColor(np.array([[rgb]], np.uint8), cv2.COLOR_RGB2LAB)[0, 0].astype(np.float32)
        difference = self.lab[top:bottom, left:right].astype(np.float32) - dominant
        same = (difference * difference).sum(-1) < _SAME_SURFACE**2
        same &= ~self.taken[top:bottom, left:right]
        _, labels = cv2.connectedComponents(same.astype(np.uint8), connectivity=4)
        counts = np.bincount(
            labels[box[1] - top : box[3] - top, box[0] - left : box[2] - left][patch], minlength=1
        )
        counts[0] = 0
        return (labels == counts.argmax()).astype(np.uint8) if counts.any() else None

    def _is_strip_along_another(self, box: PixelBox, thickness: float) -> bool:
        """Tell whether a thin shape runs along the edge, in or out, of a region many times as thick."""
        reach = thickness + 4
        for region in self.regions:
            x0, y0, x1, y1 = region.box
            insets = (box[0] - x0, box[1] - y0, x1 - box[2], y1 - box[3])
            if -reach <= min(insets) <= reach and thickness < 0.25 * min(x1 - x0, y1 - y0):
                return True
        return False


def _widened(box: PixelBox, shape: tuple[int, ...]) -> PixelBox:
    """Return a box with a quarter of its size and 4 px more on each side, clipped to ``shape``."""
    x0, y0, x1, y1 = box
    dx, dy = (x1 - x0) // 4 + 4, (y1 - y0) // 4 + 4
    return max(0, x0 - dx), max(0, y0 - dy), min(shape[1], x1 + dx), min(shape[0], y1 + dy)
