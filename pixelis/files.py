"""Files that are either whole or not there, and failed writes as one error."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pixelis.errors import OutputError


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file so that a reader, or a kill, never meets half of it; what was there stays so long.

    A text is written as UTF-8.
    """
    unfinished = path.with_name(f".{path.name}.unfinished")
    data = content.encode() if isinstance(content, str) else content  # before there is a file
    try:
        with unfinished.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except OSError:  # a half file would hold the room that is missing
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
        raise


def json_line(value: Any, default: Callable[[Any], Any] | None = None) -> str:
    """Return a value as a line of JSON, as people read it.

    Half a surrogate pair, which a text may hold and no file in UTF-8, is escaped.
    """
    line = json.dumps(value, ensure_ascii=False, default=default) + "\n"
    try:
        line.encode()
    except UnicodeEncodeError:
        return json.dumps(value, default=default) + "\n"
    return line


@contextlib.contextmanager
def writing(path: Path, instead: str = "--output", intact: str = "") -> Iterator[None]:
    """Turn what the operating system says about a failed write into one `OutputError`.

    Args:
        path: what is written.
        instead: what a person can choose another one of.
        intact: what has been written whole before, for the message.
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or _first_reason(error)
        kept = f"; {intact} is intact" if intact else ""
        raise OutputError(
            f"cannot write to {str(path)!r}: {reason}{kept}; choose another {instead} or make room"
        ) from error


def one_line(error: object) -> str:
    """Return the first line of an error's message, or its class when it has none."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _first_reason(error: OSError) -> str:
    """Return why the first file of a copied folder failed (`shutil.Error` lists all), else the message."""
    if isinstance(error, shutil.Error) and error.args and error.args[0]:
        return str(error.args[0][0][-1])
    return str(error)
