"""The page "Write an environment" is run: its Python, its commands, its plugin entry."""

from __future__ import annotations

import re
import sys

import pytest
from doc_pages import Page, run

PAGE = Page("guide/new_env.md")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return PAGE.write_modules(tmp_path_factory.mktemp("stock"), "stock_room.py")


def test_there_are_eight_steps_and_two_files(folder):
    assert re.findall(r"^## (\d)\.", PAGE.text, re.MULTILINE) == list("12345678")
    assert {path.name for path in folder.iterdir()} == {"stock_room.py", "test_stock_room.py"}


@pytest.mark.slow
def test_the_contract_check_passes(folder):
    command = PAGE.commands()[0]
    assert command[:4] == ["python", "-m", "pixelis", "check-env"]
    table = run(folder, [sys.executable, "-W", "error", *command[1:], "--seeds", "10"])
    assert "20 of 20 clauses hold" in table


@pytest.mark.slow
def test_the_tests_of_the_page_pass(folder):
    command = PAGE.commands()[1]
    assert command[:3] == ["python", "-m", "pytest"]
    said = run(folder, [sys.executable, *command[1:], "-p", "no:cacheprovider", "-q"])
    assert "20 passed" in said


def test_the_plugin_entry_registers_the_environment(folder):
    name, module, function = re.findall(r'^(\w+) = "(\w+):(\w+)"$', PAGE.blocks("toml")[0], re.MULTILINE)[0]
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: stock-room\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[pixelis.plugins]\n{name} = {module}:{function}\n")
    code = "import gymnasium as gym, pixelis; print(gym.make('StockRoom-v0').reset(seed=0)[0]['text'])"
    assert run(folder, [sys.executable, "-W", "error", "-c", code]).startswith("How many ")
