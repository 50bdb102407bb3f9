"""Hardening: namespaces the server enters once, a root of its own, a PID namespace for each candidate.

For ``isolation="hardened"`` only. User namespaces make this possible without root; many containers and some
distributions refuse them. See ``man 7 user_namespaces``, ``man 2 pivot_root``. Standard library only.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from . import linux

LIBRARIES = ("/usr/lib", "/usr/lib64", "/usr/lib32", "/lib", "/lib64", "/lib32", "/usr/local/lib")
_SHOWN = (*LIBRARIES, "/etc/ld.so.cache", "/usr/share/zoneinfo", "/proc")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
_NEW_USER, _NEW_MOUNTS, _NEW_PID = 0x10000000, 0x20000, 0x20000000
_NEW_OTHERS = 0x40000000 | 0x8000000 | 0x4000000 | 0x2000000  # network, IPC, host name, cgroup
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = (
    *(1, 2, 4, 32, 4096, 16384),
    1 << 18,
)
_DETACH = 2
_KEPT_FLAGS = 1 | 2 | 4 | 8 | 1024 | 2048  # a mount's own, which an unprivileged remount may not take away
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_CLONE = {"x86_64": 56, "aarch64": 220}


def enter_namespaces() -> None:
    """Leave the host's network, IPC, mounts, names and users behind, keeping user and group numbers."""
    user, group = os.getuid(), os.getgid()
    _call("unshare", _NEW_USER | _NEW_MOUNTS | _NEW_OTHERS)
    linux.prctl(linux.PR_SET_DUMPABLE, 1)  # the files below belong to root while it is not
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    linux.prctl(linux.PR_SET_DUMPABLE, 0)
    _call("sethostname", b"sandbox", 7)
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE)


def enter_root(scratch: str, size: int) -> None:
    """Replace the root folder by one that holds libraries, a few devices and an empty scratch folder only.

    Args:
        scratch: Path of the scratch folder, before and after.
        size: Bytes that it may hold, in memory.
    """
    root = scratch  # hidden below the new root from now on
    _mount("tmpfs", root, "tmpfs", _MS_NOSUID | _MS_NODEV, "size=1m,mode=755")
    for path in dict.fromkeys([*_SHOWN, *_DEVICES, *sys.path]):  # a folder before what lies in it
        if os.path.exists(path):
            _show(path, root)
    os.makedirs(root + scratch)
    _mount("tmpfs", root + scratch, "tmpfs", _MS_NOSUID | _MS_NODEV, f"size={size},nr_inodes=2000,mode=700")
    os.mkdir(f"{root}/old")
    linux.syscall(
        _PIVOT_ROOT[linux.MACHINE],
        ctypes.c_char_p(os.fsencode(root)),
        ctypes.c_char_p(os.fsencode(f"{root}/old")),
    )
    os.chdir("/")
    _call("umount2", b"/old", _DETACH)
    os.rmdir("/old")
    _mount(None, "/", None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | _MS_NOSUID | _MS_NODEV)


def fork_alone() -> int:
    """Fork so that the child is alone in a PID namespace of its own; like ``os.fork`` in all else."""
    api = ctypes.PyDLL(None, use_errno=True)  # which keeps the interpreter's lock
    api.PyOS_BeforeFork()
    words = (_CLONE[linux.MACHINE], _NEW_PID | signal.SIGCHLD, 0, 0, 0, 0)
    pid = api.syscall(*map(ctypes.c_long, words))
    if pid == 0:
        api.PyOS_AfterFork_Child()
        return 0
    number = ctypes.get_errno()
    api.PyOS_AfterFork_Parent()
    if pid < 0:
        raise OSError(number, os.strerror(number))
    return pid


def _show(path: str, root: str) -> None:
    """Make a file or folder of the host visible below ``root``, to read only; a link stays a link."""
    there = root + path
    os.makedirs(os.path.dirname(there), exist_ok=True)
    if os.path.islink(path):
        os.symlink(os.readlink(path), there)
        return
    if os.path.lexists(there):  # lies in a folder that is shown already
        return
    if os.path.isdir(path):
        os.mkdir(there)
    else:
        os.close(os.open(there, os.O_CREAT | os.O_WRONLY))
    _mount(path, there, None, _MS_BIND | _MS_REC)
    if path not in _DEVICES and path != "/proc":
        kept = os.statvfs(there).f_flag & _KEPT_FLAGS
        _mount(None, there, None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | kept)


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind)]
    _call("mount", *words, ctypes.c_ulong(flags), None if data is None else data.encode())


def _call(name: str, *arguments: Any) -> None:
    if not linux.IS_LINUX:
        raise OSError("expected Linux")
    function: Callable[..., int] = getattr(ctypes.CDLL(None, use_errno=True), name)
    if function(*arguments) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
