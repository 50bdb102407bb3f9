"""Quality and diversity over runs: which no other beats, what they cover, when diversity was lost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pixelis.errors import RewardError


def pareto_front(points: Sequence[Sequence[float]] | np.ndarray) -> list[int]:
    """Return the numbers of the points that no other point dominates, in the order of the first coordinate.

    A point dominates another if it is at least as great in every coordinate and greater in one. Of equal
    points all are on the front or none.

    Args:
        points: [n, d], more is better in each coordinate.

    Raises:
        RewardError: the array is no such thing, or not finite.
    """
    values = _checked(points, "pareto_front")
    as_great = (values[:, None] >= values[None]).all(2)
    greater = (values[:, None] > values[None]).any(2)
    beaten = (as_great & greater).any(0)
    front = np.flatnonzero(~beaten)
    return sorted(front.tolist(), key=lambda number: (*values[number], number))


def hypervolume(points: Sequence[Sequence[float]] | np.ndarray, reference: Sequence[float]) -> float:
    """Return the area that points dominate above a reference point, in the product of the two units.

    Of each point the rectangle down to the reference, their union counted once (Zitzler and Thiele 1998).
    Points that do not exceed the reference in both coordinates add nothing. To compare runs or seeds, keep
    the reference fixed.

    Args:
        points: [n, 2], more is better in both, for example mean reward and diversity.
        reference: the two coordinates of the worst that counts.

    Raises:
        RewardError: not two coordinates each, or not finite.
    """
    values = _checked(points, "hypervolume")
    corner = np.asarray(reference, np.float64)
    if values.shape[1] != 2 or corner.shape != (2,) or not np.isfinite(corner).all():
        raise RewardError(
            "hypervolume: expected points [n, 2] and a finite reference [2], "
            f"got {values.shape} and {corner.shape}"
        )
    values = values[(values > corner).all(1)] - corner
    area = height = 0.0
    for x, y in values[np.lexsort((-values[:, 1], -values[:, 0]))]:
        if y > height:
            area += x * (y - height)
            height = y
    return float(area)


def collapse_point(steps: Sequence[int], diversity: Sequence[float], share: float = 0.5) -> int | None:
    """Return the first step at which diversity is below a share of its start; ``None`` if never.

    Args:
        steps: of the measurements, rising.
        diversity: any measure that is 0 for no diversity, at each step; above 0 at the first. (Of the Vendi
            score, whose least value is 1, give what exceeds 1.)
        share: 0 to 1, of the first value.

    Raises:
        RewardError: lengths differ, nothing was measured, a value is not finite, steps do not rise, or
            nothing was there to lose.
    """
    values = np.asarray(diversity, np.float64)
    if len(steps) != len(values) or not len(values):
        raise RewardError(
            f"collapse_point: expected as many steps as values, got {len(steps)} and {len(values)}"
        )
    if not np.isfinite(values).all() or values[0] <= 0 or not 0 < share <= 1:
        raise RewardError(
            "collapse_point: expected finite values, the first above 0, and a share above 0 to 1, "
            f"got {values[:3]} and {share}"
        )
    if not (np.diff(np.asarray(steps)) > 0).all():
        raise RewardError(f"collapse_point: expected rising steps, got {list(steps)!r:.80}; sort them")
    below = np.flatnonzero(values < share * values[0])
    return int(steps[below[0]]) if below.size else None


def _checked(points: Sequence[Sequence[float]] | np.ndarray, name: str) -> np.ndarray:
    values = np.asarray(points, np.float64)
    if values.ndim != 2 or not values.size or not np.isfinite(values).all():
        raise RewardError(f"{name}: expected finite points [n, d], got an array of shape {values.shape}")
    return values
