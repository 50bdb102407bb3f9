"""Which episodes of a file are wanted."""

from __future__ import annotations

from pathlib import Path

import pytest

from pixelis.agents.episode_files.choosing import EpisodeFilter, choices
from pixelis.agents.episode_files.stored import episode_of_row

ROWS = [
    {"seed": 1, "success": True, "tool_calls": [{"tool": "A"}], "task": {"family": "f", "difficulty": 2}},
    {"seed": 1, "success": False, "tool_calls": [{"tool": "B", "error_code": "late"}, {"tool": None}]},
    {"seed": 2, "success": None, "advantage": [1.0, None, 3.0]},
]
EPISODES = [episode_of_row(row, Path("step-00000010.jsonl"), line) for line, row in enumerate(ROWS, start=1)]


@pytest.mark.parametrize(
    ("wanted", "lines"),
    [
        (EpisodeFilter(), [1, 2, 3]),
        (EpisodeFilter(success=True), [1]),
        (EpisodeFilter(success=False), [2]),
        (EpisodeFilter(success="unknown"), [3]),
        (EpisodeFilter(tool="bad_call"), [2]),
        (EpisodeFilter(error_code="late"), [2]),
        (EpisodeFilter(level="f 2"), [1]),
        (EpisodeFilter(seed=1), [1, 2]),
        (EpisodeFilter(seed=1, tool="B", success=True), []),
    ],
)
def test_filters(wanted, lines):
    assert [each.line for each in EPISODES if wanted.keeps(each)] == lines


def test_what_there_is_to_filter_by():
    assert choices(EPISODES) == {"tool": ["A", "B", "bad_call"], "error_code": ["late"], "level": ["f 2"]}


def test_advantages_by_turn_keep_their_places_and_are_averaged():
    assert [each.mean_advantage for each in EPISODES] == [None, None, 2.0]
    assert [EPISODES[2].advantage_of(turn) for turn in range(5)] == [None, 1.0, None, 3.0, None]
