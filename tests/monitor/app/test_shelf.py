"""What a page has read of files of episodes, and what it reads again."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

pytest.importorskip("nicegui")
from pixelis.agents.episode_files.reading import EpisodeFile, Read
from pixelis.monitor.app.shelf import Shelf
from pixelis.monitor.reading.episodes import Place
from pixelis.monitor.reading.runs import Runs


def write(tmp_path: Path, step: int) -> list[Place]:
    folder = tmp_path / "run" / "trajectories"
    folder.mkdir(parents=True, exist_ok=True)
    (tmp_path / "run" / "config.yaml").write_text("env: some\n")
    (folder / f"step-{step:08d}.jsonl").write_text(f'{{"seed": {step}, "reward": 1}}\n')
    runs = Runs([str(tmp_path)])
    runs.find()
    return [(runs.runs["run"], file) for file in runs.runs["run"].episode_files()]


def seeds(file: EpisodeFile, read: Read) -> list[int | None]:
    return [each.seed for each in read.episodes]


def test_only_what_is_new_is_news(tmp_path: Path):
    shelf, asked = Shelf(seeds), write(tmp_path, 1)
    assert not shelf.is_about("all")
    assert asyncio.run(shelf.read("all", asked)) and shelf.is_about("all")
    kept = shelf.kept
    assert not asyncio.run(shelf.read("all", asked))
    asked = write(tmp_path, 2)
    assert asyncio.run(shelf.read("all", asked))
    assert [each for _, each in shelf.kept.values()] == [[1], [2]]
    assert shelf.kept["run", "step-00000001"] is kept["run", "step-00000001"]  # it was not read again
    path = tmp_path / "run" / "trajectories" / "step-00000001.jsonl"
    path.write_text('{"seed": 7, "reward": 1}\n')  # as a resumed run takes the step again
    os.utime(path, ns=(0, os.stat(path).st_mtime_ns + 10))
    assert asyncio.run(shelf.read("all", asked))
    assert [each for _, each in shelf.kept.values()] == [[7], [2]]


def test_what_was_asked_for_last_counts(tmp_path: Path):
    shelf, asked = Shelf(seeds), write(tmp_path, 1)

    async def both() -> list[bool]:
        return list(await asyncio.gather(shelf.read("first", asked), shelf.read("last", asked[:0])))

    assert asyncio.run(both()) == [False, True]
    assert shelf.is_about("last") and shelf.kept == {}

    async def twice() -> list[bool]:
        return list(await asyncio.gather(*(shelf.read("all", asked) for _ in range(2))))

    assert asyncio.run(twice()) == [True, False]  # the second waits for nobody and reads nothing
    assert shelf.is_about("all")
