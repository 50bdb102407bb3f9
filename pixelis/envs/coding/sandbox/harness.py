"""Runs inside the candidate's process: executes its code, makes the calls, writes claimed outputs to a pipe.

Nothing here is trusted by whoever reads the pipe: the candidate shares this memory. What is used here is
captured before its code runs only so that honest code in an unusual style (a replaced built-in) does not
break it. Each message is one line of typed JSON (see ``codec``), a tuple:
``("syntax", line, text)``, ``("raised", error, lines)``, ``("no_entry", names)``, ``("ready",)``, then for
every call ``("value", index, value)`` or ``("error", index, error, lines)``, and last ``("end", calls)``.
Standard library only.
"""

from __future__ import annotations

import builtins
import linecache
import os
import sys
import types
from collections.abc import Callable
from typing import Any

from . import codec

__builtins__ = dict(vars(builtins))

FILE_NAME = "<solution>"
_MESSAGE = 500  # characters of an exception's text
_LINES = 8  # frames of a traceback that are reported
_NAMES = 50
_MODULE = "solution"
WRAPPERS = {"list": list, "tuple": tuple, "set": set, "sorted": sorted}
_OUT_OF_MEMORY = b'{"t":["error",%d,"MemoryError: ",{"t":[]}]}\n'


def run_job(job: dict[str, Any], result_bytes: int, channel: int) -> None:
    """Execute ``job["code"]``, call ``job["entry"]`` with each of ``job["calls"]`` and report to ``channel``.

    Args:
        job: ``code`` (source), ``entry`` (a name, or empty to run the code only), ``calls`` (arguments),
            perhaps ``around`` (names of built-ins applied to what comes back, the outermost first).
        result_bytes: Largest message, in bytes.
        channel: Descriptor of the result pipe.
    """
    send = _sender(channel, codec.Caps(size=result_bytes))
    get_limit, set_limit, own_limit = sys.getrecursionlimit, sys.setrecursionlimit, sys.getrecursionlimit()
    wrappers = [WRAPPERS[name] for name in reversed(job.get("around", ()))]
    function = _load(job["code"], job["entry"], send)
    if function is None:
        return
    for index, (args, kwargs) in enumerate(job["calls"]):
        limit = get_limit()
        try:
            value = function(*args, **kwargs)
            for wrapper in wrappers:
                value = wrapper(value)
            limit = get_limit()  # the candidate's own, which its next call finds again
            set_limit(own_limit)
            send("value", index, value)
        except MemoryError:
            args = kwargs = value = None
            _write_all(channel, _OUT_OF_MEMORY % index)
        except BaseException as error:
            set_limit(own_limit)
            send("error", index, *_describe(error))
        set_limit(limit)
        args = kwargs = value = None  # so that a large output is gone before the next call
    send("end", len(job["calls"]))


def _sender(
    channel: int, caps: codec.Caps, encode: Callable[..., bytes] = codec.encode
) -> Callable[..., None]:
    def send(*message: Any) -> None:
        _write_all(channel, encode(message, caps, subclasses=True) + b"\n")

    return send


def _write_all(channel: int, text: bytes, write: Callable[[int, bytes], int] = os.write) -> None:
    while text:
        text = text[write(channel, text) :]


def _load(code: str, entry: str, send: Callable[..., None]) -> Callable[..., Any] | None:
    """Execute the code as a registered module; return its entry, or None after reporting why not."""
    try:
        code = code.removeprefix("\ufeff")  # as Python does with a file
        compiled = compile(code, FILE_NAME, "exec", dont_inherit=True)
    except SyntaxError as error:
        send("syntax", error.lineno or 0, f"{type(error).__name__}: {error.msg}"[:_MESSAGE])
        return None
    except (ValueError, RecursionError, OverflowError) as error:  # NUL, lone surrogates, too deep to parse
        send("syntax", 0, f"{type(error).__name__}: {error}"[:_MESSAGE])
        return None
    except MemoryError as error:
        send("raised", *_describe(error))
        return None
    module = types.ModuleType(_MODULE)
    module.__dict__["__file__"] = FILE_NAME
    sys.modules[_MODULE] = sys.modules["__main__"] = module
    linecache.cache[FILE_NAME] = (len(code), None, code.splitlines(keepends=True), FILE_NAME)
    try:
        exec(compiled, module.__dict__)
    except BaseException as error:
        send("raised", *_describe(error))
        return None
    if not entry:
        send("ready")
        return lambda: None
    found = module.__dict__.get(entry)
    if not callable(found):
        send("no_entry", tuple(_names(module.__dict__)))
        return None
    send("ready")
    return found


def _names(namespace: dict[str, Any]) -> list[str]:
    named = [name for name, value in namespace.items() if type(name) is str and isinstance(value, _CALLABLES)]
    return [name[:80] for name in named if not name.startswith("__")][:_NAMES]


_CALLABLES = (types.FunctionType, type, types.BuiltinFunctionType)


def _describe(error: BaseException) -> tuple[str, tuple[int, ...]]:
    """Return class name and message, printable and cut, and the candidate's own lines that led there."""
    name = type.__dict__["__name__"].__get__(type(error))
    try:
        text = str.__str__(str(error))
    except BaseException:
        text = "(its message could not be made)"
    text = "".join(sign if sign.isprintable() or sign == "\n" else "�" for sign in text[:_MESSAGE])
    lines: list[int] = []
    trace = error.__traceback__
    while trace is not None and len(lines) < 100_000:
        if trace.tb_frame.f_code.co_filename == FILE_NAME:
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    return f"{name}: {text}", tuple(lines[-_LINES:])
