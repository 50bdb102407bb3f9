"""Finding a browser: what is taken, and what is said when there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from pixelis.envs.web.browse.env import WebBrowseEnv
from pixelis.envs.web.chromium import browser_files
from pixelis.envs.web.chromium.browser import close_shared_browser
from pixelis.envs.web.chromium.browser_files import BROWSER_VARIABLE, find_chromium
from pixelis.errors import BrowserUnavailableError


@pytest.fixture
def empty_machine(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(BROWSER_VARIABLE, raising=False)
    monkeypatch.setattr(browser_files, "_FOLDERS", (str(tmp_path / "lib"),))
    return tmp_path


def executable(path):
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_headless_shell_comes_first_then_chromium_then_playwrights_own(empty_machine):
    own = executable(empty_machine / "own" / "chrome")
    assert find_chromium(str(own)) == own
    chromium = executable(empty_machine / "chromium")
    assert find_chromium(str(own)) == chromium
    shell = executable(empty_machine / "chromium-headless-shell")
    assert find_chromium(str(own)) == shell
    binary = executable(empty_machine / "lib" / "chromium-headless-shell")
    assert find_chromium(str(own)) == binary


def test_a_named_browser_wins(empty_machine, monkeypatch):
    executable(empty_machine / "chromium")
    named = executable(empty_machine / "own" / "chrome")
    monkeypatch.setenv(BROWSER_VARIABLE, str(named))
    assert find_chromium() == named


def test_a_named_browser_that_is_not_there_is_an_error(empty_machine, monkeypatch):
    executable(empty_machine / "chromium")
    monkeypatch.setenv(BROWSER_VARIABLE, "/nowhere/chrome")
    with pytest.raises(BrowserUnavailableError, match=r"PIXELIS_CHROMIUM.*'/nowhere/chrome'"):
        find_chromium()


def test_no_browser_says_how_to_install_one(empty_machine):
    with pytest.raises(
        BrowserUnavailableError, match=r"apt-get install .* playwright install chromium-headless"
    ):
        find_chromium(str(empty_machine / "not-there"))


@pytest.mark.parametrize("what", ["missing", "no browser"])
def test_an_environment_says_so_too_and_leaves_no_process(what, monkeypatch, tmp_path):
    named = tmp_path / "chrome" if what == "missing" else executable(tmp_path / "chrome")
    close_shared_browser()
    before = children()
    monkeypatch.setenv(BROWSER_VARIABLE, str(named))
    env = WebBrowseEnv(backend="chromium")
    for _ in range(2):
        with pytest.raises(BrowserUnavailableError, match=str(named)):
            env.reset(seed=0)
    env.close()
    assert children() == before


def children():
    """Return the ids of this process's own children (Linux)."""
    return {pid for file in Path("/proc/self/task").glob("*/children") for pid in file.read_text().split()}
