"""Write docs/reference/public_names.md: what may be imported from Pixelis, each name with its first line.

Usage: python scripts/public_names.py [--check]

With --check nothing is written; the exit status is 1 when the page is out of date.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

from pixelis.registry import Registry

PACKAGE = Path(__file__).parents[1] / "pixelis"
PAGE = PACKAGE.parent / "docs" / "reference" / "public_names.md"
DOORS = (
    "pixelis.envs",
    "pixelis.rewards",
    "pixelis.wrappers",
    "pixelis.wrappers.vector",
    "pixelis.agents",
    "pixelis.agents.losses",
    "pixelis.agents.sft",
    "pixelis.agents.ued",
    "pixelis.adapters.trl",
    "pixelis.adapters.skyrl",
    "pixelis.envs.coding",
    "pixelis.envs.tweet.reward",
    "pixelis.rewards.text.diversity",
)
"""The packages whose ``__all__`` is public, beside ``pixelis.errors``."""
ELSEWHERE = ("pixelis.adapters.openenv", "pixelis.adapters.verifiers")
"""Public too; as what they import has an environment of its own, they are read and not imported."""
HEAD = """\
# Public names

<!-- Written by scripts/public_names.py; edit the `__init__.py` of the package or the docstring instead. -->

Import from these modules and from no others: what stands elsewhere in the package is private by its place,
and may move or change without notice. `import pixelis` registers the environments; each module imports what a
name needs (torch, say) when the name is used. Command-line words, settings, Gymnasium ids and file formats
are public too, and have pages of their own.
"""


def page() -> str:
    """Return the text of the page."""
    doors = (*DOORS, *ELSEWHERE, "pixelis.errors")
    sections = [_section(door, *(read(door) if door in ELSEWHERE else _imported(door))) for door in doors]
    return "\n".join([HEAD, *sections])


def _imported(door: str) -> tuple[str, dict[str, str]]:
    module = importlib.import_module(door)
    return first_line(module), {name: summary(getattr(module, name), door, name) for name in names(door)}


def read(door: str) -> tuple[str, dict[str, str]]:
    """Return a module's first line and its public names with theirs, from its source alone."""
    tree = ast.parse((PACKAGE.parent / (door.replace(".", "/") + ".py")).read_text(encoding="utf-8"))
    defined = {
        node.name: ast.get_docstring(node) or ""
        for node in tree.body
        if isinstance(node, (ast.ClassDef, ast.FunctionDef))
    }
    (public,) = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    return _first(ast.get_docstring(tree) or ""), {name: _first(defined[name]) for name in public}


def _section(door: str, about: str, told: dict[str, str]) -> str:
    rows = [f"| `{name}` | {line} |" for name, line in told.items()]
    return "\n".join([f"## {door}\n", about, "", "| name | |", "|---|---|", *rows, ""])


def names(door: str) -> list[str]:
    """Return the public names of a module: its ``__all__``, or the classes that it defines."""
    module = importlib.import_module(door)
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == door]
    return list(getattr(module, "__all__", [name for name in own if name[0].isupper()]))


def summary(value: Any, door: str, name: str) -> str:
    """Return the first line of what a name means, which for constants is the string behind them."""
    if isinstance(value, Registry):
        return f'Every {value.choice} by name; `@{name}.register("my_own")` adds one.'
    if inspect.isclass(value) or inspect.isroutine(value):
        return first_line(value)
    return _behind(door, name)


def first_line(value: Any) -> str:
    """Return the first sentence of a docstring, in one line."""
    return _first(inspect.getdoc(value) or "")


def _first(docstring: str) -> str:
    return _plain(docstring.partition("\n\n")[0])


def _behind(door: str, name: str) -> str:
    """Return the string behind the assignment of a constant, in the module that defines it."""
    from pixelis.lazy_exports import exported

    home = importlib.import_module(exported(door)[name])
    body = ast.parse(inspect.getsource(home)).body
    for node, following in zip(body, [*body[1:], None], strict=True):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            said = following.value if isinstance(following, ast.Expr) else None
            return _plain(str(said.value)) if isinstance(said, ast.Constant) else ""
    return ""


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("``", "`").replace("|", "\\|")


def main() -> int:
    """Write the page, or with ``--check`` compare it; return an exit code."""
    if "--check" in sys.argv[1:]:
        if PAGE.exists() and PAGE.read_text(encoding="utf-8") == page():
            return 0
        print(f"out of date: {PAGE.name}; run: python scripts/public_names.py")
        return 1
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
