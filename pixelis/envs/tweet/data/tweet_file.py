"""A JSONL or CSV file of tweets, of any length: an index is kept in memory, never the rows."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pixelis.envs.data.lines import MAX_LINE_BYTES, file_state, find_file, good_rows, json_object, read_lines
from pixelis.envs.tasks import SPLITS
from pixelis.envs.tweet.data.csv_records import check_header, csv_records, read_record, row_of_cells
from pixelis.envs.tweet.data.tweet_rows import TweetRow, tweet_row
from pixelis.errors import DatasetError

_WHAT = "JSONL or CSV file of tweets"
PARTS = ("sft", "grpo", "held_out")
"""What `scripts/split_data.py` deals a file's rows into; the part's file is named for it."""


class _Place(NamedTuple):
    """Where a row begins, and a function that gives its JSON object or raises."""

    number: int
    offset: int
    value: Callable[[], Mapping[str, Any]]

    def row(self) -> TweetRow:
        return tweet_row(self.value())


class TweetFile:
    """The rows of a file by split, read one at a time when asked for; 24 bytes of memory a row.

    A name that ends in ``.csv`` means CSV with a header, any other JSONL. A byte order mark is fine in both.

    Args:
        path: the file.
        threads_only: leave out the rows in which the author does not write back.
        splits_apart: refuse a file that has a tweet of the same normalised text in both splits.

    Raises:
        DatasetError: the file cannot be read, has no rows, bad rows (the first five are named by line), or
            the
            same tweet in both splits.
    """

    def __init__(self, path: Path, *, threads_only: bool = False, splits_apart: bool = True) -> None:
        self.path, self.threads_only, self.splits_apart = path, threads_only, splits_apart
        self._state = file_state(path, _WHAT)
        self._columns: tuple[str, ...] = ()
        self._offsets, self._numbers = array("q"), array("q")
        self._rows_of = {split: array("q") for split in SPLITS}
        self._index()

    def __len__(self) -> int:
        """Return how many rows the file has, those of ``threads_only`` and not."""
        return len(self._offsets)

    @property
    def is_csv(self) -> bool:
        """Whether the file is read as CSV."""
        return self.path.suffix.casefold() == ".csv"

    def count(self, split: str) -> int:
        """Return how many rows a split has."""
        return len(self._rows_of[split])

    def read(self, split: str, index: int) -> tuple[int, TweetRow]:
        """Return the line number and the content of a split's row, straight from the file.

        Raises:
            DatasetError: the file is no longer what it was when it was opened.
            OSError: it cannot be read, for example because a network drive is away.
        """
        item = self._rows_of[split][index]
        return self._numbers[item], self.at(item)

    def at(self, item: int) -> TweetRow:
        """Return the file's row number ``item``, counted from 0; raises as ``read`` does."""
        if file_state(self.path, _WHAT) != self._state:
            raise DatasetError(f"{self.path} has changed since it was opened; open it anew")
        offset = self._offsets[item]
        if self.is_csv:
            return tweet_row(row_of_cells(self._columns, read_record(self.path, offset)))
        with self.path.open("rb") as file:
            file.seek(offset)
            return tweet_row(json_object(file.readline(MAX_LINE_BYTES + 1)))

    def rows(self) -> Iterator[tuple[int, TweetRow]]:
        """Yield line number and content of every row, in the file's order (see ``len``).

        Raises:
            DatasetError: a row is bad; the message names its line.
        """
        for place in self._places():
            try:
                yield place.number, place.row()
            except DatasetError as error:
                raise DatasetError(f"{self.path}, line {place.number}: {error}") from None

    def _places(self) -> Iterator[_Place]:
        if not self.is_csv:
            for line in read_lines(self.path):
                yield _Place(line.number, line.offset, partial(json_object, line.text))
            return
        records = csv_records(self.path)
        header = next(records, None)
        if header is None:
            return
        try:
            self._columns = check_header(header.cells)
        except DatasetError as error:
            raise DatasetError(f"{self.path}, line {header.number}: {error}") from None
        for record in records:
            value = partial(row_of_cells, self._columns, record.cells)
            yield _Place(record.number, record.offset, value)

    def _index(self) -> None:
        digests = {split: array("Q") for split in SPLITS}
        for place, row in good_rows(self.path, self._places(), _Place.row):
            digests[row.split].append(int.from_bytes(row.digest(), "big"))
            if row.thread or not self.threads_only:
                self._rows_of[row.split].append(len(self._offsets))
            self._offsets.append(place.offset)
            self._numbers.append(place.number)
        if self.splits_apart:
            self._check_splits(digests)

    def _check_splits(self, digests: dict[str, array[int]]) -> None:
        train, test = (np.frombuffer(digests[split], np.uint64) for split in SPLITS)
        shared = np.intersect1d(train, test)
        if not shared.size:
            return
        wanted, lines = int(shared[0]), {}
        for number, row in self.rows():
            if int.from_bytes(row.digest(), "big") == wanted:
                lines.setdefault(row.split, number)
        raise DatasetError(
            f"{self.path}: lines {lines['train']} (train) and {lines['test']} (test) hold the same tweet; "
            "train and test must not meet, so give both the same split, or let scripts/split_data.py do it"
        )


def load_tweets(path: str | os.PathLike[str], *, threads_only: bool = False) -> TweetFile:
    """Return a file of tweets; environments in one process share the index while the file is unchanged.

    Raises:
        DatasetError: see ``TweetFile``.
    """
    try:
        found = find_file(path, _WHAT)
    except DatasetError as error:
        raise DatasetError(f"{error}{how_to_make(path)}") from None
    return _load(*found, bool(threads_only))


def how_to_make(path: object) -> str:
    """Return the command that makes a part of a split that is not there, empty for any other path."""
    if not isinstance(path, str | os.PathLike) or Path(path).name not in {f"{one}.jsonl" for one in PARTS}:
        return ""
    return f", or make it: python scripts/split_data.py --output {Path(path).parent}"


def check_apart(training: TweetFile, held_out: TweetFile) -> None:
    """Check that no tweet to train on is among those that are held out; texts are compared normalised.

    Raises:
        DatasetError: one is; its line is named.
    """
    apart = {row.digest(): number for number, row in held_out.rows() if row.split == "test"}
    for number, row in training.rows():
        if row.split == "train" and row.digest() in apart:
            raise DatasetError(
                f"{training.path}, line {number} is the tweet in line {apart[row.digest()]} of "
                f"{held_out.path}, which is held out; let scripts/split_data.py make both files"
            )


@lru_cache(maxsize=8)
def _load(path: Path, state: tuple[int, int], threads_only: bool) -> TweetFile:
    return TweetFile(path, threads_only=threads_only)
