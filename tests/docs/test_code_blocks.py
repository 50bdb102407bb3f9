"""The Python of pages that no other test runs, and that there is no page whose Python nothing runs."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from doc_pages import ROOT, Page, run

HERE = Path(__file__)
PLAIN = (
    "guide/concepts.md",
    "reference/coding_problems.md",
    "reference/coding_sandbox.md",
    "reference/tweet_reward.md",
)
BROWSER = ("reference/web_miniwob.md", "envs/web_page.md", "envs/miniwob.md")


def played(page: Page, folder: Path, *changes: tuple[str, str]) -> str:
    """Run the Python of a page in one file; return what it prints."""
    code = "\n\n".join(page.blocks("python"))
    for old, new in changes:
        assert old in code
        code = code.replace(old, new)
    (folder / "page.py").write_text(code, encoding="utf-8")
    return run(folder, [sys.executable, "-W", "error", "page.py"])


@pytest.mark.parametrize("name", PLAIN)
def test_the_python_of_a_page_runs(name: str, tmp_path: Path):
    page = Page(name)
    printed = played(page, tmp_path)
    assert printed and (
        not page.blocks("text") or name != "guide/concepts.md" or printed == page.blocks("text")[0]
    )


@pytest.mark.slow
def test_learned_rewards_run(tmp_path: Path):
    assert played(Page("reference/tweet_learned.md"), tmp_path)


@pytest.mark.slow
def test_own_rows_are_trained_on(tmp_path: Path):
    """With the small model and for a step; the page's takes minutes."""
    page = Page("guide/own_rows.md")
    short = 'model="pixelis-mini", steps=1, group_size=2, eval_episodes=2, groups=4'
    assert played(page, tmp_path, ('model="smollm2", steps=50, groups=4', short))


@pytest.mark.slow
def test_the_rows_of_the_readme_are_trained_on(tmp_path: Path):
    """Likewise; its first block runs in test_pages.py."""
    _, code = Page("../README.md").blocks("python")
    short = code.replace('"smollm2"', '"pixelis-mini"').replace("steps=50", "steps=1, eval_episodes=2")
    assert short.count("pixelis-mini") == short.count("eval_episodes=2") == 1
    run(tmp_path, [sys.executable, "-W", "error", "-c", short])


def test_split_tweets_are_played(tmp_path: Path):
    page = Page("guide/tweet_data.md")
    rows = [f"{tweet},author{at},{at}" for at, tweet in enumerate(TWEETS)]
    (tmp_path / "my_tweets.csv").write_text("\n".join(["tweet,author,engagement", *rows, ""]))
    (command,) = page.commands()
    run(tmp_path, [sys.executable, str(ROOT / command[1]), *command[2:]])
    code = "import gymnasium as gym\nimport pixelis\n" + page.blocks("python")[0]
    run(tmp_path, [sys.executable, "-W", "error", "-c", code])


TWEETS = (
    "The harbour crane stood still today.",
    "Who else is awake at four?",
    "Our bakery closes after ninety years.",
    "Rain again; the parade goes on.",
    "My bus driver sings opera.",
    "Lost: one green umbrella near the station.",
    "Somebody painted the old bridge pink!",
    "Snow in May. I give up.",
    "The library got its clock back.",
    "Three foxes crossed Elm Street this morning.",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", BROWSER)
def test_the_python_of_a_page_with_a_browser_runs(name: str, tmp_path: Path):
    played(Page(name), tmp_path)


def test_no_page_is_left_out():
    tests = "".join(path.read_text(encoding="utf-8") for path in HERE.parent.glob("test_*.py"))
    with_code = {
        path.relative_to(ROOT / "docs").as_posix()
        for path in (ROOT / "docs").rglob("*.md")
        if re.search(r"^```python", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    others = {"reference/coding_verification.md"}  # test_coding_verification_page.py
    left = {name for name in with_code - others if f'"{name}"' not in tests and f'"docs/{name}"' not in tests}
    assert not {name for name in left if not name.startswith("envs/")}  # those: test_env_pages.py
