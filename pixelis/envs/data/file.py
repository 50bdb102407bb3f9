"""A JSONL file of tasks by split, of any length: an index is kept in memory, never the rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from pixelis.envs.data.lines import MAX_LINE_BYTES, Line, file_state, good_rows, json_object, read_lines
from pixelis.envs.tasks import SPLITS, check_split
from pixelis.errors import DatasetError

R = TypeVar("R")


class Entry(NamedTuple):
    """What the index needs of a row: its split, and 64 bits that rows share which ask the same."""

    split: str
    digest: int


class RowFile(ABC, Generic[R]):
    """The rows of a file by split, read one at a time when asked for; 16 bytes of memory a row.

    A subclass says what a row is (``parse``), and what the index needs of it (``enter``).

    Args:
        path: the file.

    Raises:
        DatasetError: the file cannot be read, has no rows, bad rows (the first five are named by line), or
            rows that ask the same in both splits.
    """

    what: ClassVar[str] = "JSONL file"
    """What the file is called in messages."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._state = file_state(path, self.what)
        self._offsets = {split: array("q") for split in SPLITS}
        self._numbers = {split: array("q") for split in SPLITS}
        self._index()

    @staticmethod
    @abstractmethod
    def parse(value: Mapping[str, Any]) -> R:
        """Return the row that a line's JSON object describes; `DatasetError`, without its number, if none."""

    @abstractmethod
    def enter(self, row: R, number: int) -> Entry:
        """Return what the index needs of the row in line ``number``; `DatasetError` to refuse it."""

    def count(self, split: str) -> int:
        """Return how many rows a split has."""
        return len(self._offsets[check_split(split)])

    def read(self, split: str, index: int) -> tuple[int, R]:
        """Return the line number and the content of a split's row, straight from the file.

        Raises:
            DatasetError: the file is no longer what it was when it was opened.
            OSError: it cannot be read, for example because a network drive is away.
        """
        if file_state(self.path, self.what) != self._state:
            raise DatasetError(f"{self.path} has changed since it was opened; open it anew")
        with self.path.open("rb") as file:
            file.seek(self._offsets[split][index])
            return self._numbers[split][index], self.parse(json_object(file.readline(MAX_LINE_BYTES + 1)))

    def _index(self) -> None:
        digests = {split: array("Q") for split in SPLITS}
        for line, entry in good_rows(self.path, read_lines(self.path), self._entry):
            self._offsets[entry.split].append(line.offset)
            self._numbers[entry.split].append(line.number)
            digests[entry.split].append(entry.digest)
        self._check_splits(digests)

    def _entry(self, line: Line) -> Entry:
        return self.enter(self.parse(json_object(line.text)), line.number)

    def _check_splits(self, digests: dict[str, array[int]]) -> None:
        train, test = (np.frombuffer(digests[split], np.uint64) for split in SPLITS)
        shared = np.isin(train, test)
        if shared.any():
            at = int(np.argmax(shared))
            first = self._numbers["train"][at]
            second = self._numbers["test"][int(np.argmax(test == train[at]))]
            raise DatasetError(
                f"{self.path}: lines {first} (train) and {second} (test) ask the same; "
                "train and test must not meet, so give both the same split"
            )
