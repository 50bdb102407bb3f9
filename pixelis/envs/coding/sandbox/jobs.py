"""What a caller asks of the sandbox and what comes back: claimed outputs, never a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Isolation = Literal["best_effort", "strict", "hardened"]
Status = Literal[
    "finished",
    "syntax_error",
    "raised",
    "no_entry",
    "timeout",
    "cpu_limit",
    "memory_limit",
    "output_limit",
    "killed",
    "exited",
    "protocol",
    "sandbox_failed",
]


@dataclass(frozen=True)
class Limits:
    """What one candidate may use, over all its calls.

    Args:
        wall_seconds: Time from its start to its end.
        cpu_seconds: Processor time, of all threads together.
        memory_bytes: Address space, about 40 MB of which are the interpreter's own.
        result_bytes: All claimed outputs together, as typed JSON.
        stdout_bytes: Printed text that is kept; more is thrown away, and 256 times as much ends it.
        file_bytes: One file; the scratch folder may hold four times as much.
        threads: Threads at once, the first included; Python's own pools start up to 32 beside it.
    """

    wall_seconds: float = 10.0
    cpu_seconds: float = 5.0
    memory_bytes: int = 512 << 20
    result_bytes: int = 1 << 20
    stdout_bytes: int = 1 << 16
    file_bytes: int = 8 << 20
    threads: int = 40


@dataclass(frozen=True)
class Call:
    """Arguments of one call of the entry; any plain values (see ``codec``)."""

    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Job:
    """One candidate.

    Args:
        code: Its source, executed as a module called ``solution``.
        entry: Name of the function that is called; empty to execute the code only.
        calls: Made in this order, in one process. A call listed twice is made twice.
        limits: None for those of the sandbox's settings.
        around: Those of ``list``, ``tuple``, ``set`` and ``sorted`` that are applied to what each call
            returns, the outermost first, in the candidate's own process: what a generator yields can travel.
    """

    code: str
    entry: str = ""
    calls: tuple[Call, ...] = ()
    limits: Limits | None = None
    around: tuple[str, ...] = ()


@dataclass(frozen=True)
class CallResult:
    """What the candidate's process claims about one call.

    Args:
        kind: ``value``, ``error`` (it raised, or its return value does not travel) or ``missing``.
        value: The claimed return value, of exactly the type it was read as.
        error: Class and message of the exception, cut and printable.
        lines: Lines of the candidate's own source in the traceback, the innermost last.
    """

    kind: Literal["value", "error", "missing"]
    value: Any = None
    error: str = ""
    lines: tuple[int, ...] = ()


@dataclass(frozen=True)
class JobResult:
    """How a candidate ended and what it claims.

    Args:
        status: ``finished`` (every call has an outcome), ``syntax_error``, ``raised`` (its code, before any
            call), ``no_entry``, ``timeout`` (wall time), ``cpu_limit``, ``memory_limit``, ``output_limit``
            (printed, returned or wrote too much), ``killed`` (by a signal, or for its threads), ``exited``
            (before the end), ``protocol`` (the result pipe held something else than the harness writes) or
            ``sandbox_failed`` (no fault of the candidate: its job was not carried out).
        outcomes: One for each call, in order.
        stdout: What it printed, up to the limit.
        cpu_seconds: Processor time used.
        wall_seconds: Time from its start to its end.
        detail: What happened, in words for a person.
        line: Line of a syntax error or of a raise, 0 when there is none.
        names: With ``no_entry``: functions and classes that the code does define.
    """

    status: Status
    outcomes: tuple[CallResult, ...] = ()
    stdout: str = ""
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    detail: str = ""
    line: int = 0
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class SandboxSettings:
    """How candidates are confined.

    Args:
        isolation: ``strict`` refuses to run where a layer of the platform's full set is missing;
            ``best_effort`` runs with what there is and says so once in the log; ``hardened`` wants all that
            ``strict`` does, and namespaces, a root folder with nothing but libraries in it, and a PID
            namespace for each candidate.
        limits: For jobs that bring none.
        allow_threads: Whether candidates may start threads.
    """

    isolation: Isolation = "best_effort"
    limits: Limits = field(default_factory=Limits)
    allow_threads: bool = True
