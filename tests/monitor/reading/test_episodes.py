"""Of files of episodes as many are read as fit, the newest first, and only what has changed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pixelis.agents.episode_files.reading import EpisodeFile, Read
from pixelis.monitor.reading import episodes as module
from pixelis.monitor.reading import runs
from pixelis.monitor.reading.episodes import Place, left_out_text, read_newest
from pixelis.monitor.reading.runs import Runs


def write(folder: Path, step: int, *seeds: int) -> Path:
    path = folder / f"step-{step:08d}.jsonl"
    path.write_text("".join(json.dumps({"seed": seed, "reward": 1.0}) + "\n" for seed in seeds))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three files of one episode each, all of one size."""
    place = tmp_path / "run" / "trajectories"
    place.mkdir(parents=True)
    (tmp_path / "run" / "config.yaml").write_text("env: some\n")
    for step in (1, 2, 3):
        write(place, step, step)
    return place


def places(folder: Path) -> list[Place]:
    found = Runs([str(folder.parent.parent)])
    found.find()
    run = found.runs["run"]
    return [(run, file) for file in run.episode_files()]


def seeds(file: EpisodeFile, read: Read) -> list[int | None]:
    return [each.seed for each in read.episodes]


def told(kept: dict) -> dict[str, list[int]]:
    return {name.removeprefix("step-0000000"): found for (_, name), (_, found) in kept.items()}


def test_files_are_read_in_their_order(folder: Path):
    assert told(read_newest(places(folder), {}, seeds)) == {"1": [1], "2": [2], "3": [3]}
    assert list(told(read_newest(places(folder), {}, seeds))) == ["1", "2", "3"]


def test_of_too_many_files_the_last_are_read(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MOST_READ", 2)
    assert told(read_newest(places(folder), {}, seeds)) == {"2": [2], "3": [3]}


def test_files_share_one_bound_of_bytes(folder: Path, monkeypatch: pytest.MonkeyPatch):
    size = (folder / "step-00000001.jsonl").stat().st_size
    for bytes_left, kept in ((3 * size, "123"), (3 * size - 1, "23"), (size, "3"), (size - 1, "3")):
        monkeypatch.setattr(runs, "MOST_EPISODE_BYTES", bytes_left)
        assert "".join(told(read_newest(places(folder), {}, seeds))) == kept
    assert told(read_newest(places(folder), {}, seeds)) == {"3": []}  # its only line does not fit


def test_what_has_not_changed_is_not_read_again(folder: Path):
    asked, read = places(folder), []

    def take(file: EpisodeFile, found: Read) -> list[int | None]:
        read.append(file.step)
        return seeds(file, found)

    first = read_newest(asked, {}, take)
    assert read == [3, 2, 1]
    written = os.stat(folder / "step-00000002.jsonl").st_mtime_ns
    os.utime(write(folder, 2, 9), ns=(0, written + 1))  # a resumed run takes the step again
    (folder / "step-00000003.jsonl").unlink()
    kept = read_newest(asked, first, take)
    assert read == [3, 2, 1, 3, 2] and told(kept) == {"1": [1], "2": [9], "3": []}


def test_what_is_left_out_is_told():
    assert left_out_text(0) == ""
    assert left_out_text(7) == "7 older files are not read, beyond 200 files or 64 MB at once"
