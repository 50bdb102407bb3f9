"""Telling when the policy's entropy has left the range in which it began: a policy that comes apart."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np

_LOG = logging.getLogger(__name__)

START, WINDOW = 3, 2
"""Steps whose mean is where it began, and steps whose mean is where it is now."""
RISE, LEAST_RISE = 3.0, 0.3
"""Too high is above this many times the start, and at least so many nats above it."""
FALL, LEAST_START = 0.2, 0.05
"""Too low is below this share of the start, where that was at least so many nats."""
GOOD = 0.8
"""Mean success of the last ten steps from which a low entropy is what learning is for."""


class EntropyRange:
    """Compares the entropy of each step with that of the first ones, and warns once per stretch outside.

    Both bounds are relative to the start, because what is usual depends on model and task, and have an
    absolute guard, because tiny entropies multiply easily.
    """

    def __init__(self) -> None:
        self._start: list[float] = []
        self._last: list[float] = []
        self._outside = 0

    def note(self, entropy: float | None, success: float | None) -> int | None:
        """Take notice of a step; return 1 above the range, -1 below, 0 inside, None while it is not known.

        Args:
            entropy: mean of the step's sampled tokens, in nats; None where it was not measured.
            success: moving mean of the success rate, None where there is none.
        """
        if entropy is None:
            return self._outside if len(self._start) == START else None
        if len(self._start) < START:
            self._start.append(entropy)
            return None
        self._last = [*self._last, entropy][-WINDOW:]
        start, now = float(np.mean(self._start)), float(np.mean(self._last))
        found = self._side(start, now, success) if len(self._last) == WINDOW else 0
        if found and found != self._outside:
            _tell(found, start, now)
        self._outside = found
        return found

    def state_dict(self) -> dict[str, Sequence[float] | int]:
        """Return what a resumed run needs, as JSON-able values."""
        return {"start": self._start, "last": self._last, "outside": self._outside}

    def load_state_dict(self, state: dict[str, list[float] | int]) -> None:
        """Take over what `state_dict` returned."""
        self._start, self._last = list(state["start"]), list(state["last"])  # type: ignore[arg-type]
        self._outside = int(state["outside"])  # type: ignore[arg-type]

    def _side(self, start: float, now: float, success: float | None) -> int:
        if now > max(RISE * start, start + LEAST_RISE):
            return 1
        if start >= LEAST_START and now < FALL * start and (success is None or success < GOOD):
            return -1
        return 0


def _tell(side: int, start: float, now: float) -> None:
    if side > 0:
        _LOG.warning(
            "ALARM: the policy's entropy rose from %.3g to %.3g nats a token: it comes apart, and loses what "
            "it knew; go back to an earlier checkpoint with a lower --lr (a third), or give it a KL penalty "
            "(--beta)",
            start,
            now,
        )
    else:
        _LOG.warning(
            "ALARM: the policy's entropy fell from %.3g to %.3g nats a token while it does not succeed yet: "
            "it says nearly the same every time and hardly explores; lower --lr, raise --temperature, or "
            "widen the range of the surrogate (--loss.surrogate.epsilon_high)",
            start,
            now,
        )
