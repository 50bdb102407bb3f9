"""The site builds without the network and without a warning, and has every page, public name and picture."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zlib
from pathlib import Path
from urllib.parse import unquote

import pytest
from test_architecture_picture import _loaded

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
OFFLINE = ("unshare", "--map-root-user", "--net")
"""What a command without any network begins with."""
NO_SOCKETS = """
import runpy, socket, sys

def refuse(*_):
    raise OSError("the site must build without the network")

socket.socket.connect = socket.socket.connect_ex = refuse
runpy.run_module("sphinx", run_name="__main__", alter_sys=True)
"""


@pytest.fixture(scope="module")
def conf():
    path = [*sys.path]
    yield _loaded("docs/site/conf.py")
    sys.path[:] = path


def _has_namespaces() -> bool:
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*OFFLINE, "true"], capture_output=True).returncode == 0


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build it as `make site` does: without a network where the kernel lets us, else without connections."""
    folder = tmp_path_factory.mktemp("site")
    words = [
        "-c",
        "docs/site",
        "-d",
        str(folder / "doctrees"),
        "-W",
        "--keep-going",
        "-q",
        ".",
        str(folder / "html"),
    ]
    python = (
        [*OFFLINE, sys.executable, "-m", "sphinx"]
        if _has_namespaces()
        else [sys.executable, "-c", NO_SOCKETS]
    )
    done = subprocess.run(
        [*python, *words],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "html"


def inventory(site: Path) -> set[str]:
    """Return the names of Python objects on the site."""
    _, _, _, _, packed = (site / "objects.inv").read_bytes().split(b"\n", 4)
    lines = zlib.decompress(packed).decode().splitlines()
    return {line.split(" ", 2)[0] for line in lines if line.split(" ", 2)[1].startswith("py:")}


@pytest.mark.slow
def test_every_public_name_is_on_the_site(site: Path, conf):
    there = inventory(site)
    public = {f"{door}.{name}" for door, names in conf.PUBLIC.items() for name in names}
    public |= {f"{door}.{name}" for door, (_, told) in conf.ELSEWHERE.items() for name in told}
    assert len(public) > 200 and not public - there


@pytest.mark.slow
def test_every_page_is_on_the_site_and_in_its_sidebar(site: Path):
    pages = {path.relative_to(ROOT).with_suffix(".html").as_posix() for path in DOCS.rglob("*.md")}
    assert not [page for page in pages if not (site / page).is_file()]
    front = (site / "docs" / "index.html").read_text(encoding="utf-8")
    tree = front.partition('class="sidebar-tree"')[2].partition("</div>")[0]
    listed = {os.path.normpath(f"docs/{target}") for target in re.findall(r'href="([^"#]+)', tree)}
    assert not pages - listed - {"docs/index.html"}
    assert "url=docs/index.html" in (site / "index.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_every_picture_and_every_film_is_on_the_site(site: Path):
    shown = {
        Path(target).name
        for page in DOCS.rglob("*.md")
        for target in re.findall(r"!\[[^\]]*\]\(([^()\s]+)\)", page.read_text(encoding="utf-8"))
    }
    assert sum(name.endswith(".gif") for name in shown) >= 9
    assert not shown - {path.name for path in (site / "_images").iterdir()}


@pytest.mark.slow
def test_every_link_of_the_site_leads_somewhere(site: Path):
    broken = []
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        for target in set(re.findall(r'(?:href|src)="([^"#]+)', text)):
            if (
                not re.match(r"\w+:", target)
                and not (page.parent / unquote(target.partition("?")[0])).exists()
            ):
                broken.append(f"{page.relative_to(site)}: {target}")
    assert not broken


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere(site: Path):
    """A link may lead to another host, but no script, style, font or picture comes from one."""
    loaded = re.compile(r'<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)="((?:https?:)?//[^"]*)"')
    found = {
        target for page in site.rglob("*.html") for target in loaded.findall(page.read_text(encoding="utf-8"))
    }
    assert not found
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert not re.findall(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", styles)


def test_the_sidebar_is_the_front_pages_order(conf):
    unlinked = "/".join(("docs", "guide", "unlinked.md"))
    parts = conf.sidebar([*conf.PAGES, unlinked, "elsewhere/README.md"])
    assert parts["Guide"][0] == "docs/guide/first_steps.md" and unlinked in parts["Guide"]
    assert parts["Guide: train"][0] == "docs/guide/launch.md" and "elsewhere/README.md" in parts["More"]
    assert {page for pages in parts.values() for page in pages} >= {*conf.PAGES} - {conf.FRONT}


def test_names_of_the_list_become_links(conf):
    page = "# Public names\n\n## pixelis.envs\n\n| name | |\n|---|---|\n| `Task` | One `Task`. |\n"
    assert conf.with_links(page).splitlines()[-1] == "| {py:obj}`Task <pixelis.envs.Task>` | One `Task`. |"


def test_a_link_to_a_folder_is_its_text(conf):
    text = "[lessons](../../pixelis/configs/lessons), [sb3](sb3.md), [Ray](https://docs.ray.io)"
    assert conf.without_folders(text, DOCS / "guide") == text.replace(
        "[lessons](../../pixelis/configs/lessons)", "lessons"
    )


@pytest.mark.slow
def test_a_name_is_found_by_its_home_and_in_short(conf):
    homes = conf.homes()
    assert homes["pixelis.envs.tasks.Task"] == homes["Task"] == "pixelis.envs.Task"
    assert "train" not in homes  # a word like any other


def test_markdown_and_formulas_of_docstrings_are_written_as_sphinx_reads_them(conf):
    table = ["## Action space", "", "| call | effect |", "|---|---|", "| `A` | a \\| b |", "", "Done."]
    assert [line for line in conf.as_rst(table) if line] == [
        *(".. rubric:: Action space", ".. list-table::", "   :header-rows: 1"),
        *("   * - call", "     - effect", "   * - ``A``", "     - a | b", "Done."),
    ]
    text = ["Return it.", "", "    a = b", "", "Args:", "    a: it.", "", "    More."]
    assert conf.with_literals(text) == [*text[:2], "::", "", *text[2:]]
