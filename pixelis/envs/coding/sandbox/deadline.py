"""When a server counts as dead: after silence, or long after the candidate's time. Not while it tidies up."""

from __future__ import annotations

from .layers import PATIENCE

SILENCE_SECONDS = 15.0  # of a server that should give a sign of life every second


class Deadline:
    """For one job: what has been heard of the server, and until when its report must be there.

    A candidate can leave a folder that takes long to empty. While the server says that it does so, its report
    may come later: a candidate must not be able to make a failure of the sandbox out of its own.

    Args:
        wall_seconds: the job's limit.
        now: clock at its start, in seconds.
    """

    def __init__(self, wall_seconds: float, now: float) -> None:
        self._heard = now
        self._latest = now + PATIENCE * wall_seconds + SILENCE_SECONDS

    def hear(self, now: float, *, is_tidying: bool) -> None:
        """Note a sign of life."""
        self._heard = now
        if is_tidying:
            self._latest = now + SILENCE_SECONDS

    def passed(self, now: float) -> str:
        """Return why the server counts as dead, in words; empty while it does not."""
        if now > self._heard + SILENCE_SECONDS:
            return f"it has been silent for {now - self._heard:.0f} s"
        return "it did not end the candidate in time" if now > self._latest else ""
