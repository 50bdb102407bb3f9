"""The repository's shape: the four links, sizes of modules and functions, docstrings, telling names."""

from __future__ import annotations

import ast
import os
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LINKS = ("envs", "agents", "rewards", "wrappers")
CODE = [
    path
    for folder in ("pixelis", "scripts", "recipes", "benchmarks", "examples")
    for path in sorted((ROOT / folder).rglob("*.py"))
]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, FUNCTIONS))


def _lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    arguments = node.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    starred = [argument for argument in (arguments.vararg, arguments.kwarg) if argument]
    return len([argument for argument in named if argument.arg not in ("self", "cls")]) + len(starred)


@pytest.mark.parametrize("name", LINKS)
def test_link_is_relative_and_resolves(name: str):
    link = ROOT / name
    if not link.is_symlink():
        pytest.skip("this checkout was made without links; the package does not need them")
    assert os.readlink(link) == f"pixelis/{name}"
    assert link.resolve() == (ROOT / "pixelis" / name).resolve()
    assert (link / "__init__.py").is_file()


def _too_big(path: Path) -> list[str]:
    source = path.read_text(encoding="utf-8")
    too_big = [f"{len(source.splitlines())} lines"] if len(source.splitlines()) > 400 else []
    for function in _functions(ast.parse(source)):
        if _lines(function) > 80:
            too_big.append(f"{function.name}: {_lines(function)} lines")
        if _parameters(function) > 8:
            too_big.append(f"{function.name}: {_parameters(function)} parameters")
    return too_big


def test_size_limits():
    assert not {_name(path): found for path in CODE if (found := _too_big(path))}


def test_medians_stay_small():
    sources = [path.read_text(encoding="utf-8") for path in CODE if path.name != "__init__.py"]
    functions = [_lines(function) for source in sources for function in _functions(ast.parse(source))]
    assert statistics.median(len(source.splitlines()) for source in sources) <= 160
    assert statistics.median(functions) <= 10


def _without_docstring(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    missing = [] if ast.get_docstring(tree) else ["the module"]
    outer: list[ast.Module | ast.ClassDef] = [tree]
    outer += [node for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
    for scope in outer:
        for node in scope.body:
            if isinstance(node, (*FUNCTIONS, ast.ClassDef)) and not node.name.startswith("_"):
                documented = ast.get_docstring(node) or _is_overload(node)
                missing += [] if documented else [node.name]
    return missing


def test_public_things_have_docstrings():
    assert not {_name(path): found for path in CODE if (found := _without_docstring(path))}


def _is_overload(node: ast.AST) -> bool:
    return any("overload" in ast.unparse(decorator) for decorator in getattr(node, "decorator_list", []))


def test_no_module_has_an_empty_name():
    banned = {"utils", "helpers", "common", "misc", "legacy"}
    named = {path for path in CODE if banned & {path.stem, *path.relative_to(ROOT).parts[:-1]}}
    assert not named


def test_tests_mirror_the_tree():
    """``tests/a/b`` holds the tests of ``pixelis/a/b``, or of ``a/b`` beside the package (scripts, docs)."""
    folders = {path.parent.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("test_*.py")}
    assert Path("envs/pixel/zoom_read") in folders
    assert not [str(f) for f in folders if not ((ROOT / "pixelis" / f).is_dir() or (ROOT / f).is_dir())]


def test_a_class_name_stands_for_one_class():
    """Each environment has players of its own, and each wrapper a twin for vector environments; else one."""
    classes: dict[str, list[str]] = {}
    for path in CODE:
        if _name(path).startswith("pixelis/") and path.name != "players.py" and path.parent.name != "vector":
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    classes.setdefault(node.name, []).append(_name(path))
    assert len(classes) > 500
    assert not {name: paths for name, paths in classes.items() if len(paths) > 1}
