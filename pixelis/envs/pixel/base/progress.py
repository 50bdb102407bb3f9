"""How near its goal an episode in a picture is, from what its calls have seen and found so far.

All of it is read off the records of the calls and the task's truth, so asking changes nothing. What was seen
once counts on: it stays in the agent's transcript.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from pixelis.envs.pixel.tools.view import Box
from pixelis.envs.pixel.tools.workspace import WHOLE
from pixelis.envs.tools import ToolResult

_SLACK = 1e-6


def way(stages: Sequence[float]) -> float:
    """Return the share of the way that is done: stages of equal length, the right answer being one more.

    Args:
        stages: how much of each is done, 0-1; at least one.
    """
    return sum(stages) / (len(stages) + 1)


def share(done: Sequence[float]) -> float:
    """Return the mean of what is done, 0-1; 0 where there is nothing to do."""
    return sum(done) / len(done) if done else 0.0


def with_views(results: Sequence[ToolResult]) -> Iterator[tuple[ToolResult, Box]]:
    """Yield each call that was carried out, with the view it left behind (0-1 of the scene)."""
    view = WHOLE
    for result in results:
        if "view" in result.data:
            x0, y0, x1, y1 = result.data["view"]
            view = (x0, y0, x1, y1)
        if result.ok:
            yield result, view


def found(results: Sequence[ToolResult], tool: str, key: str) -> Iterator[Any]:
    """Yield the items that calls of a tool listed under a key of their data."""
    for result in results:
        if result.tool == tool:
            yield from result.data.get(key, ())


def closeness(box: Sequence[float], view: Box, side: float) -> float:
    """Return how close a view is to what it must show: 0 for the overview or a view without the box.

    1 from a view of the side on, and even in the factor: log(view's side) / log(side).

    Args:
        box: what must be in the view, 0-1 of the scene.
        view: the view.
        side: of a view in which it can be told, share of the scene; from 1 on any look at it will do.
    """
    inside = (
        view[0] <= box[0] + _SLACK
        and view[1] <= box[1] + _SLACK
        and box[2] <= view[2] + _SLACK
        and box[3] <= view[3] + _SLACK
    )
    if not inside:
        return 0.0
    return min(1.0, math.log(view[2] - view[0]) / math.log(side)) if side < 1 else 1.0


def looked_at(results: Sequence[ToolResult], box: Sequence[float], side: float) -> float:
    """Return how close the best look at a box came so far, see `closeness`."""
    return max((closeness(box, view, side) for _, view in with_views(results)), default=0.0)


def was_read(results: Sequence[ToolResult], text: str) -> float:
    """Return 1 where a READ_TEXT returned a text among others (letter case and spaces aside), else 0."""
    wanted = _plain(text)
    return float(any(wanted in _plain(line["text"]) for line in found(results, "READ_TEXT", "lines")))


def _plain(text: str) -> str:
    return "".join(text.split()).casefold()
