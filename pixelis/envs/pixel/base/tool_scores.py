"""How well the tools did, apart from the answer: IoU of a segment or a track, errors of a reading.

Computed from a picture's ground truth, for metrics; nothing of it is in what an agent is shown.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pixelis.envs.pixel.base.picture import Picture
from pixelis.envs.pixel.base.video import Placement
from pixelis.envs.pixel.tools.labels import Labels
from pixelis.envs.pixel.tools.masks import Mask
from pixelis.envs.pixel.tools.ocr import PixelBox
from pixelis.envs.pixel.tools.ocr_truth import TextItem, text_inside
from pixelis.envs.pixel.tools.toolset import box_to_read
from pixelis.envs.pixel.tools.workspace import PixelWorkspace
from pixelis.envs.tools import ToolResult


def score_call(picture: Picture, workspace: PixelWorkspace, result: ToolResult) -> dict[str, float]:
    """Return a call's scores by name; none for other tools, refused calls and unknown truth.

    - SEGMENT: ``iou``, 0-1, the mean over its regions of :func:`best_iou`; none when it found no region.
    - READ_TEXT: ``cer``, see :func:`character_errors`; also of a reading that found nothing.

    To be called before the view changes.
    """
    if not result.data:
        return {}
    box, size = workspace.view_box, workspace.view_size
    if result.tool == "SEGMENT" and picture.labels is not None and result.data["regions"]:
        labels = picture.labels(box, size)
        areas = np.bincount(labels.ravel())
        found = [workspace.region(row["region"]) for row in result.data["regions"]]
        ious = [best_iou(region.mask, labels, areas, workspace.to_view(region.box)) for region in found]
        return {"iou": sum(ious) / len(ious)}
    if result.tool == "READ_TEXT" and picture.texts is not None:
        lines = [(line["text"], _pixels(workspace, line["box"])) for line in result.data["lines"]]
        where = box_to_read(workspace, result.arguments)
        return {"cer": character_errors(lines, picture.texts(box, size), where)}
    return {}


def _pixels(workspace: PixelWorkspace, box: Sequence[float]) -> tuple[float, ...]:
    x0, y0, x1, _ = workspace.view_box
    scale = workspace.view_size / (x1 - x0)
    return tuple((value - origin) * scale for value, origin in zip(box, (x0, y0, x0, y0), strict=True))


# ---------------------------------------------------------------------- SEGMENT


def best_iou(mask: Mask, labels: Labels, areas: NDArray[np.intp], box: PixelBox) -> float:
    """Return the intersection over union of a mask and the visible object it overlaps most; 0 with none.

    Args:
        mask: bool ``[V, V]``.
        labels: ``[V, V]``, see :func:`pixelis.envs.pixel.tools.labels.label_view`.
        areas: pixels of every label in the view.
        box: ``(x0, y0, x1, y1)`` in pixels, half open, that holds all of the mask.
    """
    window = slice(box[1], box[3]), slice(box[0], box[2])
    covered = np.bincount(labels[window][mask[window]], minlength=1)
    area = int(covered.sum())
    covered[0] = 0  # the background is no object
    best = int(covered.argmax())
    if not covered[best]:
        return 0.0
    shared = int(covered[best])
    return shared / (area + int(areas[best]) - shared)


# ---------------------------------------------------------------------- READ_TEXT


def character_errors(
    lines: Sequence[tuple[str, Sequence[float]]], items: Sequence[TextItem], box: PixelBox
) -> float:
    """Return the character error rate of what was read in a box.

    Substitutions, deletions and insertions (Levenshtein 1966) over the number of true characters. Every line
    read is compared with the true text it overlaps most, so the order of the lines does not matter; a line
    that overlaps none is all insertions. Where nothing is written the rate is 0 if nothing was read, else 1.
    Characters are compared after NFKC, runs of white space as one space.

    Args:
        lines: texts that were read, with their boxes in pixels of the view.
        items: the texts of the view; only what lies in ``box`` counts, legible or not.
        box: ``(x0, y0, x1, y1)`` in pixels, half open.
    """
    texts = [(text, item) for item in items if (text := text_inside(item, box))]
    length = sum(len(_plain(text)) for text, _ in texts)
    if not length:
        return float(any(_plain(text) for text, _ in lines))
    read: list[list[tuple[float, str]]] = [[] for _ in texts]
    errors = 0
    bounds = np.array([_bounds(item) for _, item in texts])
    for text, place in lines:
        width = np.minimum(bounds[:, 2], place[2]) - np.maximum(bounds[:, 0], place[0])
        height = np.minimum(bounds[:, 3], place[3]) - np.maximum(bounds[:, 1], place[1])
        shared = np.maximum(width, 0) * np.maximum(height, 0)
        best = int(shared.argmax())
        if shared[best] > 0:
            read[best].append((place[0], text))
        else:
            errors += len(_plain(text))
    for (truth, _), parts in zip(texts, read, strict=True):
        errors += edit_distance(_plain(" ".join(text for _, text in sorted(parts))), _plain(truth))
    return errors / length


def _plain(text: str) -> str:
    if text.isascii():
        return " ".join(text.split())
    return " ".join(unicodedata.normalize("NFKC", text).split())


def _bounds(item: TextItem) -> tuple[float, float, float, float]:
    xs, ys = zip(*item.corners, strict=True)
    return min(xs), min(ys), max(xs), max(ys)


def edit_distance(a: str, b: str) -> int:
    """Return the Levenshtein distance of two texts.

    Bit-parallel: one column of the table at a time as differences in two big integers (Myers 1999, in the
    form of Hyyrö 2003, "A bit-vector algorithm for computing Levenshtein and Damerau edit distances").
    """
    if a == b:
        return 0
    if not a or not b:
        return len(a) + len(b)
    places: dict[str, int] = {}
    for index, character in enumerate(a):
        places[character] = places.get(character, 0) | 1 << index
    full, last = (1 << len(a)) - 1, 1 << (len(a) - 1)
    up, down, distance = full, 0, len(a)
    for character in b:
        match = places.get(character, 0)
        diagonal = (((match & up) + up) ^ up) | match | down
        right_up, right_down = down | ~(diagonal | up), up & diagonal
        distance += bool(right_up & last) - bool(right_down & last)
        right_up = (right_up << 1) | 1
        up = ((right_down << 1) | ~(diagonal | right_up)) & full
        down = right_up & diagonal & full
    return distance


# ---------------------------------------------------------------------- TRACK

_IN_SIGHT = 0.5  # share of an object that must be visible for a tracker to be expected to see it


def box_iou(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the intersection over union of two boxes ``[x0, y0, x1, y1]``."""
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    areas = ((box[2] - box[0]) * (box[3] - box[1]) for box in (a, b))
    return width * height / (sum(areas) - width * height)


def track_iou(
    places_of: Callable[[int], Sequence[Placement]],
    start: tuple[int, Sequence[float]],
    rows: Sequence[Mapping[str, Any]],
) -> float | None:
    """Return the mean IoU of a track with the object that it began on, 0-1; 0 when it began on none.

    The object is the one whose box the first box overlaps most. The first frame does not count; a frame
    without a box counts as 0 where at least half of the object is visible, and not at all where less is.
    None where no frame counts.

    Args:
        places_of: where every object is in a frame.
        start: the frame and the box, 0-1, that the track began on.
        rows: what TRACK reported: ``frame`` and ``box`` (or None).
    """
    overlaps = [box_iou(place.box, start[1]) if place.box else 0.0 for place in places_of(start[0])]
    if not any(overlaps):
        return 0.0
    target, ious = int(np.argmax(overlaps)), []
    for row in rows:
        if row["frame"] == start[0]:
            continue
        place = places_of(row["frame"])[target]
        if row["box"] is not None:
            ious.append(box_iou(place.box, row["box"]) if place.box else 0.0)
        elif place.visible >= _IN_SIGHT:
            ious.append(0.0)
    return sum(ious) / len(ious) if ious else None
