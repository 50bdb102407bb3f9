"""Bounds on what is paid: of a term's running sum, and of an episode's total."""

from __future__ import annotations

import math

KNEE = 0.9
"""Share of the limit up to which a total is paid as it is."""


def hold(total: float) -> float:
    """Return a term's running sum held in ±1, which is all that a term without an orchestrator is paid."""
    return max(-1.0, min(1.0, total))


def soft_limit(value: float, limit: float) -> float:
    """Return ``value`` up to 0.9 of the limit and, beyond, a strictly increasing curve below the limit.

    f(x) = k + r·u/(1 + u) with k = 0.9·limit, r = 0.1·limit and u = (x − k)/r, for x > k; odd. A plain clip
    would give a success and a failure beyond the limit the same reward.
    """
    knee = KNEE * limit
    size = abs(value)
    if size <= knee:
        return value
    room = limit - knee
    excess = (size - knee) / room
    return math.copysign(knee + room * excess / (1 + excess), value)
