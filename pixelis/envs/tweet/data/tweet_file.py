"""A JSONL or CSV file of tweets, of any length: an index is kept in memory, never the rows."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from typing_extensions import Self

from pixelis.envs.data.file import RowFile, RowKey, RowPlace
from pixelis.envs.tweet.data.csv_records import check_header, csv_records, read_record, row_of_cells
from pixelis.envs.tweet.data.tweet_rows import TweetRow, tweet_row
from pixelis.errors import DatasetError

PARTS = ("sft", "grpo", "held_out")
"""What `scripts/split_data.py` deals a file's rows into; the part's file is named for it."""


class TweetFile(RowFile[TweetRow]):
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

    what = "JSONL or CSV file of tweets"
    same = ("hold the same tweet", ", or let scripts/split_data.py do it")
    parse = staticmethod(tweet_row)

    def __init__(self, path: Path, *, threads_only: bool = False, splits_apart: bool = True) -> None:
        self.threads_only, self.splits_apart = threads_only, splits_apart
        self._columns: tuple[str, ...] = ()
        self._all = array("q")  # offsets of all rows, in the file's order
        super().__init__(path)

    @classmethod
    def open(cls, path: str | os.PathLike[str], **options: Any) -> Self:
        """Return a file, see `RowFile.open`; of a part of a split that is not there, also how to make it."""
        try:
            return super().open(path, **options)
        except DatasetError as error:
            if (hint := how_to_make(path)) and not Path(path).exists():
                raise DatasetError(f"{error}{hint}") from None
            raise

    def __len__(self) -> int:
        """Return how many rows the file has, those of ``threads_only`` and not."""
        return len(self._all)

    @property
    def is_csv(self) -> bool:
        """Whether the file is read as CSV."""
        return self.path.suffix.casefold() == ".csv"

    def enter(self, row: TweetRow, place: RowPlace) -> RowKey:
        """Note where the row is; rows of the same normalised text ask the same."""
        self._all.append(place.offset)
        return RowKey(row.split, int.from_bytes(row.digest(), "big"))

    def kept(self, row: TweetRow) -> bool:
        """Return whether the author writes back, if that is asked for."""
        return bool(row.thread) or not self.threads_only

    def at(self, item: int) -> TweetRow:
        """Return the file's row number ``item``, counted from 0; raises as ``read`` does."""
        return self.row_at(self._all[item])

    def value_at(self, offset: int) -> Mapping[str, Any]:
        """Return the JSON object of the row that begins at an offset."""
        if self.is_csv:
            return row_of_cells(self._columns, read_record(self.path, offset))
        return super().value_at(offset)

    def rows(self) -> Iterator[tuple[int, TweetRow]]:
        """Yield line number and content of every row, in the file's order (see ``len``).

        Raises:
            DatasetError: a row is bad; the message names its line.
        """
        for place in self.places():
            try:
                yield place.number, tweet_row(place.value())
            except DatasetError as error:
                raise DatasetError(f"{self.path}, line {place.number}: {error}") from None

    def places(self) -> Iterator[RowPlace]:
        """Yield where the rows are, in the file's order."""
        if not self.is_csv:
            yield from super().places()
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
            yield RowPlace(record.number, record.offset, partial(row_of_cells, self._columns, record.cells))


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
