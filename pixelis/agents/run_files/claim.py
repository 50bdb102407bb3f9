"""One process at a time trains in a run folder: two would write over each other's steps."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from pixelis.errors import ConfigError
from pixelis.files import writing

LOCK = ".lock"


@contextlib.contextmanager
def claim(folder: Path) -> Iterator[None]:
    """Hold a run folder until the block ends, or the process does, however it ends.

    The lock is the system's own (``fcntl``), which no child process inherits; where there is none (Windows,
    some network file systems), nothing is held.

    Raises:
        ConfigError: another process holds it.
        OutputError: the folder cannot be written.
    """
    path = folder / LOCK
    descriptor = _opened(path)
    try:
        if not _locked(descriptor):
            holder = os.pread(descriptor, 20, 0).decode(errors="replace").strip()
            raise ConfigError(
                f"{str(folder)!r} is being trained in by another process ({holder}); let it end, or end it "
                "and go on with --resume then"
            )
        with contextlib.suppress(OSError):  # on a full disk the lock holds as well; it only has no name
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                path.unlink()
    finally:
        os.close(descriptor)


def _opened(path: Path) -> int:
    with writing(path.parent):
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)


def _locked(descriptor: int) -> bool:
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EACCES, errno.EAGAIN)
    return os.fstat(descriptor).st_nlink > 0  # else its holder has ended just now, and taken it away
