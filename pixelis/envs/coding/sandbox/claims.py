"""Reads the result pipe's bytes: a strict parse of what a candidate claims, and the status it amounts to."""

from __future__ import annotations

import signal
from dataclasses import dataclass, field
from typing import Any

from .codec import Caps, CodecError, decode
from .jobs import CallResult, JobResult, Limits, Status

_MISSING = CallResult("missing")


@dataclass
class Claims:
    """Everything read from one result pipe."""

    outcomes: list[CallResult] = field(default_factory=list)
    early: tuple[Any, ...] | None = None  # a message instead of any call
    is_ready: bool = False
    is_ended: bool = False
    broken: str = ""


def read_claims(text: bytes, calls: int, limits: Limits) -> Claims:
    """Parse messages in the only order there is; stop at the first that is out of place."""
    claims = Claims()
    lines = text.split(b"\n", calls + 3)
    rest = lines.pop()  # b"" after a full last line, half a line of a process that was ended
    for line in lines:
        try:
            _take(claims, decode(line, Caps(size=limits.result_bytes + 1000)), calls)
        except CodecError as error:
            claims.broken = str(error)
        if claims.broken:
            return claims
    if rest and claims.is_ended:
        claims.broken = "something after the last message"
    elif rest and len(lines) >= calls + 3:
        claims.broken = "more messages than calls"
    return claims


def _take(claims: Claims, message: Any, calls: int) -> None:
    if type(message) is not tuple:
        claims.broken = "a value that is no message"
        return
    kinds = tuple(map(type, message))
    name = message[0] if kinds and kinds[0] is str else ""
    index = len(claims.outcomes)
    is_turn = claims.is_ready and not claims.is_ended and index < calls and message[1:2] == (index,)
    if claims.is_ended or claims.early:
        claims.broken = "a message after the last one"
    elif name == "value" and is_turn and len(kinds) == 3 and kinds[1] is int:
        claims.outcomes.append(CallResult("value", value=message[2]))
    elif name == "error" and is_turn and kinds == (str, int, str, tuple) and _are_lines(message[3]):
        claims.outcomes.append(CallResult("error", error=_printable(message[2]), lines=message[3]))
    elif message == ("ready",) and not claims.is_ready:
        claims.is_ready = True
    elif name == "end" and claims.is_ready and index == calls and kinds == (str, int) and message[1] == calls:
        claims.is_ended = True
    elif not claims.is_ready and _is_early(message, name, kinds):
        claims.early = message
    else:
        claims.broken = "a message that is out of place"


def _are_lines(lines: tuple[Any, ...]) -> bool:
    return len(lines) <= 8 and all(type(line) is int and 0 <= line < 1 << 31 for line in lines)


def _is_early(message: tuple[Any, ...], name: str, kinds: tuple[type, ...]) -> bool:
    if name == "syntax":
        return kinds == (str, int, str) and _are_lines(message[1:2])
    if name == "raised":
        return kinds == (str, str, tuple) and _are_lines(message[2])
    return name == "no_entry" and kinds == (str, tuple) and all(type(name) is str for name in message[1])


def to_result(report: dict[str, Any], claims: Claims, calls: int, limits: Limits) -> JobResult:
    """Put together what the server saw (trusted) and what the candidate claims (not)."""
    status, detail = _status(report, claims, limits)
    early: tuple[Any, ...] = claims.early or ()
    line, names = 0, ()
    if status == "syntax_error":
        line = early[1]
    elif status == "raised":
        line = early[2][-1] if early[2] else 0
    elif status == "no_entry":
        names = _names(early[1])
    outcomes = (*claims.outcomes, *[_MISSING] * (calls - len(claims.outcomes)))
    return JobResult(status, outcomes, "", report["cpu"], report["wall"], detail, line, names)


_ENDINGS: dict[str, tuple[Status, str]] = {
    "wall": ("timeout", "ran for {limits.wall_seconds:g} s of wall time and was ended"),
    "cpu": ("cpu_limit", "used {limits.cpu_seconds:g} s of processor time and was ended"),
    "threads": ("killed", "had more than {limits.threads} threads and was ended"),
    "files": ("output_limit", "wrote more files than the scratch folder may hold and was ended"),
    "asked": ("output_limit", "printed or returned more than its limits allow and was ended"),
}


def _status(report: dict[str, Any], claims: Claims, limits: Limits) -> tuple[Status, str]:
    if report["ended"] in _ENDINGS:
        status, words = _ENDINGS[report["ended"]]
        return status, words.format(limits=limits)
    if report["signal"]:
        over = report["cpu"] >= limits.cpu_seconds and report["signal"] in (signal.SIGKILL, signal.SIGXCPU)
        words = _ENDINGS["cpu"][1].format(limits=limits) if over else f"ended by signal {report['signal']}"
        return "cpu_limit" if over else "killed", words
    if claims.broken:
        return "protocol", f"the result pipe held {claims.broken}"
    if claims.early:
        return _early_status(claims.early, limits)
    if not claims.is_ended or report["exit"] != 0:
        return "exited", f"ended itself with code {report['exit']} before the last call had returned"
    if any(outcome.error.startswith("MemoryError:") for outcome in claims.outcomes):
        return _out_of_memory(limits)
    return "finished", ""


def _out_of_memory(limits: Limits) -> tuple[Status, str]:
    return "memory_limit", f"needed more than {limits.memory_bytes >> 20} MB"


def _early_status(message: tuple[Any, ...], limits: Limits) -> tuple[Status, str]:
    if message[0] == "syntax":
        return "syntax_error", f"line {message[1]}: {_printable(message[2])}"
    if message[0] == "no_entry":
        return "no_entry", f"the code defines {', '.join(map(repr, _names(message[1]))) or 'nothing'}"
    error = _printable(message[1])
    if error.startswith("MemoryError:"):
        return _out_of_memory(limits)
    return ("exited" if error.startswith("SystemExit:") else "raised"), error


def _printable(text: str) -> str:
    """Return text as the harness writes it, whoever wrote it: cut, without control characters."""
    return "".join(sign if sign.isprintable() or sign == "\n" else "\ufffd" for sign in text[:1000])


def _names(claimed: tuple[str, ...]) -> tuple[str, ...]:
    """Return those claimed names that are names; a dict of globals can hold any text."""
    return tuple(name[:80] for name in claimed[:50] if name.isidentifier())
