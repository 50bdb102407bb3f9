"""When a learning test may stop: what was learnt has stayed for as long again."""

from __future__ import annotations

from collections.abc import Sequence


def lasts(values: Sequence[float], goal: float, width: int = 10) -> bool:
    """Whether the last ``width`` values and the ``width`` before them lie above the goal on average."""
    before, last = values[-2 * width : -width], values[-width:]
    return len(before) == width and min(sum(before), sum(last)) / width > goal
