"""When in the course of training diversity was lost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pixelis.errors import RewardError


def collapse_point(steps: Sequence[int], diversity: Sequence[float], share: float = 0.5) -> int | None:
    """Return the first step at which diversity is below a share of its start; ``None`` if never.

    Args:
        steps: of the measurements, rising.
        diversity: any measure that is 0 for no diversity, at each step; above 0 at the first. (Of the Vendi
            score,
            whose least value is 1, give what exceeds 1.)
        share: 0 to 1, of the first value.

    Raises:
        RewardError: lengths differ, nothing was measured, a value is not finite, steps do not rise, or
            nothing was there
            to lose.
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
