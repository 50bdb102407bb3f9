"""The fork-server: one lean process that forks a candidate per job, watches it and sweeps up after it.

It is exec'd, single-threaded and holds no job: the code, the inputs and the outputs travel on descriptors
that it only hands on, so that nothing of one candidate is in the memory the next one is forked from.
Standard library only: it is run by a bare interpreter, without ``pixelis`` (see ``bootstrap``).
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import sys
import time
from typing import Any

from . import linux, scratch
from .child import RESULT, Confinement, become_candidate, limit_server, rehearse
from .layers import PATIENCE
from .namespaces import fork_alone
from .probe import detect, harden

TICK = 0.05  # seconds between two looks at a running candidate
HEARTBEAT = 1.0  # seconds between two signs of life while a candidate runs
_PACKAGE = __name__.partition(".")[0]
_KEPT: list[Any] = []
_EXTRA_PROCESSES = 32  # that may join the user's others, where only RLIMIT_NPROC refuses forks
# What candidates import often: each module more makes every fork dearer (a shared object by some 10 µs).
_WARM = """
abc bisect collections contextlib copy dataclasses datetime decimal enum fractions functools heapq io
itertools json math operator random re string struct textwrap time traceback types typing
"""


def serve(control: socket.socket) -> None:
    """Answer one job after the other until the client closes ``control``."""
    channel = _Channel(control)
    settings = channel.receive()
    if settings is None:
        return
    for name in _WARM.split():
        importlib.import_module(name)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr] - a text stream
    outside = os.open(os.path.dirname(settings["scratch"]), os.O_RDONLY | os.O_CLOEXEC)
    hardening = harden(settings["scratch"], settings["scratch_bytes"]) if settings["harden"] else {}
    confinement, layers, missing = detect(settings["scratch"], settings["allow_threads"], hardening)
    wake, alarm = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC) if linux.IS_LINUX else os.pipe()
    os.set_blocking(alarm, False)
    os.set_blocking(wake, False)
    lifeline = os.pipe()
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(alarm, warn_on_full_buffer=False)
    channel.send({"layers": layers, "missing": missing})
    sys.argv[:] = [""]
    os.environ.clear()  # Python itself sets LC_CTYPE where there is no locale
    rehearse()
    limit_server()
    _forget_modules()
    gc.collect()
    gc.freeze()
    try:
        while (limits := channel.receive()) is not None:
            if "wall" in limits:  # else a request to end a candidate that had just ended
                channel.send(_Run(confinement, limits, channel, wake, outside, lifeline).finish())
    finally:  # the client may be gone in the middle of a message, too
        _remove_scratch(confinement.scratch, outside)


def _forget_modules() -> None:
    """Leave no module of the server where a candidate would meet it by accident."""
    for name in [name for name in sys.modules if name.partition(".")[0] == _PACKAGE]:
        _KEPT.append(sys.modules.pop(name))


def _remove_scratch(folder: str, outside: int) -> None:
    """Take away what a killed caller cannot; the folder's own name may not be in this process's root."""
    with contextlib.suppress(OSError):
        scratch.empty(folder)
        os.rmdir(os.path.basename(folder), dir_fd=outside)


class _Channel:
    """Messages of one line of JSON; a request brings descriptors."""

    def __init__(self, control: socket.socket) -> None:
        self.control = control
        self.descriptors: list[int] = []
        self._buffer = b""

    def receive(self) -> dict[str, Any] | None:
        """Return the next message, or None when the client is gone."""
        while b"\n" not in self._buffer:
            text, descriptors, _, _ = socket.recv_fds(self.control, 1 << 16, 3)
            self.descriptors += descriptors
            if not text:
                return None
            self._buffer += text
        line, _, self._buffer = self._buffer.partition(b"\n")
        return json.loads(line)

    def send(self, message: dict[str, Any]) -> None:
        self.control.sendall(json.dumps(message).encode() + b"\n")


class _Run:
    """One candidate, from fork to the last trace of it."""

    def __init__(
        self,
        confinement: Confinement,
        limits: dict[str, Any],
        channel: _Channel,
        wake: int,
        outside: int,
        lifeline: tuple[int, int],
    ) -> None:
        self._outside = outside
        self._confinement, self._limits, self._channel, self._wake = confinement, limits, channel, wake
        if confinement.filter is None and os.getuid() != 0:
            limits["processes"] = _own_processes() + _EXTRA_PROCESSES
        else:
            limits["processes"] = None
        self._reaped: tuple[int, int, resource.struct_rusage] | None = None
        descriptors, channel.descriptors = channel.descriptors, []
        self._started = time.monotonic()
        self._next_beat = self._started + HEARTBEAT
        self._pid = fork_alone() if confinement.own_pids else os.fork()
        if self._pid == 0:
            become_candidate(confinement, limits, descriptors, lifeline)
        for descriptor in descriptors:
            os.close(descriptor)

    def finish(self) -> dict[str, Any]:
        """Wait for the end or bring it about; return how it came."""
        ended = self._watch()
        wall = time.monotonic() - self._started
        waited = _time_in_queue(self._pid) if ended == "wall" else None
        for kill in (os.killpg, os.kill):  # the group is the candidate's from setsid on, the pid from fork on
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(self._pid, signal.SIGKILL)
        _, status, usage = self._reaped or os.wait4(self._pid, 0)
        _sweep()
        scratch.empty(self._confinement.scratch, lambda: self._beat(tidying=True))
        code = os.waitstatus_to_exitcode(status)
        return {
            "ended": ended,
            "exit": code if code >= 0 else None,
            "signal": -code if code < 0 else None,
            "cpu": usage.ru_utime + usage.ru_stime,
            "wall": wall,
            "waited": waited,
        }

    def _watch(self) -> str:
        """Return ``exited``, or the limit that was passed: wall, cpu, threads, files; or ``asked``."""
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        poll.register(self._channel.control, select.POLLIN)
        deadline = self._started + self._limits["wall"]
        while True:
            now = time.monotonic()
            if now >= deadline:
                later = min(_time_in_queue(self._pid) or 0.0, (PATIENCE - 1) * self._limits["wall"])
                deadline = self._started + self._limits["wall"] + later
                if now >= deadline:
                    return "wall"
            events = dict(poll.poll(1000 * min(TICK, deadline - now) + 1))
            if self._wake in events:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wake, 512)
                if self._has_exited():
                    return "exited"
            if self._channel.control.fileno() in events:
                if self._channel.receive() is None:
                    self._abandon()
                return "asked"
            if passed := self._passed_limit():
                return passed
            self._beat()

    def _beat(self, **more: bool) -> None:
        """Give a sign of life, once a second."""
        if time.monotonic() >= self._next_beat:
            self._next_beat = time.monotonic() + HEARTBEAT
            self._channel.send({"alive": True, **more})

    def _has_exited(self) -> bool:
        """Look without reaping where that is possible: until then nobody else gets the group's number."""
        if hasattr(os, "waitid"):
            return os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        answer = os.wait4(self._pid, os.WNOHANG)
        self._reaped = answer if answer[0] else None
        return self._reaped is not None

    def _passed_limit(self) -> str:
        used = _usage(self._pid)
        if used and used[0] > self._limits["cpu"]:
            return "cpu"
        if used and used[1] > self._limits["threads"]:
            return "threads"
        full = scratch.holds_more(self._confinement.scratch, self._limits["scratch"], scratch.MOST_FILES)
        return "files" if full else ""

    def _abandon(self) -> None:
        """The client is gone: leave nothing behind."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        _remove_scratch(self._confinement.scratch, self._outside)
        os._exit(0)


def _usage(pid: int) -> tuple[float, int] | None:
    """Return processor seconds and threads of a process; None where /proc does not tell."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), int(fields[17])


