"""Runs are found, followed, and stay when their folder is gone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pixelis.errors import ConfigError
from pixelis.monitor.reading import runs as module
from pixelis.monitor.reading.runs import Runs


def write(folder: Path, first: int, last: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text("env: some\n")
    with (folder / "metrics.jsonl").open("a") as file:
        file.writelines(json.dumps({"step": step, "a": 1.0}) + "\n" for step in range(first, last + 1))


def test_runs_appear_grow_and_stay(tmp_path: Path):
    write(tmp_path / "one", 1, 3)
    runs = Runs([str(tmp_path)])
    runs.refresh()
    assert list(runs.runs) == ["one"]
    run = runs.runs["one"]
    before = run.revision
    runs.refresh()
    assert run.revision == before  # nothing new: a page sends nothing
    write(tmp_path / "one", 4, 5)
    write(tmp_path / "deep" / "er" / "two", 1, 1)
    runs.refresh()
    assert run.series.rows == 5 and run.revision > before
    assert list(runs.runs) == ["one", "deep/er/two"]
    shutil.rmtree(tmp_path / "one")
    runs.refresh()
    assert run.is_gone and run.series.rows == 5
    assert "is gone" in run.problems[0]


def test_a_long_run_is_shown_from_a_part_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "PREVIEW_BYTES", 1_000)
    monkeypatch.setattr(module, "PREVIEW_ROWS", 10)
    write(tmp_path / "one", 1, 60_000)
    runs = Runs([str(tmp_path)])
    runs.refresh(seconds=1e-9)
    run = runs.runs["one"]
    run.read()
    assert run.is_preview and run.series.rows <= 11 and run.series.last["step"] == 60_000
    assert 0 < run.share_read < 1
    while runs.refresh():
        pass
    assert not run.is_preview and run.series.rows == 60_000 and run.share_read == 1


def test_names_are_told_apart(tmp_path: Path):
    write(tmp_path / "a" / "x", 1, 1)
    write(tmp_path / "b" / "x", 1, 1)
    runs = Runs([str(tmp_path / "a" / "x"), str(tmp_path / "b")])
    runs.refresh()
    assert list(runs.runs) == ["x", "x (2)"]


def test_problems_are_told_and_the_rest_is_there(tmp_path: Path):
    write(tmp_path / "one", 1, 2)
    (tmp_path / "one" / "config.yaml").write_text("{damaged")
    with (tmp_path / "one" / "metrics.jsonl").open("a") as file:
        file.write("nonsense\n")
    runs = Runs([str(tmp_path)])
    runs.refresh()
    runs.refresh()
    run = runs.runs["one"]
    assert run.series.rows == 2
    assert [text.split(" ")[0] for text in run.problems] == ["its", "1"]


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path):
    with pytest.raises(ConfigError, match="no folder"):
        Runs([str(tmp_path / "nothing")])
