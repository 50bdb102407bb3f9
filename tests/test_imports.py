"""Imports point one way: rewards ← wrappers, envs → rewards, agents may use all three, scripts all of it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "pixelis"
MODULES = sorted(PACKAGE.rglob("*.py"))
SCRIPTS = [
    path
    for folder in ("scripts", "recipes", "benchmarks", "examples", "tests")
    for path in (ROOT / folder).rglob("*.py")
]
# Rooms of `envs` that belong to every environment; the others are families of environments.
SHARED_BY_ENVS = {"check", "data"}
FAMILIES = {path.parent.name for path in (PACKAGE / "envs").glob("*/__init__.py")} - SHARED_BY_ENVS
# The ground floor: it imports no layer.
GROUND = ("pixelis.errors", "pixelis.files", "pixelis.lazy_exports", "pixelis.registry", "pixelis.user_code")
TOP = ("pixelis.cli", "pixelis.monitor")  # what only scripts and commands import
BARE = {"envs", "agents", "rewards", "wrappers"}
HEAVY = (
    "torch",
    "cv2",
    "transformers",
    "peft",
    "rapidocr",
    "onnxruntime",
    "matplotlib",
    "pandas",
    "pygame",
    "PIL",
)
OPTIONAL = {"rapidocr", "onnxruntime", "playwright", "selectolax", "sacrebleu", "sentence_transformers"}
OPTIONAL |= {"vaderSentiment", "matplotlib", "pygame", "stable_baselines3", "nicegui", "orjson", "starlette"}
OPTIONAL |= {"openenv", "verifiers"}
ELSEWHERE = ("pixelis.adapters.openenv", "pixelis.adapters.verifiers")  # what they import is not in the lock


def _module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _targets(node: ast.AST, path: Path) -> list[str]:
    """Return what an import statement names, ``from a import b`` as both ``a`` and ``a.b``."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    package = _module_name(path).split(".")
    if path.name != "__init__.py":
        package = package[:-1]
    base = package[: len(package) - (node.level - 1)] if node.level else []
    start = ".".join([*base, *([node.module] if node.module else [])])
    return [start, *(f"{start}.{alias.name}" for alias in node.names)]


@cache
def imports(path: Path) -> set[str]:
    """Return every module that a file imports anywhere, inside functions and ``TYPE_CHECKING`` included."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {target for node in ast.walk(tree) for target in _targets(node, path)}


def _under(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def _concrete_env(name: str) -> bool:
    return _under(name, *(f"pixelis.envs.{family}" for family in FAMILIES))


# Layer → what its modules may not import.
RULES: dict[str, Callable[[str], bool]] = {
    "pixelis.rewards": lambda name: (
        _under(name, "gymnasium", "pixelis")
        and not _under(name, "pixelis.rewards", *GROUND)
        and name != "pixelis"
    ),
    "pixelis.wrappers": lambda name: _under(name, "pixelis.agents", *TOP) or _concrete_env(name),
    "pixelis.envs": lambda name: _under(name, "pixelis.agents", "pixelis.wrappers", *TOP),
    "pixelis.agents": lambda name: _under(name, *TOP),
    # It reads what runs wrote, and starts at once: nothing of a layer that imports torch or an environment
    # (the reader of episodes, how text of strangers is shown, the rules of alarms and their settings need
    # neither).
    "pixelis.monitor": lambda name: (
        _under(name, "pixelis.agents", "pixelis.envs", "pixelis.wrappers", "pixelis.rewards", "pixelis.cli")
        and not _under(
            name,
            "pixelis.agents.viewing.visible",
            "pixelis.agents.episode_files",
            "pixelis.agents.runs.alarm_rules",
            "pixelis.agents.runs.alarm_tracks",
            "pixelis.agents.runs.alarm_watch",
            "pixelis.agents.settings.alarms",
        )
        and name not in ("pixelis.agents.viewing", "pixelis.agents.runs", "pixelis.agents.settings")
    ),
    **{module: lambda name: _under(name, "pixelis") and not _under(name, *GROUND) for module in GROUND},
    "pixelis": lambda name: _under(name, "scripts", "recipes", "tests", "benchmarks", "examples"),
}


def test_layers():
    broken = [
        f"{name} imports {target}"
        for path in MODULES
        for layer, forbidden in RULES.items()
        if _under(name := _module_name(path), layer)
        for target in imports(path)
        if forbidden(target)
    ]
    assert not broken


def test_nothing_below_agents_imports_them():
    outside = [path for path in MODULES if not _under(_module_name(path), "pixelis.agents", *TOP)]
    assert not [path for path in outside if any(_under(target, "pixelis.agents") for target in imports(path))]


def _runs(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is executed below a node: everything but the body of ``if TYPE_CHECKING``."""
    for child in ast.iter_child_nodes(node):
        if (
            isinstance(child, ast.If)
            and isinstance(child.test, ast.Name)
            and child.test.id == "TYPE_CHECKING"
        ):
            continue
        yield child
        yield from _runs(child)


