"""The public names: their page, that each can be had and is documented, and that pages import no others."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pixelis.lazy_exports import exported

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("public_names", ROOT / "scripts" / "public_names.py")
public_names = importlib.util.module_from_spec(spec)
spec.loader.exec_module(public_names)
DOORS = (*public_names.DOORS, "pixelis.errors")
READ = {door: set(public_names.read(door)[1]) for door in public_names.ELSEWHERE}
PUBLIC = {door: set(public_names.names(door)) for door in DOORS} | READ
PAGES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.py")]


def _shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_the_page_is_the_list():
    assert public_names.PAGE.read_text(encoding="utf-8") == public_names.page(), (
        "a public name came, went or has another first line; if that is meant: python scripts/public_names.py"
    )


@pytest.mark.parametrize("door", DOORS)
def test_every_name_is_there_and_documented(door: str):
    module = importlib.import_module(door)
    for name in PUBLIC[door]:
        assert name in dir(module) and public_names.summary(getattr(module, name), door, name)


def test_what_is_read_is_what_an_import_would_find():
    about, told = public_names.read("pixelis.adapters.skyrl")
    module = importlib.import_module("pixelis.adapters.skyrl")
    assert about == public_names.first_line(module) and list(told) == module.__all__
    assert all(line and line == public_names.first_line(getattr(module, name)) for name, line in told.items())


@pytest.mark.parametrize("door", [door for door in DOORS if exported(door)])
def test_a_lazy_package_exports_what_its_homes_define(door: str):
    module = importlib.import_module(door)
    assert set(module.__all__) == PUBLIC[door] == set(exported(door))
    assert not {name for name in PUBLIC[door] if importlib.util.find_spec(f"{door}.{name}")}, (
        "a module hides it"
    )
    with pytest.raises(AttributeError, match=f"module '{door}' has no attribute 'Nothing'"):
        _ = module.Nothing


@pytest.mark.slow
def test_agents_import_no_torch_until_a_name_is_used():
    code = (
        "import sys, pixelis.agents as agents\n"
        "assert 'TrainConfig' in dir(agents) and 'torch' not in sys.modules\n"
        "agents.Policy\n"
        "assert 'torch' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, timeout=120)


def private_imports(code: str) -> list[str]:
    """Return the imports from Pixelis in a program that are not of public names."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.partition(".")[0] == "pixelis"]
            found += [f"import {name}" for name in names if name not in ("pixelis", *PUBLIC)]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "pixelis":
            for alias in node.names:
                is_door = f"{node.module}.{alias.name}" in PUBLIC
                if not is_door and alias.name not in PUBLIC.get(str(node.module), ()):
                    found.append(f"from {node.module} import {alias.name}")
    return found


def test_a_private_import_is_found():
    assert private_imports("import pixelis\nfrom pixelis import envs\nfrom pixelis.envs import Task") == []
    deep = "from pixelis.envs.tasks import Task\nimport pixelis.agents.models.policy"
    assert private_imports(deep) == [
        "from pixelis.envs.tasks import Task",
        "import pixelis.agents.models.policy",
    ]
    assert private_imports("from pixelis.envs import task") == ["from pixelis.envs import task"]


@pytest.mark.parametrize("path", PAGES, ids=_shown)
def test_pages_and_examples_import_public_names_only(path: Path):
    text = path.read_text(encoding="utf-8")
    blocks = [text] if path.suffix == ".py" else re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.M)
    assert [each for block in blocks for each in private_imports(block)] == []
