"""The caller's end: starts the fork-server, hands it one job at a time, reads what the candidate claims."""

from __future__ import annotations

import array
import contextlib
import json
import logging
import marshal
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, get_args

from pixelis.errors import ConfigError, SandboxJobError, SandboxUnavailableError, shown

from . import codec, harness
from .claims import read_claims, to_result
from .deadline import SILENCE_SECONDS, Deadline
from .jobs import Isolation, Job, JobResult, Limits, SandboxSettings
from .layers import HARDENING, ORDER

_LOG = logging.getLogger(__name__)
_JOB_CAPS = codec.Caps(depth=190, size=64 << 20, items=4_000_000)
_START_SECONDS = 60.0
_SCRATCH_FILES = 4  # of the largest size that the scratch folder may hold
_SOON = 10  # milliseconds
_FLOOD = 256  # times the printed text that is kept
_STARVED = 0.25  # share of the wall time spent waiting for a processor, from which on the run is repeated
_FOLDER = str(Path(__file__).parent)
# The server has no pixelis: its files are a package of their own in a bare interpreter without site-packages.
_BOOTSTRAP = """
import sys, types
package = types.ModuleType("pixelis_sandbox")
package.__path__ = [sys.argv[1]]
sys.modules["pixelis_sandbox"] = package
from pixelis_sandbox.server import bootstrap
bootstrap(int(sys.argv[2]))
"""


class ServerDiedError(Exception):
    """The server is gone, silent or talks nonsense; used inside this module only."""


class Sandbox:
    """Runs untrusted code on inputs and returns what it claims the outputs are.

    The caller keeps expected values and comparison: nothing of them is in the candidate's process, so no
    output can be more than a claim. One job runs at a time; make one sandbox per worker.

    Args:
        settings: How candidates are confined.

    Raises:
        ConfigError: A setting out of range.
        SandboxUnavailableError: Not on Linux or macOS, a layer is missing and ``isolation`` is ``strict``, or
            the server does not start.
    """

    def __init__(self, settings: SandboxSettings | None = None) -> None:
        self.settings = settings or SandboxSettings()
        if self.settings.isolation not in get_args(Isolation):
            wanted = ", ".join(map(repr, get_args(Isolation)))
            raise ConfigError(f"expected isolation to be one of {wanted}, got {self.settings.isolation!r}")
        if not hasattr(os, "fork"):
            raise SandboxUnavailableError(
                f"expected Linux or macOS to run candidates' code, got {sys.platform}; use WSL or a container"
            )
        self._lock = threading.Lock()
        self._server = _Server(self.settings)
        self.restarts = 0
        try:
            self._refuse_less()
        except SandboxUnavailableError:
            self.close()
            raise

    @property
    def layers(self) -> tuple[str, ...]:
        """Layers that were tried on this machine and hold, in the order they are entered."""
        return self._server.layers

    @property
    def missing(self) -> dict[str, str]:
        """Layers of the full Linux set that do not hold here, and why."""
        return self._server.missing

    def run(self, jobs: Sequence[Job]) -> list[JobResult]:
        """Run each job in a process of its own; results in the order of the jobs.

        Raises:
            SandboxJobError: An argument that does not travel, or a limit out of range; no job has run then.
            SandboxUnavailableError: A dead server could not be started again.
        """
        bodies = [_encode(job, self._limits(job)) for job in jobs]
        with self._lock:
            return [self._run(job, body) for job, body in zip(jobs, bodies, strict=True)]

    def close(self) -> None:
        """End the server and whatever it runs, and remove the scratch folder."""
        self._server.close()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _limits(self, job: Job) -> Limits:
        return job.limits or self.settings.limits

    def _run(self, job: Job, body: bytes) -> JobResult:
        if not self._server.is_usable:
            self._restart()
        limits = self._limits(job)
        try:
            result, is_starved = self._server.run(body, len(job.calls), limits)
            if is_starved:  # the machine was busy: a right answer must not fail for that
                result, _ = self._server.run(body, len(job.calls), limits)
            return result
        except (ServerDiedError, OSError) as error:
            _LOG.warning("the sandbox's server died (%s); its job failed, a new server is started", error)
            self._restart()
            return JobResult("sandbox_failed", detail=f"the server died: {error}; run the job again")
        except BaseException:
            self._server.close()  # for example Ctrl-C halfway through a job
            raise

    def _restart(self) -> None:
        self._server.close()
        self._server = _Server(self.settings)
        self.restarts += 1
        self._refuse_less()

    def _refuse_less(self) -> None:
        isolation = self.settings.isolation
        wanted = (*ORDER, *HARDENING) if isolation == "hardened" else ORDER
        lacking = {name: self.missing.get(name, "not here") for name in wanted if name not in self.layers}
        words = "; ".join(f"{name} ({why})" for name, why in lacking.items())
        if lacking and isolation != "best_effort":
            less = "'best_effort' for code you trust that far" if isolation == "strict" else "'strict'"
            raise SandboxUnavailableError(
                f"expected every layer with isolation={shown(isolation)}, this machine lacks {words}; "
                f"use isolation={less}"
            )
        if self.restarts == 0 and not _Server.is_logged:
            _Server.is_logged = True
            _LOG.log(
                logging.WARNING if lacking else logging.INFO, "sandbox layers: %s", ", ".join(self.layers)
            )
            if lacking:
                _LOG.warning("the sandbox lacks %s: see docs/reference/coding_sandbox.md", words)