def _time_in_queue(pid: int) -> float | None:
    """Return the seconds a process was ready to run and did not; None where the kernel does not count."""
    try:
        with open(f"/proc/{pid}/schedstat", "rb") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return None


def _own_processes() -> int:
    """Return how many processes the user has; 1,000 where /proc does not tell."""
    try:
        names = [entry for entry in os.scandir("/proc") if entry.name.isdigit()]
        return sum(entry.stat().st_uid == os.getuid() for entry in names)
    except OSError:
        return 1000


def _sweep() -> None:
    """End every process that was left to this one, and their children in turn (where forks are possible)."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            for orphan in _children():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(orphan, signal.SIGKILL)
            time.sleep(0.001)


def _children() -> list[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", "rb") as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:
        return []


def bootstrap(descriptor: int) -> None:
    """Serve the client at the other end of an inherited socket; called by the bare interpreter."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 16)
    os.dup2(nowhere, descriptor)
    while nowhere <= RESULT:  # a child puts its own descriptors there, and must not hit another
        nowhere = os.dup(nowhere)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write("500")  # where memory runs out, a candidate goes before the caller
    with contextlib.suppress(OSError):  # not everywhere: then the probe says that it is missing
        linux.prctl(linux.PR_SET_CHILD_SUBREAPER, 1)
        linux.prctl(linux.PR_SET_DUMPABLE, 0)
    linux.share_heap()
    control = socket.socket(fileno=high)
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        serve(control)
