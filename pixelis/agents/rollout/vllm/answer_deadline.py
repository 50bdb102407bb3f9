"""A deadline for a whole answer: httpx bounds single reads, so that one which drips would never be late."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from typing_extensions import Self


class AnswerDeadline:
    """Cuts the connection of a request when its time is over; use it as a context manager.

    Args:
        seconds: from the beginning of the block, by a clock that nobody sets.

    Attributes:
        is_over: whether it has cut.
    """

    def __init__(self, seconds: float) -> None:
        self.is_over = False
        self._socket: socket.socket | None = None
        self._lock = threading.Lock()
        self._timer = threading.Timer(seconds, self._cut)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        """Start counting."""
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop counting."""
        self._timer.cancel()

    def watch(self, event: str, facts: Mapping[str, Any]) -> None:
        """Learn which connection it is: the ``trace`` of a request of httpx, which makes a new one for it."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            with self._lock:
                self._socket = facts["return_value"].get_extra_info("socket")
                if self.is_over:
                    self._shut()

    def _cut(self) -> None:
        with self._lock:
            self.is_over = True
            self._shut()

    def _shut(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):  # it is closed
                self._socket.shutdown(socket.SHUT_RDWR)
