"""Landlock: a process may read the interpreter, write one folder, and touch no other file.

Standard library only.
Layout of the structures and meaning of the bits: https://docs.kernel.org/userspace-api/landlock.html
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterable

from .linux import IS_LINUX, syscall

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every machine
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE, _MAKE_REGULAR = 1 << 4 | 1 << 5, 1 << 7 | 1 << 8  # folders and files
_MAKE_LINK, _REFER, _TRUNCATE, _IOCTL_DEVICE = 1 << 12, 1 << 13, 1 << 14, 1 << 15
_ALL_FILE_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
_PACKAGES = {"site-packages", "dist-packages"}
_DATA = ("/usr/share/zoneinfo",)
_READABLE_DEVICES = ("/dev/urandom", "/dev/random", "/dev/zero")


def abi() -> int:
    """Return the kernel's Landlock version, 0 where there is none."""
    try:
        return syscall(_CREATE_RULESET, None, 0, 1) if IS_LINUX else 0
    except OSError:
        return 0


class Ruleset:
    """Rules made once by the server; every candidate enters them by ``restrict``.

    Args:
        scratch: The only folder that can be written.
        libraries: Shared objects that the interpreter's extension modules load.
    """

    def __init__(self, scratch: str, libraries: Iterable[str]) -> None:
        self.version = abi()
        self._handled = _ALL_FILE_RIGHTS[min(self.version, 5)]
        network = 0b11 if self.version >= 4 else 0  # bind and connect
        scopes = 0b11 if self.version >= 6 else 0  # abstract sockets and signals
        attributes = struct.pack("=QQQ", self._handled, network, scopes)
        size = 8 if self.version < 4 else 16 if self.version < 6 else 24
        self._descriptor = syscall(_CREATE_RULESET, ctypes.c_char_p(attributes), size, 0)
        for folder in filter(os.path.isdir, dict.fromkeys(sys.path)):
            self._allow(folder, _READ_DIR)
            for entry in os.scandir(folder):
                if entry.name not in _PACKAGES:  # where the problems' own reference solutions may lie
                    self._allow(entry.path, _READ_FILE | _READ_DIR)
        for path in {*libraries, *_DATA, *_READABLE_DEVICES, *filter(os.path.isfile, sys.path)}:
            self._allow(path, _READ_FILE | _READ_DIR)
        self._allow(os.devnull, _READ_FILE | _WRITE_FILE)
        self._allow(
            scratch,
            _READ_FILE | _READ_DIR | _WRITE_FILE | _TRUNCATE | _REMOVE | _MAKE_REGULAR | _MAKE_LINK | _REFER,
        )

    def restrict(self) -> None:
        """Confine this process for good; it must have set no_new_privs."""
        syscall(_RESTRICT_SELF, self._descriptor, 1 if self.version >= 7 else 0)  # 1: refusals are not logged

    def _allow(self, path: str, rights: int) -> None:
        try:
            parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            return  # not on this machine
        try:
            if not os.path.isdir(path):
                rights &= _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE
            rule = struct.pack("=Qi", rights & self._handled, parent)
            syscall(_ADD_RULE, self._descriptor, 1, ctypes.c_char_p(rule), 0)
        finally:
            os.close(parent)


def shared_objects() -> list[str]:
    """Return the files mapped into this process, as paths."""
    with open("/proc/self/maps", encoding="utf-8") as lines:
        return sorted({line.split(maxsplit=5)[5].rstrip("\n") for line in lines if " /" in line})
