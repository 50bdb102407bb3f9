"""Adapters whose package has an environment of its own: their tests run there, where it has been made."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["openenv", "verifiers"])
def test_the_steps_of(name: str):
    python = Path(sys.prefix) / "beside" / name / "bin" / "python"
    if not python.exists():
        pytest.skip(f"there is no environment of {name} here: make {name}")
    # At its end verifiers leaves transports of processes whose loop is closed.
    quiet = ["-p", "no:cacheprovider", "-W", "ignore::pytest.PytestUnraisableExceptionWarning"]
    words = [python, "-m", "pytest", *quiet, f"tests/adapters/{name}_steps.py"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=880)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    skipped = re.findall(r"^SKIPPED \[(\d+)\] \S+ (.*)", done.stdout, re.MULTILINE)
    assert {reason for _, reason in skipped} <= {"uv cannot fetch packages here"}, done.stdout[-2000:]
    assert re.search(r"=+ \d+ passed", done.stdout), done.stdout[-2000:]
    if skipped:
        pytest.skip(
            f"{sum(int(count) for count, _ in skipped)} of its tests, as uv cannot fetch packages here"
        )
