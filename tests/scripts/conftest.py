"""Scripts run as a person runs them: in a process of their own, with the toy env and the tiny model."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from warm_python import WarmProcess, warm_python

from pixelis.agents.runs.metrics import read_metrics

ROOT = Path(__file__).parents[2]
TOYS = ROOT / "tests" / "agents" / "rl"

Start = Callable[..., "subprocess.Popen[str]"]


def _words(name: str, words: tuple[object, ...]) -> list[str]:
    return [str(ROOT / "scripts" / f"{name}.py"), *map(str, words)]


def _environment() -> dict[str, str]:
    path = os.pathsep.join(map(str, (TOYS, Path(__file__).parent, ROOT)))
    return {**os.environ, "PYTHONPATH": path, "COLUMNS": "200", "OMP_NUM_THREADS": "1"}


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Return a function that starts ``scripts/NAME.py`` in ``tmp_path`` and gives the process."""

    def start_script(name: str, *words: object, **options: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, *_words(name, words)],
            cwd=tmp_path,
            env=_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,  # type: ignore[call-overload]
        )

    return start_script


@pytest.fixture
def run(start: Start) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs a script to its end and gives exit code, output and errors."""

    def run_script(name: str, *words: object, typed: str = "") -> tuple[int, str, str]:
        process = start(name, *words)
        out, err = process.communicate(typed, timeout=240)
        return process.returncode, out, err

    return run_script


@pytest.fixture
def warm_run(tmp_path: Path) -> Callable[..., tuple[int, str, str]]:
    """Return a function like ``run``; its processes need not import the libraries."""

    def run_script(name: str, *words: object, typed: str = "") -> tuple[int, str, str]:
        return warm_python().run(_words(name, words), tmp_path, _environment(), typed)

    return run_script


@pytest.fixture
def warm_start(tmp_path: Path) -> Callable[..., WarmProcess]:
    """Return a function like ``start``, whose processes need not import the libraries either."""
    return lambda name, *words: warm_python().start(_words(name, words), tmp_path, _environment())


@pytest.fixture
def wait_for_step() -> Callable[[subprocess.Popen[str] | WarmProcess, Path, int], None]:
    """Return a function that waits until a run has written a step into its metrics, or has ended."""

    def wait(process: subprocess.Popen[str] | WarmProcess, metrics: Path, step: int) -> None:
        deadline = time.monotonic() + 200
        while process.poll() is None and time.monotonic() < deadline:
            if metrics.exists() and len(read_metrics(metrics)) >= step:
                return
            time.sleep(0.002)
        assert process.poll() is not None, "the run neither wrote the step nor ended"

    return wait
