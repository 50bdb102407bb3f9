from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import pytest

from pixelis.envs.check import CLAUSES, CheckReport, check_env, main
from pixelis.envs.contract import Finding
from pixelis.errors import UnknownEnvError

ROOT = Path(__file__).parents[2]
ZOOM_READ = "Pixelis/ZoomRead-v0"


def test_a_report_is_a_table():
    report = CheckReport("Env-v0", (Finding("one", True, "3 of 3"), Finding("second", False, "1", "mend it")))
    assert not report.ok
    assert [finding.clause for finding in report.failures] == ["second"]
    assert str(report).splitlines() == [
        "Env-v0: 1 of 2 clauses hold",
        "  ok    one     3 of 3",
        "  FAIL  second  1",
        "                → mend it",
    ]


def test_an_environment_of_another_kind_fails_with_the_reason():
    report = check_env("CartPole-v1", seeds=1, processes=False)
    assert len(report.failures) == len(CLAUSES) - 1  # only the comparison with processes was left out
    assert "subclasses of ToolEnv, got CartPoleEnv" in report.failures[0].measured


def test_unknown_ids():
    with pytest.raises(UnknownEnvError, match="Did you mean"):
        check_env("Pixelis/ZoomReed-v0")


def test_the_command_says_unknown_ids_in_one_line(capsys):
    assert main(["Pixelis/ZoomReed-v0"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "Did you mean 'Pixelis/ZoomRead-v0'" in said.err


def test_the_command_exits_with_1_on_failure(capsys):
    assert main(["CartPole-v1", "--seeds", "1", "--no-processes"]) == 1
    assert "FAIL  the_end" in capsys.readouterr().out


@pytest.mark.slow
def test_zoom_read_keeps_the_contract(capsys):
    """In one process; with the reader of pixels."""
    assert main([ZOOM_READ, "--seeds", "3", "--no-processes"]) == 0
    assert "17 of 17 clauses hold" in capsys.readouterr().out


@pytest.mark.slow
def test_zoom_read_keeps_the_contract_as_a_command_with_processes():
    words = [sys.executable, "-W", "error", "-m", "pixelis.envs.check", ZOOM_READ]
    words += ["--seeds", "2", "--make", "reader=truth", "--make", "max_turns=6"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "processes_equal_sync" in done.stdout


def test_bad_constructor_arguments_are_findings():
    report = check_env(lambda **keywords: gym.make(ZOOM_READ, difficulty=9), seeds=1, processes=False)
    assert all("DifficultyError" in finding.measured for finding in report.failures)
    assert len(report.failures) == len(CLAUSES) - 1
