"""Lines that a stranger wrote: whatever stands where, it is shown or left out, and nothing else fails."""

from __future__ import annotations

import json
import math

import pytest
from rich.console import Console

from pixelis.agents.analysis.analysis import analyse
from pixelis.agents.analysis.report import report_page
from pixelis.agents.analysis.subjects import PHASES, read_subjects
from pixelis.agents.analysis.tables import comparison_rows, episode_rows, subject_rows
from pixelis.agents.episode_files.reading import find_files, read_file
from pixelis.agents.viewing.page import diff_page, episodes_page
from pixelis.agents.viewing.pictures import Stage
from pixelis.agents.viewing.sheet import sheet_of
from pixelis.agents.viewing.terminal import shown_episode
from pixelis.agents.viewing.visible import csv_of

ODD = [
    None,
    True,
    -1,
    10**30,
    math.nan,
    -math.inf,
    "",
    "<b>\x1b[31m\u202e",
    "\ud800",
    [],
    [1],
    {},
    {"a": [{}]},
]
FIELDS = [
    "seed",
    "group",
    "member",
    "text",
    "reward",
    "reward_terms",
    "reward_parts",
    "success",
    "turns",
    "truncated",
    "tool_calls",
    "task",
    "failure_reason",
    "visual_tools",
    "env_id",
    "options",
    "asked",
    "exchanges",
    "advantage",
    "agent",
    "mode",
    "results",
    "failure",
]
TASK = ("family", "difficulty", "hash", "id")
CALL = {"tool": "LOOK", "ok": False, "arguments": {"a": 1}, "error_code": "no", "text": "t"}
TURN = {"action": "a", "heard": "b", "calls": 1, "reward": 0.0, "logprob": -1.0, "tokens": 3}
ROW = {
    "seed": 1,
    "text": "t",
    "reward": 0.5,
    "success": False,
    "turns": 1,
    "tool_calls": [CALL],
    "task": {"family": "f", "difficulty": 1, "hash": "h"},
    "exchanges": [TURN],
    "options": {"size": 3},
    "reward_parts": {"p": {"raw": 1.0, "weighted": 0.5}},
}


def rows():
    yield ROW
    yield {**ROW, "success": True, "seed": 2}
    for odd in ODD:
        yield from ({**ROW, name: odd} for name in FIELDS)
        yield from ({**ROW, "tool_calls": [{**CALL, name: odd}]} for name in CALL)
        yield from ({**ROW, "exchanges": [{**TURN, name: odd}]} for name in TURN)
        yield from (
            {**ROW, "task": {**ROW["task"], name: odd}} for name in ("family", "difficulty", "hash", "id")
        )
        yield {**ROW, "options": {"size": odd}}
        yield {**ROW, "reward_parts": {"p": {"weighted": odd}}, "reward_terms": {"t": odd}}


@pytest.mark.parametrize("phase", ["after", "training"])
def test_odd_values_everywhere(tmp_path, phase):
    folder = tmp_path / "trajectories"
    folder.mkdir()
    (tmp_path / "config.yaml").write_text("env: Pixelis/NoSuch-v0\ndifficulty: []\nenv_kwargs: 3\n")
    for name in ("evaluation-before", "evaluation-after" if phase == "after" else "step-00000001"):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows()))
    read = read_file(find_files(tmp_path)[-1])
    assert len(read.episodes) == len(list(rows()))
    with Stage("Pixelis/NoSuch-v0") as stage:
        sheets = [sheet_of(each, stage.pictures(each), each.where) for each in read.episodes]
    pages = [episodes_page(sheets, "odd"), diff_page(sheets[0], sheets[-1], "odd")]
    console = Console(quiet=True)
    for episode in read.episodes:
        console.print(shown_episode(episode, episode.where))
    material = read_subjects([str(tmp_path)], PHASES, 0)
    found = analyse(material)
    pages.append(report_page(found, "odd", picture=None, stages={}, examples=3))
    for page in pages:
        assert "<b>\x1b" not in page and "\u202e" not in page and "\ud800" not in page
    json.dumps(found.to_json(), allow_nan=False)
    for table in (subject_rows, episode_rows, comparison_rows):
        csv_of(table(found)).encode()
    assert any("NoSuch" in problem for problem in found.problems)
