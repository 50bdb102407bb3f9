"""Processes that this one starts, and that end with it: with all that they have started themselves."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import psutil
from typing_extensions import Self

from pixelis.cli.interrupts import INTERRUPTED, interrupt
from pixelis.processes import ENDING, adopt_orphans, held, start

GRACE_SECONDS = 10.0
"""How long a child that is to end has for it, before it is killed."""
_POLL_SECONDS = 0.1


class Children:
    """Processes that are started together and end together; use it as a context manager.

    Each is the first of a session of its own, so that Ctrl-C in the terminal reaches this process alone,
    which passes it on (`Relay`). The end of the block ends all of them and everything below them. On Linux
    nothing escapes: what has lost its parent comes to this process, and where this process is killed, the
    system sends each child a signal.
    """

    def __init__(self) -> None:
        self._started: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        """Become the parent of what loses its own."""
        adopt_orphans()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End what is left."""
        self.end()

    def start(
        self,
        words: Sequence[str | Path],
        log: Path | None = None,
        orphaned: signal.Signals = signal.SIGTERM,
    ) -> subprocess.Popen[bytes]:
        """Start a process.

        Args:
            words: of its command line.
            log: file to which is added what it prints; None: it prints where this process does.
            orphaned: the signal that it gets where this process is killed.

        Raises:
            OutputError: the log cannot be written.
        """
        with held():
            process = start(words, log, orphaned)
            self._started.append(process)
        return process

    def wait(self, process: subprocess.Popen[bytes], meanwhile: Callable[[], None] = lambda: None) -> int:
        """Wait for a child; return its exit code as a shell tells it: 128 and the signal that has ended it.

        Args:
            process: of `start`.
            meanwhile: called ten times a second.
        """
        while True:
            try:
                process.wait(_POLL_SECONDS)
            except subprocess.TimeoutExpired:
                self._reap_orphans()
                meanwhile()
            else:
                return self.code_of(process)

    @staticmethod
    def code_of(process: subprocess.Popen[bytes]) -> int:
        """Return the exit code of a process that has ended, see `wait`."""
        return 128 - process.returncode if process.returncode < 0 else process.returncode

    def end(self) -> None:
        """End every process below this one: ask them, and kill those that have not ended in time.

        It takes twice `GRACE_SECONDS` at the most; signals that would stop it in between are not heeded.
        """
        with _deaf():
            for number in (signal.SIGTERM, signal.SIGKILL):
                for _ in range(10):  # one may have been started while the others were told
                    if not (living := _living()):
                        return
                    for process in living:
                        with contextlib.suppress(psutil.Error):
                            process.send_signal(number)
                    psutil.wait_procs(living, GRACE_SECONDS)
                    if number == signal.SIGTERM:
                        break

    def _reap_orphans(self) -> None:
        """Take away the remains of processes that came here when their parents had died, and then ended."""
        own = {process.pid for process in self._started}
        for process in psutil.Process().children():
            if process.pid not in own and _is_zombie(process):
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(process.pid, os.WNOHANG)


class Relay:
    """While it is open, Ctrl-C and SIGTERM go to one process, and do not end this one.

    The first lets a training save and end after its step, the second stops it at once; the third kills it,
    with all that is below it. As long as there is no process they raise ``KeyboardInterrupt`` here. The end
    of the terminal (SIGHUP) counts as SIGTERM, unless ``nohup`` has switched it off.

    Attributes:
        count: signals that came.
    """

    def __init__(self) -> None:
        self.count = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        """Start catching signals."""
        for number in ENDING:
            if number in (signal.SIGINT, signal.SIGTERM) or signal.getsignal(number) != signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._caught)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Put the handlers back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextlib.contextmanager
    def to(self, process: subprocess.Popen[bytes]) -> Iterator[None]:
        """Inside the block signals go to this process."""
        self._process = process
        try:
            yield
        finally:
            self._process = None

    def _caught(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if self._process is None:
            interrupt(number, frame)
        elif self._process.poll() is None:
            if self.count > 2:
                _kill_tree(self._process.pid)
            else:
                self._process.send_signal(signal.SIGINT if number == signal.SIGINT else signal.SIGTERM)


def how_it_ended(code: int) -> str:
    """Return what an exit code of `Children.wait` means, in words."""
    if code <= 128 or code == INTERRUPTED:
        return f"exit code {code}"
    try:
        name = signal.Signals(code - 128).name
    except ValueError:
        return f"exit code {code}"
    ran_out = "; the system does that where memory runs out" if code - 128 == signal.SIGKILL else ""
    return f"ended by signal {code - 128}, {name}{ran_out}"


# ---------------------------------------------------------------------- private


def _living() -> list[psutil.Process]:
    """Return the processes below this one, at any depth, that have not ended."""
    found = psutil.Process().children(recursive=True)
    return [each for each in found if each.is_running() and not _is_zombie(each)]


def _is_zombie(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _kill_tree(pid: int) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        first = psutil.Process(pid)
        for process in [first, *first.children(recursive=True)]:
            with contextlib.suppress(psutil.Error):
                process.kill()


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """Inside the block the signals that end programs do nothing."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
