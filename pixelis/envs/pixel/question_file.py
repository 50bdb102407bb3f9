"""A JSONL file of questions about images, of any length: an index is kept in memory, never the rows."""

from __future__ import annotations

import os
from array import array
from functools import lru_cache
from pathlib import Path

import numpy as np

from pixelis.envs.pixel.photo import open_photo
from pixelis.envs.pixel.question_rows import QuestionRow, parse_row
from pixelis.envs.row_lines import MAX_LINE_BYTES, SHOWN_ERRORS, file_state, find_file, read_lines
from pixelis.envs.tasks import SPLITS
from pixelis.errors import DatasetError, PixelisError

_WHAT = "JSONL file of questions"


class QuestionFile:
    """The rows of a file by split, read one at a time when asked for; 16 bytes of memory a row.

    Args:
        path: the file. Relative image paths in it start from its folder.
        check_images: also open every image, which takes as long as reading them all.

    Raises:
        DatasetError: the file cannot be read, has no rows, bad rows (the first five are named by line),
            images that are no files, or one question in both splits.
    """

    def __init__(self, path: Path, *, check_images: bool = False) -> None:
        self.path, self._check_images = path, check_images
        self._state = file_state(path, _WHAT)
        self._offsets = {split: array("q") for split in SPLITS}
        self._numbers = {split: array("q") for split in SPLITS}
        self._index()

    def count(self, split: str) -> int:
        """Return how many rows a split has."""
        return len(self._offsets[split])

    def read(self, split: str, index: int) -> tuple[int, QuestionRow]:
        """Return the line number and the content of a split's row, straight from the file.

        Raises:
            DatasetError: the file is no longer what it was when it was opened.
            OSError: it cannot be read, for example because a network drive is away.
        """
        if file_state(self.path, _WHAT) != self._state:
            raise DatasetError(f"{self.path} has changed since it was opened; make the environment anew")
        with self.path.open("rb") as file:
            file.seek(self._offsets[split][index])
            return self._numbers[split][index], parse_row(file.readline(MAX_LINE_BYTES + 1))

    def resolve(self, image: str) -> Path:
        """Return where an image lies: relative paths start from the file's folder."""
        return self.path.parent / image

    def _index(self) -> None:
        digests = {split: array("Q") for split in SPLITS}
        problems: list[str] = []
        seen = ""  # rows on one image often follow each other
        for line in read_lines(self.path):
            try:
                row = parse_row(line.text)
                if row.image != seen:
                    self._check_image(row.image)
                    seen = row.image
            except PixelisError as error:
                problems.append(f"line {line.number}: {error}")
                if len(problems) == SHOWN_ERRORS:
                    break
                continue
            self._offsets[row.split].append(line.offset)
            self._numbers[row.split].append(line.number)
            digests[row.split].append(int.from_bytes(row.digest(), "big"))
        if problems:
            raise DatasetError("\n".join([f"{self.path} has bad rows:", *problems]))
        if not any(self._offsets.values()):
            raise DatasetError(f"{self.path} has no rows; write one JSON object a line")
        self._check_splits(digests)

    def _check_image(self, image: str) -> None:
        path = self.resolve(image)
        if not os.path.isfile(path):
            raise DatasetError(f"field 'image': there is no file {path}; correct the path")
        if self._check_images:
            open_photo(path)

    def _check_splits(self, digests: dict[str, array[int]]) -> None:
        train, test = (np.frombuffer(digests[split], np.uint64) for split in SPLITS)
        shared = np.isin(train, test)
        if shared.any():
            at = int(np.argmax(shared))
            first = self._numbers["train"][at]
            second = self._numbers["test"][int(np.argmax(test == train[at]))]
            raise DatasetError(
                f"{self.path}: lines {first} (train) and {second} (test) ask the same question; "
                "train and test must not meet, so give both the same split"
            )


def load_questions(path: str | os.PathLike[str], *, check_images: bool = False) -> QuestionFile:
    """Return a file of questions; environments in one process share the index while the file is unchanged.

    Raises:
        DatasetError: see ``QuestionFile``.
    """
    return _load(*find_file(path, _WHAT), bool(check_images))


@lru_cache(maxsize=4)
def _load(path: Path, state: tuple[int, int], check_images: bool) -> QuestionFile:
    return QuestionFile(path, check_images=check_images)
