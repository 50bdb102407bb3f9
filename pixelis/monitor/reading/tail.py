"""Rows of a file of JSON objects, one a line, read on from where reading stopped."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from pixelis.monitor.reading.folders import Root

try:  # five times as fast; the extra `monitor` has it
    from orjson import loads as _loads
except ImportError:
    from json import loads as _loads

CHUNK = 1 << 20
LONGEST_LINE = 1 << 22
"""Bytes of a row; a longer one is left out and told."""

_END = 1 << 18

Row = dict[str, Any]


@dataclass
class Tail:
    """A file that grows, and how far it has been read.

    Half a last line is kept until its rest is there. A file that was replaced or has become shorter, as a
    resumed run leaves it, is read from its start again.

    Args:
        root: the folder given to the monitor.
        parts: the file's path in it.

    Attributes:
        offset: bytes that have been read.
        size: bytes that the file had when it was last opened.
        damaged: lines that hold no JSON object.
        too_long: lines above `LONGEST_LINE`.
        restarts: how often it had to be begun anew.
    """

    root: Root
    parts: tuple[str, ...]
    offset: int = 0
    size: int = 0
    damaged: int = 0
    too_long: int = 0
    restarts: int = 0
    _half: bytes = b""
    _skipping: bool = False
    _inode: int | None = None
    _seen: bytes = field(default=b"")

    def read(self, most: int = CHUNK) -> list[Row] | None:
        """Return the rows of the next bytes, at most ``most`` of these; empty when there is nothing new.

        None says that the file is another one now: whatever was read of it before is to be forgotten.

        Raises:
            OSError: it cannot be opened or read.
        """
        with self.root.open(*self.parts) as file:
            if self._is_another(file):
                self._begin_again()
                return None
            file.seek(self.offset)
            data = file.read(most)
        if self.offset == 0:
            self._seen = data[:64]
        self.offset += len(data)
        return self._rows(data)

    @property
    def is_behind(self) -> bool:
        """Whether there was more in the file when it was last read."""
        return self.offset < self.size

    def _is_another(self, file: BinaryIO) -> bool:
        now = os.fstat(file.fileno())
        self.size = now.st_size
        before, self._inode = self._inode, now.st_ino
        if self.offset == 0:
            return False
        return before != now.st_ino or now.st_size < self.offset or file.read(len(self._seen)) != self._seen

    def _begin_again(self) -> None:
        self.offset = self.damaged = self.too_long = 0
        self._half, self._skipping = b"", False
        self.restarts += 1

    def _rows(self, data: bytes) -> list[Row]:
        lines = (self._half + data).split(b"\n")
        self._half = lines.pop()
        if self._skipping and lines:  # the end of the line that was too long
            lines, self._skipping = lines[1:], False
        if self._skipping or len(self._half) > LONGEST_LINE:
            self.too_long += not self._skipping
            self._half, self._skipping = b"", True
        return [row for line in lines if (row := self._row(line)) is not None]

    def _row(self, line: bytes) -> Row | None:
        if not line.strip():
            return None
        if len(line) > LONGEST_LINE:
            self.too_long += 1
            return None
        row = parsed(line)
        self.damaged += row is None
        return row


def parsed(line: bytes) -> Row | None:
    """Return the object that a line holds, None where it holds none."""
    try:
        row = _loads(line)
    except (ValueError, RecursionError):
        try:
            row = json.loads(line)  # it takes NaN, which other writers leave
        except (ValueError, RecursionError):
            return None
    return row if isinstance(row, dict) else None


def sampled(file: BinaryIO, count: int) -> list[Row]:
    """Return up to ``count`` rows from places spread over a file, in order, its first and last included.

    It is what a long file is shown from until all of it has been read: the time does not depend on its size.
    """
    size = file.seek(0, 2)
    rows: list[Row] = []
    reached = 0
    for place in range(count):
        start = size * place // count
        if start < reached:
            continue
        file.seek(start)
        if start:
            file.readline(LONGEST_LINE)
        line = file.readline(LONGEST_LINE)
        reached = file.tell()
        if line.endswith(b"\n") and (row := parsed(line)) is not None:
            rows.append(row)
    file.seek(max(size - _END, 0))
    ends = file.read(_END).split(b"\n")[:-1]
    if ends and (row := parsed(ends[-1])) is not None and row != (rows[-1] if rows else None):
        rows.append(row)
    return rows
