"""Which code a process runs, so that processes with different code are not mixed."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pixelis


def code_fingerprint() -> str:
    """Return a SHA-256, as 64 hex digits, of the names and contents of this package's Python files."""
    root = Path(pixelis.__file__).parent
    found = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        found.update(f"{path.relative_to(root).as_posix()}\n".encode())
        found.update(path.read_bytes())
    return found.hexdigest()
