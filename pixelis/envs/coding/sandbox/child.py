"""The candidate's process from its fork to its exit: descriptors, limits, confinement, then the harness.

Standard library only; it runs in the fork-server, after ``fork`` and before the candidate's code.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import resource
import select
import signal
import sys
from dataclasses import dataclass
from typing import Any

from . import harness, linux
from .landlock import Ruleset
from .seccomp import Filter

RESULT = 3  # the descriptor results are written to
OPEN_FILES = 64
_FIXED_LIMITS = {
    "RLIMIT_NOFILE": OPEN_FILES,
    "RLIMIT_CORE": 0,
    "RLIMIT_MEMLOCK": 0,
    "RLIMIT_STACK": 64 << 20,
}


@dataclass(frozen=True)
class Confinement:
    """The layers that this machine has, prepared by the server (``None`` and False: not here)."""

    scratch: str
    ruleset: Ruleset | None = None
    filter: Filter | None = None
    undumpable: bool = False
    parent_death: bool = False
    clear_capabilities: bool = False
    own_pids: bool = False


def become_candidate(
    confinement: Confinement, limits: dict[str, Any], descriptors: list[int], lifeline: tuple[int, int]
) -> None:
    """Turn this freshly forked process into the candidate and end it; never returns.

    Args:
        confinement: Layers to enter.
        limits: ``cpu`` (s), ``memory``, ``file``, ``result`` (bytes), ``processes`` (a count, or None).
        descriptors: The job (to read), the result pipe and the output pipe (to write).
        lifeline: Both ends of a pipe, reading and writing, that the server holds open as long as it lives.
    """
    leave = os._exit
    try:
        separate(confinement, lifeline)
        body, result, output = descriptors
        job = marshal.loads(_read(body))  # from the caller, whom candidates cannot write to
        _arrange(result, output)
        os.chdir(confinement.scratch)
        confine(confinement, limits)
        flush, quietly = sys.stdout.flush, contextlib.suppress(ValueError, OSError)
        harness.run_job(job, limits["result"], RESULT)
        with quietly:  # the candidate may have closed it
            flush()
        leave(0)
    except BaseException:
        leave(70)
    finally:
        leave(71)


def separate(confinement: Confinement, lifeline: tuple[int, int]) -> None:
    """Lead a session of one's own, die with the server, answer signals as a fresh process does."""
    reading, writing = lifeline
    os.close(writing)  # now the server alone holds it
    os.setsid()
    if confinement.parent_death:
        linux.prctl(linux.PR_SET_PDEATHSIG, signal.SIGKILL)
    if _is_hung_up(reading):  # it died before the line above; the parent's number would not tell
        os._exit(72)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def _is_hung_up(reading: int) -> bool:
    poll = select.poll()
    poll.register(reading, 0)  # a hang-up is told unasked
    return bool(poll.poll(0))


def confine(confinement: Confinement, limits: dict[str, Any]) -> None:
    """Enter every layer; the order matters, since each takes away what the ones before needed."""
    if confinement.clear_capabilities:
        linux.clear_capabilities()
    _set_limits(limits)
    if confinement.undumpable:
        linux.prctl(linux.PR_SET_DUMPABLE, 0)
    if confinement.ruleset:
        confinement.ruleset.restrict()
    os.closerange(RESULT + 1, 256)  # the ruleset and what else the server holds
    if confinement.filter:
        confinement.filter.install()


def _arrange(result: int, output: int) -> None:
    """Leave four descriptors: nothing to read, the output pipe, nowhere for errors, the result pipe."""
    nothing = os.open(os.devnull, os.O_RDWR)
    high = [os.dup(descriptor) for descriptor in (result, output, nothing)]
    for source, target in zip((high[2], high[1], high[2], high[0]), (0, 1, 2, RESULT), strict=True):
        os.dup2(source, target)


def rehearse() -> None:
    """Run a trivial job in the server, so that what Python sets up on first use is there before the forks."""
    job = {
        "code": "def f(x, y=1):\n    return [x, y]\n",
        "entry": "f",
        "calls": [((1,), {"y": 2.5}), (("a",), {})],
    }
    modules, nowhere = dict(sys.modules), os.open(os.devnull, os.O_WRONLY)
    for _ in range(20):
        harness.run_job(marshal.loads(marshal.dumps(job, 2)), 1000, nowhere)
    os.close(nowhere)
    sys.modules.clear()
    sys.modules.update(modules)


def _read(descriptor: int) -> bytes:
    parts = []
    while part := os.read(descriptor, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def limit_server() -> None:
    """Set what is the same for every candidate, for the server and so for its forks."""
    for name, value in _FIXED_LIMITS.items():
        _set_limit(name, value, value)


def _set_limits(limits: dict[str, Any]) -> None:
    seconds = int(limits["cpu"]) + 1
    _set_limit("RLIMIT_CPU", seconds, seconds + 1)
    _set_limit("RLIMIT_FSIZE", limits["file"], limits["file"])
    if limits["processes"] is not None:
        _set_limit("RLIMIT_NPROC", limits["processes"], limits["processes"])
    _set_limit("RLIMIT_AS", limits["memory"], limits["memory"])


def _set_limit(name: str, soft: int, hard: int) -> None:
    """Lower one limit; where the machine's own is lower still, that one stays."""
    kind = getattr(resource, name, None)
    if kind is None:
        return
    ceiling = resource.getrlimit(kind)[1]
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    try:
        resource.setrlimit(kind, (soft, hard))
    except (OSError, ValueError):
        if sys.platform != "darwin":  # which knows RLIMIT_AS by name only
            raise
