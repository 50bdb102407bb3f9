"""Processes that this one starts, and that the system ends where this one is killed."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from pixelis.files import writing

ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals that end programs."""
_SET_DEATH_SIGNAL, _SET_SUBREAPER = 1, 36  # prctl's numbers, of Linux
_PARENT_IS_GONE = 130
_WATCH = """read -r line && exit
kill -TERM "-$0"
for second in 1 2 3 4 5 6 7 8 9 10; do kill -0 "-$0" || exit; sleep 1; done
kill -KILL "-$0"
"""
"""Of a `Guard`: a line says that there is nothing to end any more; where the input ends nobody says so."""
_IS_LINUX = sys.platform == "linux"


def start(
    words: Sequence[str | Path],
    log: Path | None = None,
    orphaned: signal.Signals = signal.SIGTERM,
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a process, the first of a session of its own.

    On Linux the system sends it a signal where this process is killed. It does so at the end of the thread
    that has started it, so that one which is started outside the main thread has none.

    Args:
        words: of its command line.
        log: file to which is added what it prints; None: it prints where this process does.
        orphaned: the signal that it gets where this process is killed.
        environment: its variables; None: those of this process.

    Raises:
        OutputError: the log cannot be written.
    """
    with held(), contextlib.ExitStack() as opened:
        out = None
        if log is not None:
            with writing(log):
                log.parent.mkdir(parents=True, exist_ok=True)
                out = opened.enter_context(log.open("ab"))
        return subprocess.Popen(
            [str(word) for word in words],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=None if out is None else subprocess.STDOUT,
            start_new_session=True,
            env=None if environment is None else dict(environment),
            preexec_fn=_ended_with_this(orphaned),
        )


class Guard:
    """Ends a group of processes where this process is gone, however it went.

    A signal of `start` reaches one process, once: one that is still starting may lose it, and its children
    may outlive it. This is a process of its own that waits for the end of a pipe.

    Args:
        group: id of the group, which is that of the process which `start` has returned.
    """

    def __init__(self, group: int) -> None:
        self._group = group
        with held():
            self._watcher = subprocess.Popen(
                ["/bin/sh", "-c", _WATCH, str(group)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    def close(self) -> None:
        """Kill what is left of the group, and end the watcher."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._group, signal.SIGKILL)
        with contextlib.suppress(OSError):
            self._watcher.communicate(b"\n")


def adopt_orphans() -> None:
    """Become the parent of what loses its own, of all processes below this one; on Linux."""
    if _IS_LINUX:
        ctypes.CDLL(None).prctl(_SET_SUBREAPER, 1, 0, 0, 0)


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Inside the block the signals that end programs wait for its end.

    What their handlers raise is lost in the middle of a fork, where Python runs the callbacks of others.
    Outside the main thread, which alone runs handlers, nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {
        number: signal.signal(number, lambda number, frame: came.append(number))
        for number in ENDING
        if signal.getsignal(number) != signal.SIG_IGN
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for number in came:
        signal.raise_signal(number)


# ---------------------------------------------------------------------- private


def _ended_with_this(number: signal.Signals) -> Callable[[], None] | None:
    """Return what a child calls before its program starts, None where the system has nothing of the kind."""
    if not _IS_LINUX or threading.current_thread() is not threading.main_thread():
        return None
    # The library is opened here: between fork and exec a lock may be held by a thread that is not there.
    return partial(_end_with, ctypes.CDLL(None).prctl, os.getpid(), number)


def _end_with(prctl: Callable[..., int], parent: int, number: signal.Signals) -> None:
    """Ask the system for a signal when the parent dies."""
    prctl(_SET_DEATH_SIGNAL, int(number), 0, 0, 0)
    if os.getppid() != parent:  # it has died just now
        os._exit(_PARENT_IS_GONE)
