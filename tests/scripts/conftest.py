"""Scripts run as a person runs them: in a process of their own, with the toy env and the tiny model."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOYS = ROOT / "tests" / "agents" / "grpo"
if str(TOYS) not in sys.path:
    sys.path.insert(0, str(TOYS))

from letter_model import build_letter_model  # noqa: E402

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(scope="session")
def letter_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_letter_model(tmp_path_factory.mktemp("letter_model"))


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Return a function that starts ``scripts/NAME.py`` in ``tmp_path`` and gives the process."""

    def start_script(name: str, *words: object, **options: object) -> subprocess.Popen[str]:
        path = f"{TOYS}{os.pathsep}{ROOT}"
        environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "200", "OMP_NUM_THREADS": "1"}
        return subprocess.Popen(
            [sys.executable, str(ROOT / "scripts" / f"{name}.py"), *map(str, words)],
            cwd=tmp_path,
            env=environment,
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
