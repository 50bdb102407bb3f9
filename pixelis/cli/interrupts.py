"""Ctrl-C and SIGTERM: wait for the end of a step where that is asked for, stop at once elsewhere."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any


class Interrupts:
    """While it is open, signals are caught; outside `deferred` they raise ``KeyboardInterrupt``.

    Attributes:
        requested: whether a signal came inside `deferred`.
    """

    def __init__(self) -> None:
        self.requested = False
        self._deferring = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        """Start catching signals."""
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._caught)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Put the handlers back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextlib.contextmanager
    def deferred(self) -> Iterator[None]:
        """Inside the block the first signal only sets ``requested``; a second one stops at once."""
        self._deferring = True
        try:
            yield
        finally:
            self._deferring = False

    def _caught(self, number: int, frame: FrameType | None) -> None:
        if not self._deferring or self.requested:
            raise KeyboardInterrupt
        self.requested = True
        print("\nstopping after this step and saving; press Ctrl-C again to stop at once", file=sys.stderr)