def _room(name: str) -> str:
    """Return the room of a module: its folder."""
    return name.rpartition(".")[0]


@cache
def rooms_imported() -> dict[str, set[str]]:
    """Return which other rooms the modules of each room import, inside functions too.

    A package's ``__init__`` and ``__main__`` are its doors: what they lead to stands elsewhere, so they
    belong to no room.
    """
    doors = ("__init__.py", "__main__.py")
    names = {_module_name(path) for path in MODULES if path.name not in doors}
    rooms: dict[str, set[str]] = {}
    for path in MODULES:
        if path.name in doors:
            continue
        here = _room(_module_name(path))
        tree = ast.parse(path.read_text(encoding="utf-8"))
        targets = {target for node in _runs(tree) for target in _targets(node, path)} & names
        rooms.setdefault(here, set()).update({_room(target) for target in targets} - {here})
    return rooms


def circle(rooms: Mapping[str, set[str]]) -> list[str]:
    """Return the rooms of one import circle, or nothing where there is none."""
    done: set[str] = set()

    def walk(room: str, way: list[str]) -> list[str]:
        if room in way:
            return [*way[way.index(room) :], room]
        if room in done:
            return []
        for other in sorted(rooms.get(room, ())):
            if found := walk(other, [*way, room]):
                return found
        done.add(room)
        return []

    return next((found for room in sorted(rooms) if (found := walk(room, []))), [])


def test_no_rooms_import_one_another_in_a_circle():
    assert circle(rooms_imported()) == []


def test_a_circle_is_found():
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []
    assert {"pixelis.agents.losses", "pixelis.agents.runs"} <= rooms_imported()["pixelis.agents.rl"]


def test_no_bare_names_of_the_links():
    paths = [*MODULES, *SCRIPTS]
    assert not [path for path in paths if {target.split(".")[0] for target in imports(path)} & BARE]


def test_optional_packages_are_imported_where_used():
    """At module level an extra's package may only stand inside ``try`` or ``if TYPE_CHECKING``."""
    wrong = []
    for path in MODULES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        top = {target.split(".")[0] for node in tree.body for target in _targets(node, path)}
        wrong += [f"{path} imports {name}" for name in top & OPTIONAL]
    assert not wrong


def test_a_relative_import_is_resolved_before_it_is_judged():
    node = ast.parse("from ..agents import episode").body[0]
    assert "pixelis.agents.episode" in _targets(node, PACKAGE / "envs" / "tasks.py")
    assert RULES["pixelis.envs"]("pixelis.agents.episodes.episode")
    assert RULES["pixelis.rewards"]("gymnasium.spaces")
    assert not RULES["pixelis.rewards"]("pixelis.rewards.answers")


def _printed_by(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_pixelis_is_light():
    code = (
        f"import sys, pixelis; print(*[name for name in {(*HEAVY, *sorted(BARE))!r} if name in sys.modules])"
    )
    assert _printed_by(code) == ""


@pytest.mark.slow
def test_no_module_loads_a_link_under_its_bare_name():
    """Import the whole package with the checkout first on the path, where the bare names would be found."""
    code = (
        "import sys, pkgutil, importlib, pixelis\n"
        "for m in pkgutil.walk_packages(pixelis.__path__, 'pixelis.'):\n"
        f"    m.name in {ELSEWHERE} or importlib.import_module(m.name)\n"
        f"print(*[name for name in {sorted(BARE)!r} if name in sys.modules])"
    )
    assert _printed_by(code) == ""
