"""The one folder a candidate may write: how much is in it, and emptying it. Standard library only.

A candidate may have nested folders deeper than a path or a recursion can reach, taken away its own
permissions, or planted links: nothing here recurses or follows a link.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable

MOST_FILES = 1000


def holds_more(folder: str, size: int, entries: int) -> bool:
    """Return whether the folder has more than ``size`` bytes or ``entries`` names, or cannot be read."""
    pending = [folder]
    try:
        while pending:
            with os.scandir(pending.pop()) as found:
                for entry in found:
                    entries -= 1
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                    else:
                        size -= entry.stat(follow_symlinks=False).st_size
                    if entries < 0 or size < 0:
                        return True
    except FileNotFoundError:  # it changes while it is read
        return False
    except OSError:  # deeper than a path may be long, or closed to its owner
        return True
    return False


def empty(folder: str, beat: Callable[[], None] = lambda: None) -> None:
    """Remove everything in ``folder``, and put the folder itself back as it was made.

    Args:
        folder: The scratch folder; nothing runs any more that could write to it.
        beat: Called for every entry, since there may be many.
    """
    try:
        if stat.S_IMODE(os.stat(folder).st_mode) == 0o700 and not os.listdir(folder):
            return  # as nearly every candidate leaves it
    except FileNotFoundError:
        os.mkdir(folder, mode=0o700)
    os.chmod(folder, 0o700)
    root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        while found := os.listdir(root):
            for name in found:
                beat()
                _remove(root, name)
    finally:
        os.close(root)


def _remove(root: int, name: str) -> None:
    """Remove one entry; what a folder holds is first moved up, beside it, so that depth never matters."""
    if not stat.S_ISDIR(os.lstat(name, dir_fd=root).st_mode):
        os.unlink(name, dir_fd=root)
        return
    os.chmod(name, 0o700, dir_fd=root)
    inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=root)
    try:
        for entry in os.listdir(inner):
            os.rename(entry, f".{os.urandom(12).hex()}", src_dir_fd=inner, dst_dir_fd=root)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=root)
