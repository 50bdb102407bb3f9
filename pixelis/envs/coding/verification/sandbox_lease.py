"""One sandbox for all environments of a process: started when code first runs, ended when nobody needs it."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

from pixelis.envs.coding.sandbox import Sandbox, SandboxSettings


class _Shared:
    """A sandbox and how many hold it."""

    def __init__(self, settings: SandboxSettings) -> None:
        self.sandbox, self.holders, self.process = Sandbox(settings), 0, os.getpid()


_shared: dict[SandboxSettings, _Shared] = {}
_lock = threading.RLock()  # a finaliser may run inside a block that holds it


class SandboxLease:
    """The right to use this process's sandbox of given settings.

    Holders of equal settings share one server. It starts when a holder first asks for it and ends when the
    last one has closed its lease, or is gone. A fork of the process, and an unpickled copy, start their own.

    Args:
        settings: how candidates are confined.
    """

    def __init__(self, settings: SandboxSettings) -> None:
        self.settings = settings
        self._held: _Shared | None = None
        self._release: weakref.finalize[..., Any] | None = None

    def get(self) -> Sandbox:
        """Return the sandbox; start it if nobody has.

        Raises:
            SandboxUnavailableError: code cannot be confined here as the settings ask.
        """
        with _lock:
            if self._held is None or self._held.process != os.getpid():
                self.close()
                self._held = _take(self.settings)
                self._release = weakref.finalize(self, _give_back, self.settings, self._held)
            return self._held.sandbox

    def close(self) -> None:
        """Give the sandbox back; a later ``get`` takes it again."""
        with _lock:
            if self._release is not None:
                self._release()
            self._held = self._release = None

    def __getstate__(self) -> dict[str, Any]:
        """Copies hold nothing."""
        return {"settings": self.settings, "_held": None, "_release": None}


def _take(settings: SandboxSettings) -> _Shared:
    shared = _shared.get(settings)
    if shared is None or shared.process != os.getpid():
        shared = _shared[settings] = _Shared(settings)
    shared.holders += 1
    return shared


def _give_back(settings: SandboxSettings, shared: _Shared) -> None:
    with _lock:
        shared.holders -= 1
        if shared.holders == 0 and shared.process == os.getpid():
            shared.sandbox.close()
            if _shared.get(settings) is shared:
                del _shared[settings]


def _after_fork() -> None:
    """Begin anew in a fork: the server is the parent's, and another thread may have held the lock."""
    global _lock
    _lock = threading.RLock()
    _shared.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
