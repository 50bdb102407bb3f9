"""Opening what lies in the folder that a person named, and nothing else.

Every step from that folder down is opened by itself and without following links, so neither a link inside a
run nor one that is put there meanwhile leads out of it.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from pixelis.errors import ConfigError

_DIRECTORY = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_FILE = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
)  # a pipe must not hold us up
RUN_MARKS = ("config.yaml", "metrics.jsonl")
"""What makes a folder a run: one of these files."""
DEEPEST = 3
"""Folders below the given one in which runs are looked for."""
MOST_RUNS = 500


class Outside(PermissionError):
    """A name that leads out of the folder, a link, or something that is no plain file."""


class Root:
    """A folder that a person named; all paths below are given as their parts.

    Args:
        path: the folder. It may be a link itself, as the person has named it.

    Raises:
        ConfigError: there is no such folder.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not self.path.is_dir():
            raise ConfigError(f"no folder at {str(path)!r}; give that of a training run, or of several")

    def open(self, *parts: str) -> BinaryIO:
        """Open a plain file for reading.

        Raises:
            OSError: there is none (`Outside` where it is a link, a device, or the name leads out).
        """
        with self._directory(parts[:-1]) as folder:
            return _opened(folder, _checked(parts[-1]))

    def names(self, *parts: str) -> list[str]:
        """Return the names of plain files and folders below, links left out; empty if there is no folder."""
        try:
            with self._directory(parts) as folder, os.scandir(folder) as entries:
                return sorted(entry.name for entry in entries if not entry.is_symlink())
        except OSError:
            return []

    def stat(self, *parts: str) -> os.stat_result | None:
        """Return what the system knows of a file or folder, None where there is none or it is a link."""
        try:
            with self._directory(parts[:-1]) as folder:
                found = os.stat(_checked(parts[-1]), dir_fd=folder, follow_symlinks=False)
        except OSError:
            return None
        return None if stat.S_ISLNK(found.st_mode) else found

    def runs(self) -> list[tuple[str, ...]]:
        """Return the runs in the folder, as parts of their paths: itself (no parts), or those below it."""
        found: list[tuple[str, ...]] = []
        level: list[tuple[str, ...]] = [()]
        for _ in range(DEEPEST + 1):
            below: list[tuple[str, ...]] = []
            for parts in level:
                names = self.names(*parts)
                if any(mark in names for mark in RUN_MARKS):
                    found.append(parts)
                else:
                    below += [(*parts, name) for name in names if not name.startswith(".")]
                if len(found) >= MOST_RUNS:
                    return sorted(found)
            level = [parts for parts in below if self._is_folder(parts)]
        return sorted(found)

    # ------------------------------------------------------------------ private

    def _is_folder(self, parts: tuple[str, ...]) -> bool:
        found = self.stat(*parts)
        return found is not None and stat.S_ISDIR(found.st_mode)

    @contextlib.contextmanager
    def _directory(self, parts: tuple[str, ...]) -> Iterator[int]:
        folder = os.open(self.path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            for part in parts:
                inner = os.open(_checked(part), _DIRECTORY, dir_fd=folder)
                os.close(folder)
                folder = inner
            yield folder
        finally:
            os.close(folder)


def _checked(name: str) -> str:
    if name in ("", ".", "..") or "/" in name or "\\" in name or "\0" in name:
        raise Outside(f"no name of a file: {name[:80]!r}")
    return name


def _opened(folder: int, name: str) -> BinaryIO:
    descriptor = os.open(name, _FILE, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Outside(f"no plain file: {name[:80]!r}")
    return os.fdopen(descriptor, "rb")