class _Server:
    """One fork-server process and the socket to it."""

    is_logged = False

    def __init__(self, settings: SandboxSettings) -> None:
        self._owner = os.getpid()
        self._scratch = tempfile.mkdtemp(prefix="pixelis-sandbox-")
        self._control, theirs = socket.socketpair()
        command = [sys.executable, "-I", "-S", "-B", "-c", _BOOTSTRAP, _FOLDER, str(theirs.fileno())]
        with theirs:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                cwd=self._scratch,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._close = weakref.finalize(self, _end, self.process, self._control, self._scratch, self._owner)
        self._buffer = b""
        try:
            self._send(
                {
                    "scratch": self._scratch,
                    "scratch_bytes": _SCRATCH_FILES * settings.limits.file_bytes,
                    "allow_threads": settings.allow_threads,
                    "harden": settings.isolation == "hardened",
                }
            )
            hello = self._receive(_START_SECONDS)
        except (ServerDiedError, OSError) as error:
            self._close()
            raise SandboxUnavailableError(
                f"expected the sandbox's server to start, it did not: {error}; try "
                f"{sys.executable} -m pixelis.envs.coding.selftest"
            ) from None
        self.layers = tuple(hello["layers"])
        self.missing = dict(hello["missing"])

    @property
    def is_usable(self) -> bool:
        return self._close.alive and self._owner == os.getpid() and self.process.poll() is None

    def close(self) -> None:
        self._close()

    def run(self, body: bytes, calls: int, limits: Limits) -> tuple[JobResult, bool]:
        """Run one job; the flag says that it timed out because the machine was busy."""
        with contextlib.ExitStack() as stack:
            job = stack.enter_context(_job_file(body))
            pipes = [_Pipe(limits.result_bytes + 4096), _Pipe(limits.stdout_bytes)]
            for pipe in pipes:
                stack.callback(pipe.close)
            message = {
                "wall": limits.wall_seconds,
                "cpu": limits.cpu_seconds,
                "memory": limits.memory_bytes,
                "file": limits.file_bytes,
                "scratch": _SCRATCH_FILES * limits.file_bytes,
                "threads": limits.threads,
                "result": limits.result_bytes,
            }
            self._send(message, [job.fileno(), *(pipe.writing for pipe in pipes)])
            for pipe in pipes:
                pipe.close_writing()
            report = self._follow(pipes, limits)
            for pipe in pipes:
                pipe.drain()
            if any(pipe.seen > most for pipe, most in _most(pipes)) and report["ended"] == "exited":
                report["ended"] = "asked"  # it ended before that could be noticed
        claims = read_claims(bytes(pipes[0].kept), calls, limits)
        result = to_result(report, claims, calls, limits)
        printed = pipes[1].kept.decode("utf-8", "replace")
        waited = report["waited"] if report["waited"] is not None else report["wall"] - report["cpu"]
        is_starved = result.status == "timeout" and waited > _STARVED * report["wall"]
        return replace(result, stdout=printed), is_starved

    def _follow(self, pipes: list[_Pipe], limits: Limits) -> dict[str, Any]:
        """Read pipes and control socket until the server reports the candidate's end."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        for pipe in pipes:
            poll.register(pipe.reading, select.POLLIN)
        flood = {pipe.reading: most for pipe, most in _most(pipes)}
        deadline = Deadline(limits.wall_seconds, time.monotonic())
        is_asked = False
        quick = select.poll()  # most candidates end soon, and what they write until then fits in the pipes
        quick.register(self._control, select.POLLIN)
        events = dict(quick.poll(_SOON))
        while True:
            events = events or dict(poll.poll(500))
            for pipe in pipes:
                if pipe.reading in events and not pipe.read():
                    poll.unregister(pipe.reading)
                if pipe.seen > flood[pipe.reading] and not is_asked:
                    is_asked = True
                    self._send({"kill": True})
            now = time.monotonic()
            is_heard, events = self._control.fileno() in events, {}
            if is_heard:
                while "ended" not in (report := self._receive(SILENCE_SECONDS)) and b"\n" in self._buffer:
                    pass  # signs of life only
                if "ended" in report:
                    return report
                deadline.hear(now, is_tidying="tidying" in report)
            if why := deadline.passed(now):
                raise ServerDiedError(why)

    def _send(self, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
        text = json.dumps(message).encode() + b"\n"
        if descriptors:
            rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))
            self._control.sendmsg([text], [rights])
        else:
            self._control.sendall(text)

    def _receive(self, seconds: float) -> dict[str, Any]:
        self._control.settimeout(seconds)
        while b"\n" not in self._buffer:
            try:
                text = self._control.recv(1 << 16)
            except TimeoutError:
                raise ServerDiedError(f"it did not answer within {seconds:g} s") from None
            if not text:
                raise ServerDiedError("it closed its socket")
            self._buffer += text
        line, _, self._buffer = self._buffer.partition(b"\n")
        return json.loads(line)


class _Pipe:
    """A pipe from the candidate, read without blocking; beyond ``room`` bytes are counted and thrown away."""

    def __init__(self, room: int) -> None:
        self.room, self.seen, self.kept = room, 0, bytearray()
        self.reading, self.writing = os.pipe()
        os.set_blocking(self.reading, False)
        self._is_writing = True

    def read(self) -> bool:
        """Take what is there; return whether the pipe is still open."""
        try:
            text = os.read(self.reading, 1 << 16)
        except BlockingIOError:
            return True
        self.seen += len(text)
        self.kept += text[: max(self.room - len(self.kept), 0)]
        return bool(text)

    def drain(self) -> None:
        """Take what the candidate had written before its end."""
        before = -1
        while self.seen != before:
            before = self.seen
            self.read()

    def close_writing(self) -> None:
        if self._is_writing:
            self._is_writing = False
            os.close(self.writing)

    def close(self) -> None:
        self.close_writing()
        os.close(self.reading)


def _most(pipes: list[_Pipe]) -> list[tuple[_Pipe, int]]:
    """Return how many bytes may come out of the result pipe and the output pipe before it is a flood."""
    return [(pipes[0], pipes[0].room), (pipes[1], _FLOOD * max(pipes[1].room, 4096))]


@contextlib.contextmanager
def _job_file(body: bytes) -> Iterator[BinaryIO]:
    """A file without a name, which only the candidate's own process reads."""
    with open(_nameless_file(), "w+b") as file:
        file.write(body)
        file.seek(0)
        yield file


