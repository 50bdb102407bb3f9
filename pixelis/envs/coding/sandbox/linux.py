"""The few Linux system calls that Python has no name for. Standard library only.

Every function raises ``OSError`` when the kernel refuses, so that the caller can name the missing layer.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP = 1, 4, 22, 24
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 36, 38
_CAPABILITY_VERSION_3 = 0x20080522
_M_ARENA_MAX = -8
_CAPSET = {"x86_64": 126, "aarch64": 91}

MACHINE = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
IS_LINUX = sys.platform == "linux"
_LIBC = ctypes.CDLL(None, use_errno=True) if IS_LINUX else None


def syscall(number: int, *arguments: object) -> int:
    """Make the system call ``number``; integers are passed as 64 bits, pointers as ctypes objects."""
    if _LIBC is None:
        raise OSError("expected Linux")
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in arguments]
    return _checked(_LIBC.syscall(ctypes.c_long(number), *words))


def prctl(option: int, *arguments: object) -> int:
    """Set one attribute of this process (see ``man 2 prctl``)."""
    if _LIBC is None:
        raise OSError("expected Linux")
    words = [ctypes.c_ulong(word) if isinstance(word, int) else word for word in arguments]
    words += [ctypes.c_ulong(0)] * (4 - len(words))
    return _checked(_LIBC.prctl(ctypes.c_int(option), *words))


def drop_capabilities() -> None:
    """Give up every capability for good, so that root cannot raise its limits or pass by file modes."""
    for capability in range(64):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:  # past the last one, or not allowed to: then there is nothing to gain by exec either
            break
    clear_capabilities()


def clear_capabilities() -> None:
    """Give up every capability this process has; without new privileges none comes back."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    syscall(_CAPSET[MACHINE], ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)()))


def share_heap() -> None:
    """Let all threads allocate from one heap: one each reserves 64 MB of address space (RLIMIT_AS)."""
    mallopt = getattr(_LIBC, "mallopt", None)  # glibc's; other C libraries have one heap anyway
    if mallopt is not None:
        mallopt(ctypes.c_int(_M_ARENA_MAX), ctypes.c_int(1))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
