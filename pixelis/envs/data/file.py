"""A JSONL file of tasks by split, of any length: an index is kept in memory, never the rows."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from typing_extensions import Self

from pixelis.envs.data.lines import MAX_LINE_BYTES, file_state, find_file, good_rows, json_object, read_lines
from pixelis.envs.tasks import SPLITS, check_split
from pixelis.errors import DatasetError

R = TypeVar("R")


class RowKey(NamedTuple):
    """What the index needs of a row: its split, and 64 bits that rows share which ask the same."""

    split: str
    digest: int


class RowPlace(NamedTuple):
    """Where a row begins, the line's number from 1, and a function that gives its JSON object or raises."""

    number: int
    offset: int
    value: Callable[[], Mapping[str, Any]]


class RowFile(ABC, Generic[R]):
    """The rows of a file by split, read one at a time when asked for; 16 bytes of memory a row.

    A subclass says what a row is (``parse``), and what the index needs of it (``enter``). Made by `open`,
    a file is shared.

    Args:
        path: the file.

    Raises:
        DatasetError: the file cannot be read, has no rows, bad rows (the first five are named by line), or
            rows that ask the same in both splits.
    """

    what: ClassVar[str] = "JSONL file"
    """What the file is called in messages."""
    same: ClassVar[tuple[str, str]] = ("ask the same", "")
    """What a message says of rows that must not be in both splits, and what else to do about it."""
    splits_apart: bool = True
    """Whether a file is refused that asks the same in both splits."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._state = file_state(path, self.what)
        self._offsets = {split: array("q") for split in SPLITS}
        self._numbers = {split: array("q") for split in SPLITS}
        self._index()

    @classmethod
    def open(cls, path: str | os.PathLike[str], **options: Any) -> Self:
        """Return a file; callers in one process share the index while the file is unchanged.

        Raises:
            DatasetError: see the class.
        """
        return _opened(cls, *find_file(path, cls.what), **options)

    @staticmethod
    @abstractmethod
    def parse(value: Mapping[str, Any]) -> R:
        """Return the row that a JSON object describes; `DatasetError`, without its line, if none."""

    @abstractmethod
    def enter(self, row: R, place: RowPlace) -> RowKey:
        """Return what the index needs of a row; `DatasetError` to refuse it."""

    def kept(self, row: R) -> bool:
        """Return whether a row is among those that can be read by split."""
        return True

    def count(self, split: str) -> int:
        """Return how many rows a split has."""
        return len(self._offsets[check_split(split)])

    def read(self, split: str, index: int) -> tuple[int, R]:
        """Return the line number and the content of a split's row, straight from the file.

        Raises:
            DatasetError: the file is no longer what it was when it was opened.
            OSError: it cannot be read, for example because a network drive is away.
        """
        return self._numbers[split][index], self.row_at(self._offsets[split][index])

    def row_at(self, offset: int) -> R:
        """Return the row that begins at an offset; raises as ``read`` does."""
        if file_state(self.path, self.what) != self._state:
            raise DatasetError(f"{self.path} has changed since it was opened; open it anew")
        return self.parse(self.value_at(offset))

    def value_at(self, offset: int) -> Mapping[str, Any]:
        """Return the JSON object of the row that begins at an offset."""
        with self.path.open("rb") as file:
            file.seek(offset)
            return json_object(file.readline(MAX_LINE_BYTES + 1))

    def places(self) -> Iterable[RowPlace]:
        """Yield where the rows are, in the file's order."""
        return (
            RowPlace(line.number, line.offset, partial(json_object, line.text))
            for line in read_lines(self.path)
        )

    def _index(self) -> None:
        digests, numbers = ({split: array(code) for split in SPLITS} for code in "Qq")
        for place, (row, entry) in good_rows(self.path, self.places(), self._entry):
            digests[entry.split].append(entry.digest)
            numbers[entry.split].append(place.number)
            if self.kept(row):
                self._offsets[entry.split].append(place.offset)
                self._numbers[entry.split].append(place.number)
        if self.splits_apart:
            self._check_splits(digests, numbers)

    def _entry(self, place: RowPlace) -> tuple[R, RowKey]:
        row = self.parse(place.value())
        return row, self.enter(row, place)

    def _check_splits(self, digests: dict[str, array[int]], numbers: dict[str, array[int]]) -> None:
        train, test = (np.frombuffer(digests[split], np.uint64) for split in SPLITS)
        shared = np.isin(train, test)
        if shared.any():
            at = int(np.argmax(shared))
            first, second = numbers["train"][at], numbers["test"][int(np.argmax(test == train[at]))]
            said, advice = self.same
            raise DatasetError(
                f"{self.path}: lines {first} (train) and {second} (test) {said}; "
                f"train and test must not meet, so give both the same split{advice}"
            )


@lru_cache(maxsize=8)
def _opened(kind: type[Any], path: Path, state: tuple[int, int], **options: Any) -> Any:
    return kind(path, **options)
