"""The short examples run as they are shown, with small budgets."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from letter_model import build_letter_model

ROOT = Path(__file__).parents[2]


def run(folder: Path, *words: str) -> str:
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'examples'}",
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-W", "error", *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_own_reward(tmp_path):
    model = str(build_letter_model(tmp_path / "model"))
    said = run(
        tmp_path, str(ROOT / "examples" / "own_reward.py"), "--model", model, "--steps", "2", "--groups", "2"
    )
    assert re.findall(r"^(step 1|step 2|before|after): ", said, re.MULTILINE) == [
        "step 1",
        "step 2",
        "before",
        "after",
    ]
    assert (tmp_path / "runs" / "rows-model-seed0" / "rows.jsonl").is_file()


@pytest.mark.slow
def test_own_environment(tmp_path):
    said = run(tmp_path, str(ROOT / "examples" / "own_environment.py"), "--train", "1")
    assert "reward 1\noracle: success 1.00" in said and "trained 1 steps" in said


@pytest.mark.slow
def test_own_environment_holds_to_the_contract(tmp_path):
    report = run(tmp_path, "-m", "pixelis.envs.check", "own_environment:Heaviest-v0", "--seeds", "5")
    assert "18 of 18 clauses hold" in report


@pytest.mark.slow
def test_sb3_ppo(tmp_path):
    said = run(tmp_path, str(ROOT / "examples" / "sb3_ppo.py"), "--timesteps", "128", "--episodes", "5")
    assert [line.partition(":")[0] for line in said.splitlines()] == ["before", "after"]
