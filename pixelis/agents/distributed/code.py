"""Which code a process runs, so that processes with different code are not mixed."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pixelis

_CACHE = "__pycache__"
_LIBRARIES = ("torch", "transformers")


def code_versions(root: Path | None = None) -> dict[str, str]:
    """Return what of the code must be the same in every process, by its name in a message.

    Args:
        root: folder of the package; None: this one's.
    """
    # What follows a + says for which device a library was built: a trainer on a GPU may have players without.
    libraries = {name: version(name).partition("+")[0] for name in _LIBRARIES}
    own = Path(pixelis.__file__).parent if root is None else root
    return {"code of Pixelis": code_fingerprint(own), "Python": platform.python_version(), **libraries}


def code_fingerprint(root: Path) -> str:
    """Return a SHA-256, as 64 hex digits, of the names and contents of a package's files.

    Pages, scripts, tables and weights count as its modules do: environments show them, models are made of
    them. What Python, editors and desktops leave (``__pycache__``, hidden files) does not.
    """
    found = hashlib.sha256()
    for path in sorted(_files(root), key=Path.as_posix):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        found.update(f"{path.relative_to(root).as_posix()}\n{content}\n".encode())
    return found.hexdigest()


def _files(root: Path) -> Iterator[Path]:
    for folder, inner, names in os.walk(root):
        inner[:] = [name for name in inner if name != _CACHE and not name.startswith(".")]
        yield from (Path(folder, name) for name in names if not name.startswith("."))