def _nameless_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("job")
    descriptor, path = tempfile.mkstemp()
    os.unlink(path)
    return descriptor


def _end(process: subprocess.Popen[bytes], control: socket.socket, scratch: str, owner: int) -> None:
    control.close()
    if os.getpid() != owner:
        return  # a fork of the caller: server and folder belong to the parent
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    process.wait()
    shutil.rmtree(scratch, ignore_errors=True)


def _encode(job: Job, limits: Limits) -> bytes:
    for name, value in vars(limits).items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1 << 40:
            raise SandboxJobError(f"expected {name} to be a number above 0, got {shown(value)}")
    if type(job.code) is not str or type(job.entry) is not str:
        raise SandboxJobError(f"expected code and entry to be text, got {type(job.code).__name__}")
    if not {*job.around} <= {*harness.WRAPPERS}:
        raise SandboxJobError(f"expected around to hold {[*harness.WRAPPERS]}, got {shown(job.around, 60)}")
    try:
        calls = [(tuple(call.args), dict(call.kwargs)) for call in job.calls]
        body = {"code": job.code, "entry": job.entry, "calls": calls, "around": list(job.around)}
        codec.check(body, _JOB_CAPS)
        return marshal.dumps(body, 2)  # 2: no shared objects, so that every call gets arguments of its own
    except codec.CodecError as error:
        raise SandboxJobError(f"a job for {shown(job.entry)} cannot be sent: {error}") from None
