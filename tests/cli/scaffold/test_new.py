"""What ``pixelis new`` writes passes its own tests untouched, is installed, checked and trained on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pixelis.cli import USER_MISTAKE
from pixelis.cli.main import main
from pixelis.cli.scaffold.new import KINDS, write_package
from pixelis.errors import ConfigError, OutputError

KINDS_AND_NAMES = [("env", "shelf_rows"), ("tool", "word_count"), ("reward", "brevity"), ("loss", "leash")]


def run(folder: Path, *words: str, path: Path | None = None) -> str:
    """Run Python in a folder, with a path in front; return what it printed."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(path or folder)}
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), KINDS_AND_NAMES, ids=KINDS)
def test_its_own_tests_pass_as_they_are(kind: str, name: str, tmp_path: Path):
    written = write_package(kind, name, tmp_path)
    assert {path.relative_to(tmp_path / name).as_posix() for path in written} == {
        "pyproject.toml", "README.md", f"{name}/__init__.py", f"{name}/module.py", f"tests/test_{name}.py"
    }  # fmt: skip
    printed = run(tmp_path / name, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error")
    assert "passed" in printed and "skipped" not in printed
    run(tmp_path / name, "-m", "ruff", "check", "--isolated", "--select", "E,F", "--line-length", "110", ".")


@pytest.mark.slow
@pytest.mark.parametrize("image", [False, True], ids=["text", "image"])
def test_an_environment_is_installed_checked_and_trained_on(image: bool, tmp_path: Path):
    write_package("env", "shelf_rows", tmp_path, image=image)
    site = tmp_path / "site"
    install = ("-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--target", str(site))
    run(tmp_path, *install, str(tmp_path / "shelf_rows"))
    # A folder that knows nothing of the source: the entry point alone makes the environment known.
    away = tmp_path / "away"
    away.mkdir()
    printed = run(away, "-m", "pixelis", "check-env", "ShelfRows-v0", "--seeds", "5", path=site)
    assert "20 of 20 clauses hold" in printed, printed
    flags = ("--steps", "1", "--groups", "1", "--group-size", "2", "--max-new-tokens", "4")
    train = ("-m", "pixelis", "train", "--env", "ShelfRows-v0", "--model", "pixelis-mini", *flags)
    run(away, *train, "--eval-episodes", "0", "--output", "run", path=site)
    assert (away / "run" / "metrics.jsonl").read_text(encoding="utf-8").count("\n") >= 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["env", "Shelf-Rows"], "lower-case letters, digits and _"),
        (["env", "class"], "no word of Python's"),
        (["env", "x" * 41], "lower-case letters"),
        (["reward", "json"], "a module json already"),
        (["tool", "word_count", "--image"], "only an environment shows pictures"),
    ],
)
def test_bad_names_are_one_clear_line(words, said, tmp_path, capsys):
    assert main(["new", *words, "--into", str(tmp_path)]) == USER_MISTAKE
    printed = capsys.readouterr()
    assert said in printed.err and printed.err.count("\n") == 1 and not list(tmp_path.iterdir())


def test_nothing_is_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["new", "env", "shelf_rows", "--into", str(tmp_path)]) == 0
    assert "pip install -e" in capsys.readouterr().out
    (tmp_path / "shelf_rows" / "README.md").write_text("mine", encoding="utf-8")
    with pytest.raises(OutputError, match="exists already"):
        write_package("env", "shelf_rows", tmp_path)
    assert (tmp_path / "shelf_rows" / "README.md").read_text(encoding="utf-8") == "mine"
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(OutputError, match="cannot be written"):
        write_package("env", "shelf_rows", tmp_path / "file")
    with pytest.raises(ConfigError, match="got ''"):
        write_package("loss", "", tmp_path / "nowhere")
