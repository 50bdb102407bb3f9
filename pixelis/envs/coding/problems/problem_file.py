"""A JSONL file of coding problems, of any length: an index is kept in memory, never the rows."""

from __future__ import annotations

import hashlib
import os
from array import array
from collections import Counter
from functools import lru_cache
from pathlib import Path

import numpy as np

from pixelis.envs.coding.problems.problem_rows import ProblemRow, parse_row
from pixelis.envs.row_lines import MAX_LINE_BYTES, SHOWN_ERRORS, file_state, find_file, read_lines
from pixelis.envs.tasks import SPLITS, check_split
from pixelis.errors import DatasetError, PixelisError

_WHAT = "JSONL file of coding problems"


class ProblemFile:
    """The rows of a file by split, read one at a time when asked for; 16 bytes of memory a row.

    Args:
        path: the file; rows of HumanEval's, MBPP's and the user's own shape may be mixed.

    Attributes:
        translated: rows whose tests are test cases.
        needs_script: rows whose tests are a script only, by the reason for which they were not read.

    Raises:
        DatasetError: the file cannot be read, has no rows, bad rows (the first five are named by line), or
            one statement in both splits.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._state = file_state(path, _WHAT)
        self._offsets = {split: array("q") for split in SPLITS}
        self._numbers = {split: array("q") for split in SPLITS}
        self.translated = 0
        self.needs_script: Counter[str] = Counter()
        self._index()

    def count(self, split: str) -> int:
        """Return how many rows a split has."""
        return len(self._offsets[check_split(split)])

    def read(self, split: str, index: int) -> tuple[int, ProblemRow]:
        """Return the line number and the content of a split's row, straight from the file.

        Raises:
            DatasetError: the file is no longer what it was when it was opened.
            OSError: it cannot be read.
        """
        if file_state(self.path, _WHAT) != self._state:
            raise DatasetError(f"{self.path} has changed since it was opened; open it anew")
        with self.path.open("rb") as file:
            file.seek(self._offsets[split][index])
            return self._numbers[split][index], parse_row(file.readline(MAX_LINE_BYTES + 1))

    def _index(self) -> None:
        digests = {split: array("Q") for split in SPLITS}
        problems: list[str] = []
        for line in read_lines(self.path):
            try:
                row = parse_row(line.text)
            except PixelisError as error:
                problems.append(f"line {line.number}: {error}")
                if len(problems) == SHOWN_ERRORS:
                    break
                continue
            split = row.problem.split
            self._offsets[split].append(line.offset)
            self._numbers[split].append(line.number)
            digests[split].append(_digest(row))
            self.translated += not row.problem.needs_script
            if row.problem.needs_script:
                self.needs_script[row.untranslated.rpartition(": ")[2]] += 1
        if problems:
            raise DatasetError("\n".join([f"{self.path} has bad rows:", *problems]))
        if not any(self._offsets.values()):
            raise DatasetError(f"{self.path} has no rows; write one JSON object a line")
        self._check_splits(digests)

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


def load_problems(path: str | os.PathLike[str]) -> ProblemFile:
    """Return a file of problems; callers in one process share the index while the file is unchanged.

    Raises:
        DatasetError: see `ProblemFile`.
    """
    return _load(*find_file(path, _WHAT))


@lru_cache(maxsize=4)
def _load(path: Path, state: tuple[int, int]) -> ProblemFile:
    return ProblemFile(path)


def _digest(row: ProblemRow) -> int:
    text = f"{row.problem.statement}\0{row.problem.prefix}"
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")
