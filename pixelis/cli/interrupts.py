"""Ctrl-C and SIGTERM: wait for the end of a step where that is asked for, stop at once elsewhere."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any

INTERRUPTED = 130
"""Exit code of a command that Ctrl-C has ended."""


def interrupt(number: int, frame: FrameType | None) -> None:
    """Handle a signal: in the middle of an import end the process quietly, else raise ``KeyboardInterrupt``.

    Modules in C turn an exception in the middle of their import into other errors, or print it.
    """
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            os.write(2, b"interrupted\n")
            os._exit(INTERRUPTED)
        frame = frame.f_back
    raise KeyboardInterrupt


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Inside the block Ctrl-C is handled by `interrupt`; outside the main thread nothing is changed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class Interrupts:
    """While it is open, signals are caught; outside `deferred` they raise ``KeyboardInterrupt``.

    Attributes:
        requested: whether a signal came inside `deferred`.
    """

    def __init__(self) -> None:
        self.requested = False
        self._deferring = self._is_failing = False
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
        """Inside the block the first signal only sets ``requested``; a second one stops at once.

        Where the block raises an error, that goes on until it is told: ``torchrun`` sends SIGTERM as soon as
        it sees that another process is gone, which is when this one sees it too.
        """
        self._deferring, self._is_failing = True, False
        try:
            yield
        except Exception:
            self._is_failing = True
            raise
        finally:
            self._deferring = self._is_failing

    def _caught(self, number: int, frame: FrameType | None) -> None:
        if not self._deferring or self.requested:
            interrupt(number, frame)
        self.requested = True
        if not self._is_failing:
            told = "\nstopping after this step and saving; press Ctrl-C again to stop at once"
            print(told, file=sys.stderr)
