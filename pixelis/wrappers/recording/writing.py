"""Failed writes as one error."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from pixelis.errors import OutputError


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what the operating system says about a failed write into one `OutputError`."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(
            f"cannot write {str(path)!r}: {reason}; choose another folder or make room"
        ) from error
