"""Files of recorded episodes: one JSON object a line, one line an episode."""

from __future__ import annotations

import contextlib
import io
import os
import re
import secrets
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pixelis.errors import RecordingError, RecordingWarning
from pixelis.files import writing
from pixelis.wrappers.recording.trajectory import Trajectory, parse_line

SUFFIX = ".jsonl"


class TrajectoryFile:
    """Appends whole lines to a file of its own.

    Every writer makes files that no other has, so envs and processes may share a folder. A line is handed to
    the operating system before `append` returns: a killed process loses nothing that was appended, and leaves
    half a last line at worst (a power failure may cost more). After a write that failed, the file ends with
    the last whole line.

    Args:
        folder: where the files go.
        name: how their names begin; signs that file systems do not take are replaced.
        max_bytes: a new file is begun when one has reached this size; None for one file.
    """

    def __init__(self, folder: Path, name: str, max_bytes: int | None = None) -> None:
        self.folder, self.max_bytes = folder, max_bytes
        self._name = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")[:60] or "env"
        self._forget()

    def open(self) -> str:
        """Open a file where none is open; return the writer's random name.

        Raises:
            OutputError: it cannot be made.
        """
        if self._file is not None and self._process != os.getpid():  # a fork must not share the parent's
            self._file.close()
            self._forget()
        if self._file is None:
            self._part += 1
            path = self.folder / f"{self._name}-{self._stamp}-{self.recorder}-{self._part:04d}{SUFFIX}"
            with writing(path, "folder"):
                self.folder.mkdir(parents=True, exist_ok=True)
                self._file = io.FileIO(path, "xb")
            self._path, self._size, self._process = path, 0, os.getpid()
        return self.recorder

    def append(self, line: bytes) -> None:
        """Append a line, which ends with its only newline.

        Raises:
            OutputError: it could not be written; the earlier lines are intact.
        """
        self.open()
        assert self._file is not None and self._path is not None  # open() has seen to it
        with writing(self._path, "folder"):
            try:
                rest = memoryview(line)
                while rest:  # a disk that is nearly full takes a part
                    rest = rest[self._file.write(rest) :]
            except OSError:
                self._cut_back()
                raise
        self._size += len(line)
        if self.max_bytes is not None and self._size >= self.max_bytes:
            self._close_file()

    def close(self) -> None:
        """Close the file; one without a line is removed."""
        if self._file is not None and self._process == os.getpid():
            self._close_file()

    def __del__(self) -> None:
        """Close the file of an env that nobody closed."""
        if getattr(self, "_file", None) is not None:
            self.close()

    def __getstate__(self) -> dict[str, Any]:
        """Return the settings: a copy writes files of its own."""
        return {"folder": self.folder, "name": self._name, "max_bytes": self.max_bytes}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)

    # ------------------------------------------------------------------ private

    def _forget(self) -> None:
        self.recorder = secrets.token_hex(4)
        self._stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        self._file: io.FileIO | None = None
        self._path: Path | None = None
        self._part, self._size, self._process = 0, 0, os.getpid()

    def _cut_back(self) -> None:
        assert self._file is not None  # append() has opened it
        try:
            self._file.truncate(self._size)
            self._file.seek(self._size)
        except OSError:  # the next line then goes to a new file, and the reader skips the half one
            self._close_file()

    def _close_file(self) -> None:
        assert self._file is not None and self._path is not None
        with contextlib.suppress(OSError):
            self._file.close()
        self._file = None
        if self._size == 0:
            with contextlib.suppress(OSError):
                self._path.unlink()


def recording_files(path: str | Path) -> list[Path]:
    """Return a recording's files: the file itself, or every ``.jsonl`` of a folder by name.

    Raises:
        RecordingError: there is none.
    """
    path = Path(path)
    if path.is_file():
        return [path]
    found = sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else []
    if not found:
        what = f"no {SUFFIX} file in the folder" if path.is_dir() else "no file or folder at"
        raise RecordingError(f"{what} {str(path)!r}; give what RecordTrajectory wrote")
    return found


def read_trajectories(path: str | Path) -> Iterator[Trajectory]:
    """Yield the episodes of a file, or of every ``.jsonl`` in a folder, one at a time.

    Half a last line, which a killed writer leaves, is skipped with a `RecordingWarning`.

    Raises:
        RecordingError: there is no such file; a line is damaged or of another format version (with its
            number).
    """
    for file in recording_files(path):
        yield from _read(file)


def _read(path: Path) -> Iterator[Trajectory]:
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                try:
                    trajectory = parse_line(line, path, number)
                except RecordingError:
                    if line.endswith(b"\n"):
                        raise
                    warnings.warn(
                        f"{path}, line {number} is half a line ({len(line)} bytes), whose writer was killed; "
                        f"it is left out",
                        RecordingWarning,
                        stacklevel=3,
                    )
                    return
                yield trajectory
    except OSError as error:
        raise RecordingError(f"cannot read {str(path)!r}: {error.strerror or error}") from error
