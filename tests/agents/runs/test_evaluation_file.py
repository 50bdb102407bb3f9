"""Evaluations that go to a file and back."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from pixelis.agents.runs.evaluate import Evaluation
from pixelis.agents.runs.evaluation_file import read_evaluations, write_evaluations
from pixelis.errors import CheckpointError, OutputError

GOOD = Evaluation(
    "Toy-v0", "oracle", "scripted", 4, 1, 0.75, (0.3, 0.95), 0.5, 2.0, {"ZOOM": 1.0}, {"task": 0.75}
)


def test_there_and_back(tmp_path):
    path = tmp_path / "new" / "evaluation.json"
    write_evaluations(path, {"before": [GOOD], "after": []})
    assert read_evaluations(path) == {"before": [GOOD], "after": []}


def test_what_is_not_a_number_is_null(tmp_path):
    path = tmp_path / "evaluation.json"
    nothing = Evaluation("Toy-v0", "oracle", "scripted", 0, 3, math.nan, (0.0, 1.0), math.nan, math.nan)
    write_evaluations(path, {"rows": [nothing]}, settings={"seed": 3})
    saved = json.loads(path.read_text(), parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert saved["rows"][0]["success_rate"] is None and saved["settings"] == {"seed": 3}
    del saved["settings"]
    path.write_text(json.dumps(saved))
    assert math.isnan(read_evaluations(path)["rows"][0].mean_turns)


def test_no_file(tmp_path):
    assert read_evaluations(tmp_path / "evaluation.json") == {}


@pytest.mark.parametrize(
    "text", ["{", "[1]", '{"before": [{}]}', '{"before": [{"interval": [0, 1]}]}', '{"a": 1}']
)
def test_a_damaged_file(tmp_path, text):
    (tmp_path / "evaluation.json").write_text(text)
    with pytest.raises(CheckpointError, match="is damaged"):
        read_evaluations(tmp_path / "evaluation.json")


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OutputError, match="cannot write to"):
        write_evaluations(tmp_path / "file" / "evaluation.json", {"rows": [GOOD]})


def test_a_mean_of_odd_scores_is_null_wherever_it_stands(tmp_path):
    path = tmp_path / "evaluation.json"
    odd = replace(GOOD, tool_scores={"ZOOM": math.nan}, reward_terms={"task": math.inf, "good": 0.5})
    write_evaluations(path, {"rows": [odd]})
    saved = json.loads(path.read_text(), parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert saved["rows"][0]["tool_scores"] == {"ZOOM": None}
    assert saved["rows"][0]["reward_terms"] == {"task": None, "good": 0.5}
