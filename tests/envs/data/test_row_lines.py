from __future__ import annotations

import pytest

from pixelis.envs.data.lines import (
    MAX_LINE_BYTES,
    FileLine,
    file_state,
    find_file,
    good_rows,
    json_object,
    read_lines,
)
from pixelis.errors import DatasetError


def test_a_file_is_found_with_its_size(tmp_path, monkeypatch):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"12345")
    monkeypatch.chdir(tmp_path)
    found, state = find_file("rows.jsonl", "file of rows")
    assert found == path.resolve() and state[0] == 5 and state == file_state(path, "file of rows")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("none.jsonl", r"expected a file of rows at .*none.jsonl, got nothing; correct the path"),
        ("rows.jsonl/more", r"got nothing; correct the path"),
        (".", r"expected a file of rows, got .* which is none; name the file"),
        (3, "data must be the path of a file of rows, got 3 "),
        (None, "data must be the path of a file of rows, got None"),
        ("a\0b", "data must be the path of a file of rows, got 'a"),
        ("a" * 5000, "data must be the path of a file of rows, got 'aaa"),
    ],
)
def test_what_is_no_file_is_said(tmp_path, monkeypatch, name, words):
    (tmp_path / "rows.jsonl").write_text("{}")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DatasetError, match=words):
        find_file(name, "file of rows")


def test_lines_are_numbered_and_blank_ones_left_out(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"a\n\n \r\nbc\nd")
    assert list(read_lines(path)) == [FileLine(1, 0, b"a\n"), FileLine(4, 6, b"bc\n"), FileLine(5, 9, b"d")]


def test_the_longest_line_is_read_and_a_longer_one_refused(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"x\n" + b"y" * (MAX_LINE_BYTES - 1) + b"\n")
    assert [len(line.text) for line in read_lines(path)] == [2, MAX_LINE_BYTES]
    path.write_bytes(b"x\n" + b"y" * (MAX_LINE_BYTES + 1))
    with pytest.raises(DatasetError, match=r"line 2: expected at most 1,048,576 bytes a row"):
        list(read_lines(path))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"{", "expected one JSON object, got text that is none"),
        (b'{"a": 1} {"b": 2}', "expected one JSON object"),
        (b"[1]", "expected one JSON object, got list; write one object a line"),
        (b"null", "got NoneType"),
        (b"9" * 5_000, "expected one JSON object"),
        (b'{"a": NaN}', "NaN is no JSON number"),
        (b'{"a": [1e400]}', "1e400 is more than a float holds"),
        (b'{"a": -1e999}', "-1e999 is more than a float holds"),
        (b'{"a": -Infinity}', "-Infinity is no JSON number"),
        ('{"a": "é"}'.encode("latin-1"), "expected UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_json_object_is_said(line, words):
    with pytest.raises(DatasetError, match=words):
        json_object(line)


def test_a_byte_order_mark_is_no_mistake():
    assert json_object(b"\xef\xbb\xbf" + b'{"a": 1}\n') == {"a": 1}


def test_bad_rows_are_told_in_the_end_and_the_rest_left_unread(tmp_path):
    lines = [FileLine(number, 0, text) for number, text in enumerate([b"1", b"x", b"3", *[b"y"] * 9], 1)]
    read, found = [], []

    def parse(line):
        read.append(line.number)
        if not line.text.isdigit():
            raise DatasetError(f"{line.text!r} is no number")
        return int(line.text)

    with pytest.raises(DatasetError) as caught:
        found.extend(good_rows(tmp_path, lines, parse))
    assert found == [(lines[0], 1), (lines[2], 3)] and read == list(range(1, 8))
    told = str(caught.value).splitlines()
    assert (
        told[0] == f"{tmp_path} has bad rows:" and told[1] == "line 2: b'x' is no number" and len(told) == 6
    )
    with pytest.raises(DatasetError, match="has no rows; write one a line"):
        list(good_rows(tmp_path, [], parse))
