"""Rewards, wrappers and agents know no particular environment: no tool, word, field or module of one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from pixelis.envs.coding.code_problem.attempt import TOOLS as CODE_TOOLS
from pixelis.envs.pixel.base.video_tools import VIDEO_TOOLS
from pixelis.envs.pixel.tools.palette import PALETTE
from pixelis.envs.registration import BROWSER_ENVIRONMENTS, ENVIRONMENTS
from pixelis.envs.web.browse.tools import page_tools
from pixelis.envs.web.foreign.tools import HAND_TOOLS, PAGE_TOOLS

PACKAGE = Path(__file__).parents[1] / "pixelis"
LAYERS = ("rewards", "wrappers", "agents")
MODULES = [path for layer in LAYERS for path in sorted((PACKAGE / layer).rglob("*.py"))]
FAMILIES = ("pixel", "coding", "web", "tweet")
FIELDS = ("replies", "gate", "utterance", "verification", "scene")  # of one environment's info or task
# Where a shipped environment is named, and why.
ALLOWED = {
    "agents/settings/run_settings.py": {"Pixelis/ZoomRead-v0"},  # played where no environment is given
    "agents/sb3/config.py": {"Pixelis/ZoomRead-v0"},  # likewise
    "wrappers/discrete/discrete_tool_actions.py": {"Pixelis/ZoomRead-v0"},  # an example in a message
    "agents/settings/rl.py": {"tweet_evaluation"},  # an example in a help text
}


@cache
def tool_names() -> frozenset[str]:
    """The tools of every family."""
    tools = (*VIDEO_TOOLS, *CODE_TOOLS, *page_tools(), *PAGE_TOOLS, *HAND_TOOLS)
    return frozenset(tool.name for tool in tools)


@cache
def forbidden() -> re.Pattern[str]:
    """What no text of a generic layer holds: tools, colours, ids, modules; and fields, as a whole text."""
    ids = [entry.id for entry in (*ENVIRONMENTS, *BROWSER_ENVIRONMENTS)]
    names = sorted({*tool_names(), *PALETTE}, key=len, reverse=True)
    modules = rf"pixelis\.envs\.(?:{'|'.join(FAMILIES)})\b[\w.:]*"
    whole = rf"(?:{'|'.join(map(re.escape, names))})"
    return re.compile(
        rf"\b{whole}\b|{'|'.join(map(re.escape, ids))}|{modules}|\btweet\w*|^(?:{'|'.join(FIELDS)})$"
    )


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield a module's texts with their lines, docstrings left out: these may show examples."""
    shown = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in shown:
            yield node.lineno, node.value
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or ""
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_no_environment_is_named(path: Path):
    name = path.relative_to(PACKAGE).as_posix()
    found = {
        (line, match.group())
        for line, text in texts(ast.parse(path.read_text(encoding="utf-8")))
        for match in forbidden().finditer(text)
        if match.group() not in ALLOWED.get(name, ())
    }
    assert not found, "declare it on the environment or its tools: see docs/guide/new_env.md"


def test_what_is_allowed_is_needed():
    for name, allowed in ALLOWED.items():
        said = " ".join(text for _, text in texts(ast.parse((PACKAGE / name).read_text(encoding="utf-8"))))
        assert all(word in said for word in allowed), name


def test_the_check_knows_the_names_and_finds_them():
    assert {"ZOOM", "TRACK", "SELECT_FRAME", "RUN", "SUBMIT", "CLICK", "SCROLL", "PRESS"} <= tool_names()
    for text in ("ZOOM", "the tool SEGMENT", "sky blue", "Pixelis/WebBrowse-v0", "gate", "tweet_evaluation"):
        assert forbidden().search(text), text
    assert not forbidden().search("aggregate the zoomed redness")
