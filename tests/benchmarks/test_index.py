"""The index names every benchmark; what it and the pages say to run exists, and is quoted there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
INDEX = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
COMMAND = re.compile(r"(?<!tests/)benchmarks/[\w/]+\.py")
ROWS = re.findall(r"^\| .+ \| `python (benchmarks/\S+\.py)[^`]*` \| (.+) \|$", INDEX, re.MULTILINE)
PAGES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]


def test_every_benchmark_is_in_the_index_once():
    files = {path.relative_to(ROOT).as_posix() for path in (ROOT / "benchmarks").rglob("*.py")}
    imported = ["benchmarks/" + name for name in re.findall(r"`(\w+/\w+\.py)`", INDEX)]
    listed = [command for command, _ in ROWS] + imported
    assert sorted(listed) == sorted(files)


def test_each_is_quoted_where_the_index_says():
    wrong = []
    for command, where in ROWS:
        for name in where.split(", "):
            places = [path for path in PAGES if path.as_posix().endswith(f"/{name}")] or [ROOT / name]
            found = [path for path in places if path.suffix == ".png" or command in _text(path)]
            wrong += [] if found and places[0].exists() else [(command, name)]
    assert not wrong


def test_every_benchmark_that_is_quoted_exists():
    files = [*PAGES, ROOT / "CHANGELOG.md"]
    for folder in ("benchmarks", "configs", "pixelis", "tests"):
        files += [path for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".yaml", ".md")]
    quoted = {(path, name) for path in files for name in COMMAND.findall(_text(path))}
    assert len(quoted) > 60
    assert not [(str(path), name) for path, name in quoted if not (ROOT / name).is_file()]


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
