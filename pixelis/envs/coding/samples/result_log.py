"""Results of a long evaluation, one JSON line each, that a kill at any moment leaves usable."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from pixelis.errors import ConfigError, DatasetError


class ResultLog:
    """Rows written aside, in ``<path>.part``, until all are there; then they become the file ``path``.

    The first line of the unfinished file is its identity: what the rows depend on. A later log of the same
    identity goes on after the last whole row.

    Args:
        path: the finished file.
        identity: inputs and settings, as JSON.

    Attributes:
        count: whole rows that were found or have been written.

    Raises:
        ConfigError: the finished file exists, or the unfinished one is of another evaluation.
        DatasetError: the unfinished file holds something else.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        self.path, self.part = path, path.with_name(f"{path.name}.part")
        if path.exists():
            raise ConfigError(f"{path} exists already; name another --output, or remove it to begin anew")
        self._head = json.dumps({"identity": identity}, sort_keys=True).encode() + b"\n"
        self.count = 0
        self._file = open(self.part, "a+b")  # noqa: SIM115 - closed by __exit__
        try:
            self._resume()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> ResultLog:
        """Return the log."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file; what it holds stays for the next time."""
        self._file.close()

    def append(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write rows; they survive the end of this process, but not a loss of power."""
        self._file.write(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
        self._file.flush()
        self.count += len(rows)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the rows written so far."""
        with open(self.part, "rb") as file:
            file.readline()
            for line in file:
                yield json.loads(line)

    def finish(self) -> None:
        """Put the rows in their place, all at once."""
        unfinished = self.path.with_name(f".{self.path.name}.unfinished")
        with open(unfinished, "wb") as file:
            for row in self.rows():
                file.write(json.dumps(row).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, self.path)
        self._file.close()
        self.part.unlink()

    def _resume(self) -> None:
        self._file.seek(0)
        head = self._file.readline()
        if not head.endswith(b"\n"):  # nothing yet, or killed in the first write
            self._file.truncate(0)
            self._file.write(self._head)
            self._file.flush()
            return
        if head != self._head:
            raise ConfigError(
                f"{self.part} is of an evaluation with other files or settings; name another --output, or "
                "remove it to begin anew"
            )
        end = len(head)
        for line in self._file:
            if not line.endswith(b"\n"):  # killed in the middle of a row
                break
            if not line.startswith(b"{"):
                raise DatasetError(f"{self.part} holds a line that is no result; remove it to begin anew")
            end += len(line)
            self.count += 1
        self._file.truncate(end)
