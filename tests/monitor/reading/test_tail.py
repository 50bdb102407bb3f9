"""Rows are read on from where reading stopped, whatever a writer does meanwhile."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pixelis.monitor.reading import tail as module
from pixelis.monitor.reading.folders import Root
from pixelis.monitor.reading.tail import Tail, sampled


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "metrics.jsonl"


def tail_of(path: Path) -> Tail:
    return Tail(Root(path.parent), (path.name,))


def steps(rows: list[dict] | None) -> list[int]:
    assert rows is not None
    return [row["step"] for row in rows]


def test_only_what_is_new_is_read_and_half_a_line_waits(path: Path):
    path.write_text('{"step": 1}\n{"step": 2}\n{"ste')
    tail = tail_of(path)
    assert steps(tail.read()) == [1, 2]
    assert tail.read() == []
    with path.open("a") as file:
        file.write('p": 3}\n{"step": 4}')
    assert steps(tail.read()) == [3]
    with path.open("a") as file:
        file.write("\n")
    assert steps(tail.read()) == [4]
    assert (tail.damaged, tail.is_behind) == (0, False)


def test_a_slice_at_a_time(path: Path):
    path.write_text("".join(f'{{"step": {step}}}\n' for step in range(1, 101)))
    tail, found = tail_of(path), []
    while rows := tail.read(64):
        found += steps(rows)
    assert found == list(range(1, 101))


@pytest.mark.parametrize("line", [b"[1]", b"{", b"null", b"\xff\xfe", b'{"a": 1} x', b"[" * 100_000])
def test_a_damaged_line_is_counted_and_the_rest_is_there(path: Path, line: bytes):
    path.write_bytes(b'{"step": 1}\n' + line + b'\n\n{"step": 2}\n')
    tail = tail_of(path)
    assert steps(tail.read()) == [1, 2]
    assert tail.damaged == 1


def test_numbers_that_json_does_not_have_are_read(path: Path):
    path.write_text('{"step": 1, "a": NaN, "b": -Infinity}\n')
    assert steps(tail_of(path).read()) == [1]


def test_a_line_that_is_too_long_is_left_out_in_bounded_memory(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "LONGEST_LINE", 1_000)
    path.write_text('{"step": 1}\n{"step": 2, "a": "' + "x" * 5_000 + '"}\n{"step": 3}\n')
    tail, found = tail_of(path), []
    while rows := [tail.read(300), *[tail.read(300) for _ in range(30)]]:
        found += [row["step"] for part in rows for row in part or []]
        if not tail.is_behind:
            break
        assert len(tail._half) <= 1_300
    assert found == [1, 3]
    assert tail.too_long == 1


def test_a_resumed_run_is_read_from_its_start(path: Path, tmp_path: Path):
    path.write_text('{"step": 1}\n{"step": 2}\n')
    tail = tail_of(path)
    tail.read()
    other = tmp_path / "unfinished"
    other.write_text('{"step": 1}\n{"step": 2}\n{"step": 3}\n')
    other.replace(path)
    assert tail.read() is None
    assert steps(tail.read()) == [1, 2, 3]
    path.write_text('{"step": 1}\n')  # cut in place
    assert tail.read() is None
    assert steps(tail.read()) == [1]
    assert tail.restarts == 2


def test_a_missing_file_is_told(path: Path):
    with pytest.raises(OSError):
        tail_of(path).read()


@pytest.mark.parametrize("count", [1, 7, 50, 400])
def test_samples_are_spread_and_in_order(path: Path, count: int):
    text = "".join(json.dumps({"step": step, "a": "x" * (step % 7)}) + "\n" for step in range(1, 301))
    path.write_text(text + '{"step": 301, "half')
    with path.open("rb") as file:
        found = [row["step"] for row in sampled(file, count)]
    assert found == sorted(set(found))
    assert found[0] == 1 and found[-1] == 300
    assert len(found) <= count + 1


def test_samples_of_an_empty_file(path: Path):
    path.write_text("")
    with path.open("rb") as file:
        assert sampled(file, 10) == []
