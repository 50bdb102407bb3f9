"""The page "Write an environment" is run: its Python, its commands, its plugin entry."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "new_env.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stock")
    parts: dict[str, list[str]] = {}
    for block in blocks("python"):
        name = re.match(r"# (\w+\.py)\n", block)
        parts.setdefault(name.group(1) if name else "stock_room.py", []).append(block)
    for name, texts in parts.items():
        (folder / name).write_text("\n\n".join(texts), encoding="utf-8")
    return folder


def run(folder: Path, words: list[str]) -> str:
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def commands() -> list[list[str]]:
    return [shlex.split(line) for block in blocks("bash") for line in block.splitlines()]


def test_there_are_eight_steps_and_two_files(folder):
    assert re.findall(r"^## (\d)\.", PAGE, re.MULTILINE) == list("12345678")
    assert {path.name for path in folder.iterdir()} == {"stock_room.py", "test_stock_room.py"}


@pytest.mark.slow
def test_the_contract_check_passes(folder):
    command = commands()[0]
    assert command[:3] == ["python", "-m", "pixelis.envs.check"]
    table = run(folder, [sys.executable, "-W", "error", *command[1:], "--seeds", "10"])
    assert "16 of 16 clauses hold" in table


@pytest.mark.slow
def test_the_tests_of_the_page_pass(folder):
    command = commands()[1]
    assert command[:3] == ["python", "-m", "pytest"]
    said = run(folder, [sys.executable, *command[1:], "-p", "no:cacheprovider", "-q"])
    assert "16 passed" in said


def test_the_plugin_entry_registers_the_environment(folder):
    name, module, function = re.findall(r'^(\w+) = "(\w+):(\w+)"$', blocks("toml")[0], re.MULTILINE)[0]
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: stock-room\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[pixelis.plugins]\n{name} = {module}:{function}\n")
    code = "import gymnasium as gym, pixelis; print(gym.make('StockRoom-v0').reset(seed=0)[0]['text'])"
    assert run(folder, [sys.executable, "-W", "error", "-c", code]).startswith("How many ")
