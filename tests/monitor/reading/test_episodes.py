"""Files of episodes: in the order in which they were played, and whatever they hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pixelis.monitor.reading.episodes import Filter, choices, episode_files, read_episodes
from pixelis.monitor.reading.folders import Root

ROWS = [
    {"seed": 1, "success": True, "tool_calls": [{"tool": "A"}], "task": {"family": "f", "difficulty": 2}},
    {"seed": 1, "success": False, "tool_calls": [{"tool": "B", "error_code": "late"}, {"tool": None}]},
    {"seed": 2, "success": None, "advantage": [1.0, 3.0]},
]


@pytest.fixture
def root(tmp_path: Path) -> Root:
    folder = tmp_path / "trajectories"
    folder.mkdir()
    (folder / "step-00000010.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    for name in ("step-00000002.jsonl", "evaluation-after.jsonl", "evaluation-before.jsonl", ".x.unfinished"):
        (folder / name).write_text("")
    (folder / "evaluation-step-00000005.jsonl").write_text('{"seed": 3}\n[1]\n\n{"seed": 4}\n{"se')
    return Root(tmp_path)


def read(root: Root, name: str):
    file = next(each for each in episode_files(root, ()) if each.name == name)
    return read_episodes(root, (), file)


def test_files_in_the_order_in_which_they_were_played(root: Root):
    assert [file.name for file in episode_files(root, ())] == [
        "evaluation-before",
        "step-00000002",
        "evaluation-step-00000005",
        "step-00000010",
        "evaluation-after",
    ]
    assert episode_files(root, ("nothing",)) == []


@pytest.mark.parametrize(
    ("wanted", "lines"),
    [
        (Filter(), [1, 2, 3]),
        (Filter(success=True), [1]),
        (Filter(success=False), [2]),
        (Filter(success="unknown"), [3]),
        (Filter(tool="bad_call"), [2]),
        (Filter(error_code="late"), [2]),
        (Filter(level="f 2"), [1]),
        (Filter(seed=1), [1, 2]),
        (Filter(seed=1, tool="B", success=True), []),
    ],
)
def test_filters(root: Root, wanted: Filter, lines: list[int]):
    assert [each.line for each in read(root, "step-00000010").episodes if wanted.keeps(each)] == lines


def test_what_can_be_filtered_by(root: Root):
    found = choices(read(root, "step-00000010").episodes)
    assert found == {"tool": ["A", "B", "bad_call"], "error_code": ["late"], "level": ["f 2"]}


def test_damaged_lines_are_told_and_the_rest_is_there(root: Root):
    found = read(root, "evaluation-step-00000005")
    assert [each.row["seed"] for each in found.episodes] == [3, 4]
    assert [text.rpartition(": ")[2] for text in found.problems] == ["no JSON object", "half a line"]


def test_advantages_by_turn_are_averaged(root: Root):
    assert [each.advantage for each in read(root, "step-00000010").episodes] == [None, None, 2.0]


def test_a_file_that_is_gone_is_told(root: Root):
    file = episode_files(root, ())[0]
    (root.path / "trajectories" / f"{file.name}.jsonl").unlink()
    assert "cannot be read" in read_episodes(root, (), file).problems[0]
