"""Boxes and points, in 0-1 of the scene."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

Box = tuple[float, float, float, float]
Point = tuple[float, float]

MAX_PLACE_LENGTH = 200
"""Longest text that is read as a box or a point, characters."""

_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]{1,3})?", re.ASCII | re.IGNORECASE)


def parse_box(text: str) -> Box | None:
    """Return the box ``[x0, y0, x1, y1]`` that a text consists of, or ``None``.

    Four numbers in 0-1 with x0 < x1 and y0 < y1, separated by commas or spaces, in brackets or bare.
    """
    numbers = _parse_numbers(text, 4)
    if numbers is None or numbers[0] >= numbers[2] or numbers[1] >= numbers[3]:
        return None
    return numbers[0], numbers[1], numbers[2], numbers[3]


def parse_point(text: str) -> Point | None:
    """Return the point ``[x, y]`` that a text consists of, both in 0-1, or ``None``; written as a box is."""
    numbers = _parse_numbers(text, 2)
    return None if numbers is None else (numbers[0], numbers[1])


def box_iou(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the intersection over union of two boxes ``[x0, y0, x1, y1]``, 0-1; 0 where both are empty."""
    width = max(0.0, min(a[2], b[2]) - max(a[0], b[0]))
    height = max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    both = width * height
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both
    return both / union if union > 0 else 0.0


def box_matches(answer: str, truth: Sequence[float], least_iou: float = 0.5) -> bool:
    """Return whether an answer is a box whose intersection over union with the true one is ``least_iou``."""
    box = parse_box(answer)
    return box is not None and box_iou(box, truth) >= least_iou


def point_matches(answer: str, truth: Sequence[float], greatest_distance: float = 0.05) -> bool:
    """Return whether an answer is a point at most ``greatest_distance`` (0-1) from the true one."""
    point = parse_point(answer)
    return point is not None and math.dist(point, truth) <= greatest_distance


def _parse_numbers(text: str, count: int) -> list[float] | None:
    """Return exactly ``count`` numbers of 0-1, or ``None``."""
    text = text.strip()
    if len(text) > MAX_PLACE_LENGTH:
        return None
    if text[:1] + text[-1:] in ("[]", "()"):
        text = text[1:-1].strip()
    parts = re.split(r" *, *| +", text)
    if len(parts) != count or not all(map(_NUMBER.fullmatch, parts)):
        return None
    numbers = [float(part) for part in parts]
    return numbers if all(0 <= number <= 1 for number in numbers) else None
