"""The page on agents without language: its example runs, its commands are accepted."""

from __future__ import annotations

import sys

import pytest
from doc_pages import ROOT, Page, run

from pixelis.agents.sb3.config import Sb3Config
from pixelis.cli.train import COMMAND as TRAIN

PAGE = Page("guide/sb3.md")


@pytest.mark.slow
def test_the_example_runs(tmp_path):
    PAGE.write_modules(tmp_path, "example.py")
    printed = run(tmp_path, [sys.executable, "example.py"])
    assert '"SEGMENT"' in printed and printed.count("'") == 4  # two candidates


def test_the_commands_are_accepted(monkeypatch):
    monkeypatch.chdir(ROOT)
    for _, script, *words in PAGE.commands():
        assert script == "scripts/train_agent.py"
        assert isinstance(TRAIN.read(words)[0], Sb3Config)
