"""CSV files of any length: their records one at a time, with where each begins."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from pixelis.envs.data.lines import MAX_LINE_BYTES
from pixelis.envs.schema import unknown_field
from pixelis.envs.tweet.data.tweet_rows import FIELDS, OTHER_NAMES
from pixelis.errors import DatasetError, shown

_BOM = b"\xef\xbb\xbf"


class CsvRecord(NamedTuple):
    """A record: the number from 1 of the line it begins on, where that is, and its cells."""

    number: int
    offset: int
    cells: tuple[str, ...]


class _Lines:
    """The lines of a file as text, for ``csv.reader``, which looks at no line before it needs it."""

    def __init__(self, file: BinaryIO, number: int = 0) -> None:
        self._file = file
        self.number = number  # lines read so far
        self._record_bytes = 0

    def begin_record(self) -> None:
        """Start counting the bytes of the next record."""
        self._record_bytes = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._file.readline(MAX_LINE_BYTES + 1)
        if not line:
            raise StopIteration
        self.number += 1
        self._record_bytes += len(line)
        if self._record_bytes > MAX_LINE_BYTES:
            raise DatasetError(
                f"line {self.number}: expected at most {MAX_LINE_BYTES:,} bytes a row, got more; "
                "is a quotation mark never closed?"
            )
        try:
            return line.removeprefix(_BOM).decode("utf-8")
        except UnicodeDecodeError as error:
            raise DatasetError(
                f"line {self.number}: expected UTF-8, got other bytes ({error.reason}); save it as UTF-8"
            ) from None


def csv_records(path: Path) -> Iterator[CsvRecord]:
    """Yield the records of a file, the header first; blank lines are left out.

    Raises:
        DatasetError: a record longer than ``MAX_LINE_BYTES``, bytes that are no UTF-8, bad quotation marks,
            or
            a file that cannot be read. The message names the line.
    """
    try:
        with path.open("rb") as file:
            lines = _Lines(file)
            while (record := _next_record(lines, file)) is not None:
                if record.cells:
                    yield record
    except OSError as error:
        raise DatasetError(f"cannot read {path} ({error}); check its permissions") from None
    except DatasetError as error:
        raise DatasetError(f"{path}, {error}") from None


def read_record(path: Path, offset: int) -> tuple[str, ...]:
    """Return the cells of the record that begins at ``offset``."""
    with path.open("rb") as file:
        file.seek(offset)
        record = _next_record(_Lines(file), file)
    return record.cells if record else ()


def _next_record(lines: _Lines, file: BinaryIO) -> CsvRecord | None:
    """Return the record at the file's position, ``None`` at the end; a blank line has no cells."""
    lines.begin_record()
    number, offset = lines.number + 1, file.tell()
    try:
        cells = next(csv.reader(lines, strict=True), None)
    except csv.Error as error:
        raise DatasetError(
            f"line {number}: expected CSV, got a row that is none ({error}); "
            "is a quotation mark never closed?"
        ) from None
    return None if cells is None else CsvRecord(number, offset, tuple(cells))


def check_header(cells: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the columns.

    Raises:
        DatasetError: no column ``tweet``, one that is unknown, or one twice.
    """
    names = tuple(cell.strip() for cell in cells)
    for name in names:
        if name not in FIELDS:
            raise DatasetError(unknown_field(name, FIELDS, OTHER_NAMES))
    if "tweet" not in names:
        raise DatasetError(f"expected a column 'tweet', got {', '.join(names)[:200]}; name one so")
    if len(set(names)) != len(names):
        raise DatasetError(f"a column is named twice in {', '.join(names)[:200]}; rename or remove one")
    return names


def row_of_cells(names: tuple[str, ...], cells: tuple[str, ...]) -> Mapping[str, Any]:
    """Return a record as a JSON object; the cell of ``thread`` holds JSON, other empty cells are left out.

    Raises:
        DatasetError: more or fewer cells than columns, or a thread that is no JSON.
    """
    if len(cells) != len(names):
        raise DatasetError(
            f"expected {len(names)} cells as in the header, got {len(cells)}; quote texts that hold commas"
        )
    row: dict[str, Any] = {
        name: cell for name, cell in zip(names, cells, strict=True) if cell.strip() or name == "tweet"
    }
    if "thread" in row:
        try:
            row["thread"] = json.loads(row["thread"])
        except (ValueError, RecursionError):
            raise DatasetError(
                f"field 'thread' must be a JSON list, got {shown(row['thread'], 60)}; correct it"
            ) from None
    return row
