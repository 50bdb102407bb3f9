"""Every page is reached from the front page, every link leads somewhere, and lines wrap."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FRONT = DOCS / "index.md"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
SOURCES = [
    path
    for folder in ("pixelis", "scripts", "benchmarks", "examples", "configs", "tests")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in (".py", ".md", ".yaml", ".js", ".sh")
]
WIDEST = 160


def _prose(path: Path) -> str:
    """Return a page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def links(path: Path) -> list[str]:
    """Return the targets of a page's links to places of this repository."""
    found = re.findall(r"\]\(([^()\s]+)\)", re.sub(r"`[^`\n]*\]\([^`\n]*`", "", _prose(path)))
    return [target for target in found if not re.match(r"\w+:", target)]


def anchors(path: Path) -> set[str]:
    """Return what a link may name in a page: its headings as GitHub spells them."""
    heads = re.findall(r"^#+ (.+)$", _prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def reached(front: Path) -> set[Path]:
    """Return every page that a reader comes to from a page by its links."""
    found: set[Path] = set()
    waiting = [front.resolve()]
    while waiting:
        page = waiting.pop()
        if page not in found:
            found.add(page)
            targets = {(page.parent / link.partition("#")[0]).resolve() for link in links(page)}
            waiting += [target for target in targets if target.suffix == ".md" and target.is_file()]
    return found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path: Path):
    broken = []
    for link in links(path):
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert not broken


def test_every_page_is_reached_from_the_front_page():
    lost = {page.resolve() for page in DOCS.rglob("*.md")} - reached(FRONT)
    assert not sorted(page.relative_to(ROOT).as_posix() for page in lost)


def test_the_readme_leads_to_the_front_page():
    assert FRONT.resolve() in reached(ROOT / "README.md")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_lines_wrap(path: Path):
    """Tables, pictures and code are excepted."""
    wide = [
        line
        for line in _prose(path).splitlines()
        if len(line) > WIDEST and not re.match(r"\||!\[|    \S", line)
    ]
    assert not wide


@pytest.mark.parametrize("name", ["README.md", "docs/guide/first_steps.md"])
def test_the_first_lines_of_code_run(name: str):
    text = (ROOT / name).read_text(encoding="utf-8")
    block = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[0]
    words = [sys.executable, "-W", "error", "-c", block]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("What code is on the ")


def test_pages_that_the_code_names_exist():
    """Also as ``docs/…`` in messages, comments and configurations."""
    named = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in [*SOURCES, *PAGES, ROOT / "pyproject.toml", ROOT / "constraints.txt"]
        for name in re.findall(r"\bdocs/[\w/]+\.md", path.read_text(encoding="utf-8"))
    }
    assert len(named) > 50
    assert not sorted(pair for pair in named if not (ROOT / pair[1]).is_file())


def test_a_lost_page_a_broken_link_and_an_anchor_are_found(tmp_path):
    front, second = tmp_path / "index.md", tmp_path / "second.md"
    front.write_text("[a](second.md#two-words) [b](https://x.org) `[no](code.md)`\n```\n[c](d.md)\n```\n")
    second.write_text("# Two `words`!\n[back](index.md) [none](third.md)\n")
    (tmp_path / "lost.md").write_text("# Lost\n")
    assert links(front) == ["second.md#two-words"] and anchors(second) == {"two-words"}
    assert reached(front) == {front.resolve(), second.resolve()}
