"""The page on rewards is run from top to bottom: its Python with what it prints, its YAML, its commands."""

from __future__ import annotations

import importlib
import json
import re
import sys

import pytest
import yaml
from doc_pages import ROOT, Page, run

from pixelis import wrappers
from pixelis.rewards.stack.reward_config import default_weight
from pixelis.rewards.stack.stack import build_stack
from pixelis.wrappers.recording.trajectory import FORMAT, VERSION
from pixelis.wrappers.scoring.scoring import PARTS_KEY, TASK_KEY, TERMS_KEY

PAGE = Page("guide/rewards.md")
METRICS = ["success/rate"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = PAGE.write_modules(tmp_path_factory.mktemp("rewards"), "guide.py")
    for name, text in zip(("rewards", "stages", "recorded"), PAGE.blocks("yaml"), strict=True):
        (folder / f"{name}.yaml").write_text(text)
    return folder


@pytest.mark.slow
def test_the_page_from_top_to_bottom(folder):
    said = run(folder, [sys.executable, "-W", "error", "guide.py"])
    lines = said.splitlines()
    for block in PAGE.blocks("text"):  # in order; between them only the episode of the YAML says something
        expected = block.splitlines()
        start = next(at for at in range(len(lines)) if lines[at : at + len(expected)] == expected)
        lines = lines[start + len(expected) :]
    (first, second) = PAGE.commands()
    proof = run(folder, [sys.executable, str(ROOT / first[1]), *first[2:]])
    assert proof == "2 episodes, 4 steps: the same observations, rewards, ends and tool calls\n"
    run(folder, [sys.executable, str(ROOT / second[1]), *second[2:]])
    (row,) = json.loads((folder / "rescored.json").read_text())["episodes"]
    assert row["terms"]["task"] == 1.0 and row["new_return"] == pytest.approx(1.04)


def test_the_yaml_is_accepted():
    first, stages, other = (yaml.safe_load(text) for text in PAGE.blocks("yaml"))
    assert first.pop("record") == {"folder": "shaped"}
    assert build_stack(first).weights == {"task": 1.0, "curiosity": 0.1, "coherence": 0.2, "penalty": 1.0}
    assert [stage.name for stage in build_stack(stages, METRICS).curriculum.stages] == ["goal", "full"]
    assert set(build_stack(other).terms) == {"coherence", "penalty"}


def test_the_table_of_terms_is_right():
    pattern = r"^\| `([\w:]+)` \| `(\w+)` \|.*\| ([\d.]+) \| ([\d.]+) \|$"
    rows = re.findall(pattern, PAGE.text, re.MULTILINE)
    assert [row[0] for row in rows] == [
        "curiosity",
        "coherence",
        "penalty",
        "potential",
        "progress",
        "module:Class",
    ]
    for name, wrapper, orchestrated, alone in rows:
        assert wrapper in wrappers.__all__ and getattr(wrappers, wrapper)
        assert (float(orchestrated), float(alone)) == (
            default_weight(name, True),
            default_weight(name, False),
        )


def test_names_of_the_page_exist():
    for key in (TASK_KEY, TERMS_KEY, PARTS_KEY):
        assert f"\n| `{key}` |" in PAGE.text
    assert f"| `{FORMAT}`, {VERSION}, and" in PAGE.text
    for path in re.findall(r"`(tests/[\w/]+\.py)`", PAGE.text):
        assert (ROOT / path).is_file()
    for module in re.findall(r"`(pixelis(?:\.[a-z_]+)+)`", PAGE.text):
        parent, _, name = module.rpartition(".")
        assert hasattr(importlib.import_module(parent), name) or importlib.import_module(module)


def test_the_term_is_short():
    (code,) = [block for block in PAGE.blocks("python") if block.startswith("# brevity.py")]
    assert len([line for line in code.splitlines() if line]) <= 13
