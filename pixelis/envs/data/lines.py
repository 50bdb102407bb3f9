"""Files with one row a line, of any length: their lines one at a time, and whether a file has changed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from pixelis.errors import DatasetError, PixelisError, shown

MAX_LINE_BYTES = 1 << 20
SHOWN_ERRORS = 5
"""How many bad rows of a file are named before the rest is left unread."""


class Numbered(Protocol):
    """Whatever says in which line of a file it begins, from 1."""

    @property
    def number(self) -> int:
        """The line."""
        ...


L = TypeVar("L", bound=Numbered)
R = TypeVar("R")


class FileLine(NamedTuple):
    """A line that is not blank: its number from 1, where it begins, and its bytes."""

    number: int
    offset: int
    text: bytes


def file_state(path: Path, what: str) -> tuple[int, int]:
    """Return what changes when a file does: its size and when it was written.

    Raises:
        DatasetError: there is no file; ``what`` says in the message what was expected there.
    """
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise DatasetError(f"expected a {what} at {_named(path)}, got nothing; correct the path") from None
    if not path.is_file():
        raise DatasetError(f"expected a {what}, got {path}, which is none; name the file")
    return status.st_size, status.st_mtime_ns


def _named(path: Path) -> str:
    """Return a path as messages tell it: quoted and cut where it holds signs that cannot be printed."""
    return str(path) if str(path).isprintable() else shown(path)


def find_file(path: Any, what: str) -> tuple[Path, tuple[int, int]]:
    """Return the absolute path of a user's file, and its `file_state`.

    Raises:
        DatasetError: it is no path, or there is no file; ``what`` says what was expected there.
    """
    try:
        resolved = Path(path).resolve()
        return resolved, file_state(resolved, what)
    except (TypeError, ValueError, OSError) as error:
        if isinstance(error, DatasetError):
            raise
        raise DatasetError(f"data must be the path of a {what}, got {shown(path, 80)} ({error})") from None


def read_lines(path: Path) -> Iterator[FileLine]:
    """Yield the lines that are not blank; no line is held whole that is longer than ``MAX_LINE_BYTES``.

    Raises:
        DatasetError: a longer line, or a file that cannot be read.
    """
    try:
        with path.open("rb") as file:
            offset = number = 0
            while text := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(text) > MAX_LINE_BYTES:
                    raise DatasetError(
                        f"{path}, line {number}: expected at most {MAX_LINE_BYTES:,} bytes a row, got more; "
                        "write one JSON object a line"
                    )
                if text.strip():
                    yield FileLine(number, offset, text)
                offset += len(text)
    except OSError as error:
        raise DatasetError(f"cannot read {path} ({error}); check its permissions") from None


def good_rows(path: Path, lines: Iterable[L], parse: Callable[[L], R]) -> Iterator[tuple[L, R]]:
    """Yield each line with the row it holds.

    Args:
        path: the file, for messages.
        lines: of the file.
        parse: returns a line's row, or raises what is wrong with it, without the line's number.

    Raises:
        DatasetError: in the end: there was no line, or some were bad (the first five are named by number).
    """
    problems: list[str] = []
    found = False
    for line in lines:
        try:
            row = parse(line)
        except PixelisError as error:
            problems.append(f"line {line.number}: {error}")
            if len(problems) == SHOWN_ERRORS:
                break
            continue
        found = True
        yield line, row
    if problems:
        raise DatasetError("\n".join([f"{path} has bad rows:", *problems]))
    if not found:
        raise DatasetError(f"{path} has no rows; write one a line")


def load_rows(path: Path, what: str, parse: Callable[[dict[str, Any]], R]) -> list[R]:
    """Return the rows of a small JSONL file, in its order.

    Raises:
        DatasetError: the file cannot be read (``what`` says what was expected), has no rows, or bad ones.
    """
    file_state(path, what)
    rows = good_rows(path, read_lines(path), lambda line: parse(json_object(line.text)))
    return [row for _, row in rows]


def json_object(line: bytes) -> dict[str, Any]:
    """Return the JSON object in a line in UTF-8, with or without a byte order mark.

    Raises:
        DatasetError: what is wrong with it, without the line's number. NaN and infinities are no JSON.
    """
    try:
        value = json.loads(line.decode("utf-8-sig"), parse_constant=_refuse_constant, parse_float=_finite)
    except UnicodeDecodeError as error:
        raise DatasetError(
            f"expected UTF-8, got other bytes ({error.reason}); save the file as UTF-8"
        ) from None
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)[:120]
        raise DatasetError(
            f"expected one JSON object, got text that is none ({reason}); correct it"
        ) from None
    if not isinstance(value, dict):
        raise DatasetError(f"expected one JSON object, got {type(value).__name__}; write one object a line")
    return value


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"{digits[:40]} is more than a float holds")
    return value


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")
