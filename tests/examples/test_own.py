"""The short examples run as they are shown, with small budgets."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from letter_model import build_letter_model
from pyarrow.parquet import read_table
from warm_python import warm_python

ROOT = Path(__file__).parents[2]


def environment() -> dict[str, str]:
    path = f"{ROOT}{os.pathsep}{ROOT / 'examples'}"
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}


def run(folder: Path, *words: str) -> str:
    """Run Python afresh."""
    command = [sys.executable, "-W", "error", *words]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def warm_run(folder: Path, *words: str) -> str:
    """Run Python with the libraries imported."""
    code, out, err = warm_python().run(["-W", "error", *words], folder, environment(), typed="")
    assert code == 0, out + err
    return out


@pytest.mark.slow
def test_own_reward(tmp_path):
    model = str(build_letter_model(tmp_path / "model"))
    script = str(ROOT / "examples" / "own_reward.py")
    said = warm_run(tmp_path, script, "--model", model, "--steps", "2", "--groups", "2")
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
    report = run(tmp_path, "-m", "pixelis", "check-env", "own_environment:Heaviest-v0", "--seeds", "5")
    assert "20 of 20 clauses hold" in report


@pytest.mark.slow
def test_sb3_ppo(tmp_path):
    said = warm_run(tmp_path, str(ROOT / "examples" / "sb3_ppo.py"), "--timesteps", "128", "--episodes", "5")
    assert [line.partition(":")[0] for line in said.splitlines()] == ["before", "after"]


@pytest.mark.slow
def test_rows_for_skyrl_are_read_back_and_played(tmp_path):
    """Parquet knows no empty dict, and gives every row the keys of all: nothing is left of either."""
    words = ["--rows", "12", "--output", "rows", "--turn", "<answer>6 tokens</answer>"]
    said = run(tmp_path, str(ROOT / "examples" / "skyrl_rows.py"), *words)
    assert said.endswith("{'reward': 0.0, 'turns': 1, 'success': 0.0}\n")
    train, held_out = (
        read_table(tmp_path / "rows" / f"{name}.parquet").to_pylist() for name in ("train", "validation")
    )
    assert len(train) == 12 and len(held_out) == 1
    assert train[0]["env_kwargs"] == "{}" and held_out[0]["options"] == '{"split": "test"}'
    assert train[0]["prompt"] != held_out[0]["prompt"]
