"""Which code counts as the same: modules, pages, tables and weights, and what it runs by."""

from __future__ import annotations

import platform
import shutil
import time
from pathlib import Path

import pytest
import torch
import transformers

import pixelis
from pixelis.agents.distributed.code import code_fingerprint, code_versions

PACKAGE = Path(pixelis.__file__).parent


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return a copy of a part of the package that has modules, pages and pictures."""
    parts = "sites", "chromium"
    for part in parts:
        shutil.copytree(PACKAGE / "envs" / "web" / part, tmp_path / "web" / part)
    return tmp_path / "web"


@pytest.mark.parametrize("ending", [".py", ".html", ".js", ".css"])
def test_a_file_that_is_changed_is_other_code(package, ending):
    before = code_fingerprint(package)
    assert code_fingerprint(package) == before
    path = next(each for each in sorted(package.rglob(f"*{ending}*")) if each.is_file())
    path.write_bytes(path.read_bytes() + b"\n")
    after = code_fingerprint(package)
    assert after != before
    path.rename(path.with_name(f"other{ending}"))
    assert code_fingerprint(package) not in (before, after)


def test_what_python_and_editors_leave_is_no_code(package):
    before = code_fingerprint(package)
    for path in ("sites/__pycache__/forum.cpython-311.pyc", ".DS_Store", ".idea/web.xml"):
        (package / path).parent.mkdir(exist_ok=True)
        (package / path).write_bytes(b"left")
    assert code_fingerprint(package) == before


def test_what_it_runs_by_counts_but_not_the_device_it_was_built_for():
    start = time.perf_counter()
    found = code_versions()
    assert time.perf_counter() - start < 2  # a quarter of a second on a quiet machine
    assert found == {
        "code of Pixelis": code_fingerprint(PACKAGE),
        "Python": platform.python_version(),
        "torch": torch.__version__.partition("+")[0],
        "transformers": transformers.__version__,
    }
