"""The index of a file of rows, with the smallest kind of row there is: a split and a text."""

from __future__ import annotations

import re

import pytest

from pixelis.envs.data.file import RowFile, RowKey
from pixelis.errors import DatasetError


class Words(RowFile[tuple[str, str]]):
    what = "file of words"

    @staticmethod
    def parse(value):
        ((split, text),) = value.items()
        if split not in ("train", "test"):
            raise DatasetError(f"expected a split, got {split!r}")
        return split, text

    def enter(self, row, place):
        if row[1] == "never":
            raise DatasetError("this word is refused")
        return RowKey(row[0], sum(row[1].encode()))


def opened(tmp_path, text):
    path = tmp_path / "words"
    path.write_bytes(re.sub(rb"(\w+) (\w+)", rb'{"\1": "\2"}', text))
    return Words(path)


def test_rows_are_read_by_split_with_their_lines(tmp_path):
    file = opened(tmp_path, b"train a\n\ntest b\r\ntrain c\ntrain a")
    assert (file.count("train"), file.count("test")) == (3, 1)
    assert [file.read("train", at) for at in range(3)] == [
        (1, ("train", "a")),
        (4, ("train", "c")),
        (5, ("train", "a")),
    ]
    assert file.read("test", 0) == (3, ("test", "b"))


def test_the_first_five_bad_rows_are_named(tmp_path):
    with pytest.raises(DatasetError) as error:
        opened(tmp_path, b"train a\ndev b\ntrain never\n[1]\n" + b"x\n" * 9)
    lines = str(error.value).split("\n")
    assert lines[1:3] == ["line 2: expected a split, got 'dev'", "line 3: this word is refused"]
    assert lines[3] == "line 4: expected one JSON object, got list; write one object a line"
    assert len(lines) == 6


def test_what_is_in_both_splits_is_named_with_both_lines(tmp_path):
    with pytest.raises(DatasetError, match=r"lines 2 \(train\) and 3 \(test\) ask the same"):
        opened(tmp_path, b"train b\ntrain a\ntest a\n")


def test_files_without_rows_and_files_that_change(tmp_path):
    with pytest.raises(DatasetError, match="has no rows"):
        opened(tmp_path, b"\n\n")
    with pytest.raises(DatasetError, match="expected a file of words"):
        Words(tmp_path / "none")
    file = opened(tmp_path, b"train a\n")
    (tmp_path / "words").write_bytes(b"train a\ntest b\n")
    with pytest.raises(DatasetError, match="has changed since"):
        file.read("train", 0)
