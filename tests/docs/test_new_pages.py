"""The pages "Write an agent", "Add a tool" and "Add a reward term" are run: modules, tests, commands."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from doc_pages import Page, run

from pixelis.cli.train import COMMAND as TRAIN
from pixelis.rewards import build_stack


@pytest.mark.parametrize("name", ["guide/new_tool.md", "guide/new_reward.md"])
def test_what_is_printed_stands_below_and_the_tests_pass(name: str, tmp_path: Path):
    page = Page(name)
    page.write_modules(tmp_path, "page.py")
    assert run(tmp_path, ["python", "page.py"]) == page.blocks("text")[0]
    (tests,) = [words for words in page.commands() if words[:3] == ["python", "-m", "pytest"]]
    assert " passed" in run(tmp_path, [sys.executable, *tests[1:]])


@pytest.mark.slow
def test_an_agent_plays_and_a_trainer_trains(tmp_path: Path):
    page = Page("guide/new_agent.md")
    page.write_modules(tmp_path, "page.py")
    printed = run(tmp_path, ["python", "page.py"])
    assert re.search(r"^0\.\d+ \(", printed), printed  # success and its interval
    assert "step 1: reward" in printed and (tmp_path / "my-adapter" / "adapter_model.safetensors").is_file()
    assert re.search(r"^2 ", printed, re.MULTILINE)  # the second step, by the callback


def test_a_class_on_the_page_plays_too(tmp_path: Path, monkeypatch):
    from pixelis.agents import evaluate

    Page("guide/new_agent.md").write_modules(tmp_path, "page.py")
    monkeypatch.syspath_prepend(str(tmp_path))
    row = evaluate("patient:Patient", env="Pixelis/ZoomRead-v0", episodes=2)
    assert row.mean_turns == 5 and row.tool_calls == {"ZOOM": 4.0}
    sys.modules.pop("patient")


def test_the_reward_command_names_a_term_that_can_be_made(tmp_path: Path, monkeypatch):
    page = Page("guide/new_reward.md")
    page.write_modules(tmp_path, "page.py")
    monkeypatch.syspath_prepend(str(tmp_path))
    (words,) = [words for words in page.commands() if "PYTHONPATH=." in words]
    config, _ = TRAIN.read(words[3:])
    assert build_stack(config.rewards) is not None
    (flag, value) = re.findall(r"`--rewards\.(\S+) '(.*?)'`", page.text)[0]
    config, _ = TRAIN.read([f"--rewards.{flag}", value])
    assert build_stack(config.rewards) is not None
    for name in ("my_rewards", "firsts"):
        sys.modules.pop(name)
