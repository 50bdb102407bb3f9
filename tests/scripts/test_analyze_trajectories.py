"""``scripts/analyze_trajectories.py`` from the outside: on recordings, and stopped before it can write."""

from __future__ import annotations

import json

import gymnasium as gym
import pytest
import toy_env  # noqa: F401  # registers the toys

from pixelis.cli import FAILED, USER_MISTAKE
from pixelis.wrappers import RecordTrajectory


@pytest.fixture
def recordings(tmp_path):
    """Two recordings of four tasks: one player is right, the other one is not."""
    for name, right in (("good", True), ("bad", False)):
        env = RecordTrajectory(gym.make("Toy/Echo-v0", turns=2), tmp_path / name)
        for seed in range(4):
            letter = env.reset(seed=seed)[0]["text"]
            for _ in range(2):
                letter = env.step(letter if right else "x")[0]["text"]
        env.close()
    return tmp_path


@pytest.mark.slow
def test_from_the_outside(recordings, run):
    code, out, err = run("analyze_trajectories", "good", "bad", "--num-samples", "50", "--output", "found")
    assert (code, err) == (0, "") and "good recording" in out and "the report is found/report.html" in out
    found = json.loads((recordings / "found" / "analysis.json").read_text())
    (comparison,) = found["comparisons"]
    assert comparison["differences"][0]["difference"] == -1.0
    assert (recordings / "found" / "analysis.png").stat().st_size > 10_000


def test_mistakes(recordings, warm_run):
    code, out, err = warm_run("analyze_trajectories")
    assert (code, out) == (USER_MISTAKE, "") and err.startswith("error: give at least one run")
    (recordings / "file").write_text("")
    code, _, err = warm_run("analyze_trajectories", "bad", "--output", "file", "--no-plot")
    assert code == FAILED and "cannot write to 'file'" in err and "Traceback" not in err
