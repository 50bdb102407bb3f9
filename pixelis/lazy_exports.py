"""Names that a package exports and imports when they are used, so that importing it stays light."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy_exports(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package (PEP 562).

    The names stand once, where type checkers read them: in the package's ``__init__.py``, as
    ``from module import Name as Name`` below ``if TYPE_CHECKING``.

    Args:
        package: the package's ``__name__``.
    """
    homes = exported(package)

    def find(name: str) -> Any:
        """Return what is exported under a name, from the module that defines it."""
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=None)
        return getattr(importlib.import_module(homes[name]), name)

    def names() -> list[str]:
        """Return what is there and what is exported."""
        return sorted({*vars(sys.modules[package]), *homes})

    return find, names, sorted(homes)


def exported(package: str) -> Mapping[str, str]:
    """Return the names that a package exports lazily: name → the module that defines it."""
    source = pkgutil.get_data(package, "__init__.py") or b""
    blocks = [node for node in ast.parse(source).body if isinstance(node, ast.If)]
    imports = [line for block in blocks for line in block.body if isinstance(line, ast.ImportFrom)]
    return {name.name: line.module or "" for line in imports for name in line.names if name.asname}
