"""What is given away is JSON that every reader takes, and holds what an episode shows."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from pixelis.agents.episode_files.stored import episode_of_row
from pixelis.monitor.panels.exports import exchanges_of, json_of


def test_numbers_that_json_has_not_are_null():
    rows = [{"a": math.nan, "b": [1.5, math.inf, {"c": -math.inf}], "d": (2, "NaN"), "e": None}]
    text = json_of(rows)
    assert json.loads(text, parse_constant=pytest.fail) == [  # what Python reads beyond JSON
        {"a": None, "b": [1.5, None, {"c": None}], "d": [2, "NaN"], "e": None}
    ]


def test_lists_without_end_are_cut():
    deep: list = []
    for _ in range(900):
        deep = [deep]
    assert "\\u2026" in json_of([{"deep": deep}])


def test_the_turns_of_an_episode_are_all_that_the_page_shows():
    call = {"tool": "ZOOM", "ok": True, "data": {"view": [0, 0, 1, 1]}}
    turn = {"action": "zoom", "heard": "seen", "calls": 1, "reward": 0.25, "terms": {"task": 0.5}}
    row = {
        "exchanges": [turn | {"sampled": [["zo", 0.0, 0.5], ["om", math.log(0.25)], ["!", None]]}],
        "tool_calls": [call],
    }
    (found,) = exchanges_of(episode_of_row(row, Path("step-00000001.jsonl"), 1)) or []
    tokens = found.pop("sampled")
    assert found == {
        "action": "zoom",
        "heard": "seen",
        "tool_calls": [call],
        "reward": 0.25,
        "terms": {"task": 0.5},
    }
    assert [token["token"] for token in tokens] == ["zo", "om", "!"]
    assert [token["probability"] for token in tokens] == [1.0, pytest.approx(0.25), None]
    assert [token["entropy"] for token in tokens] == [0.5, None, None]
    assert exchanges_of(episode_of_row({"text": "old"}, Path("x.jsonl"), 1)) is None
