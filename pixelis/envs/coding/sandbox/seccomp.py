"""A seccomp filter: system calls that are not on the list, or have the wrong arguments, fail with EPERM.

The program is classic BPF over ``struct seccomp_data`` (number, architecture, instruction pointer, six
arguments of 64 bits), see ``man 2 seccomp``. The list alone is not enough: ``prlimit64`` on the server's pid
and ``fcntl`` with ``F_SETOWN``/``F_SETSIG``/``O_ASYNC`` kill the server, and ``clone`` makes threads and
processes. Standard library only.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from . import linux, syscall_table

_AUDIT_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_ALLOW, _ERROR, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_LOAD, _AND, _RETURN, _JUMP = 0x20, 0x54, 0x06, 0x05  # word at an offset, and with a constant, return, always
_IF_EQUAL, _IF_AT_LEAST = 0x15, 0x35
_THREAD_FLAGS, _DETACHED = 0x3D0F00, 0x400000  # what pthread_create of glibc passes; musl adds the second
_FCNTLS = (0, 1, 2, 3, 5, 6, 7, 36, 37, 38, 1030, 1031, 1032)  # descriptors, flags, locks, sizes of pipes
_F_SETFL, _O_ASYNC = 4, 0x2000
_IOCTLS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)  # is a terminal, its size, bytes waiting, flags
_PRCTLS = (15, 16)  # the thread's name
_PRETENDED = ("chmod", "fchmod", "fchmodat", "fchmodat2", "utime", "utimes", "futimesat", "utimensat")
_OWN_PID = 0x7EADBEEF  # replaced by the candidate's own in each child

_Code = list[tuple[int, int, int, int]]
ALLOW: _Code = [(_RETURN, 0, 0, _ALLOW)]
REFUSE: _Code = [(_RETURN, 0, 0, _ERROR | errno.EPERM)]
_UNKNOWN: _Code = [(_RETURN, 0, 0, _ERROR | errno.ENOSYS)]
_PRETEND: _Code = [(_RETURN, 0, 0, _ERROR)]  # answers 0: success, and nothing was done


class Filter:
    """The program for this machine, assembled once and installed by every candidate.

    Args:
        allow_threads: Let ``clone`` make threads; processes are never made.

    Raises:
        OSError: This machine's system call numbers are not known.
    """

    def __init__(self, allow_threads: bool = True) -> None:
        if not linux.IS_LINUX or linux.MACHINE not in _AUDIT_ARCHITECTURES:
            raise OSError(f"expected Linux on x86_64 or aarch64, got {linux.MACHINE}")
        self.code = program(linux.MACHINE, allow_threads)
        self._bytes = bytearray(b"".join(struct.pack("=HBBI", *step) for step in self.code))
        self._own_pids = [8 * i + 4 for i, step in enumerate(self.code) if step[3] == _OWN_PID]

    def install(self) -> None:
        """Bind this process for good; it must have set no_new_privs."""
        for offset in self._own_pids:
            struct.pack_into("=I", self._bytes, offset, os.getpid())
        steps = (ctypes.c_char * len(self._bytes)).from_buffer(self._bytes)
        header = struct.pack("@HP", len(self.code), ctypes.addressof(steps))
        linux.prctl(linux.PR_SET_SECCOMP, 2, ctypes.c_char_p(header))


def program(machine: str, allow_threads: bool) -> _Code:
    """Assemble the filter for one machine: check the architecture, then search the number's interval."""
    answers: dict[int, _Code] = dict.fromkeys(syscall_table.allowed(machine), ALLOW)
    checked = _checks(allow_threads)
    answers |= {number: checked[name] for name, number in syscall_table.checked(machine).items()}
    intervals: list[tuple[int, _Code]] = [(0, REFUSE)]
    for number in sorted({0, *answers, *(number + 1 for number in answers)}):
        code = answers.get(number, REFUSE)
        if code is not intervals[-1][1]:
            intervals.append((number, code))
    head = [(_LOAD, 0, 0, 4), (_IF_EQUAL, 1, 0, _AUDIT_ARCHITECTURES[machine]), (_RETURN, 0, 0, _KILL)]
    return [*head, (_LOAD, 0, 0, 0), *_search(intervals)]


def _search(intervals: list[tuple[int, _Code]]) -> _Code:
    """Return a binary search over intervals, each given by its first number and the code that answers it."""
    if len(intervals) == 1:
        return intervals[0][1]
    middle = len(intervals) // 2
    below, above = _search(intervals[:middle]), _search(intervals[middle:])
    return [(_IF_AT_LEAST, 0, 1, intervals[middle][0]), (_JUMP, 0, 0, len(below)), *below, *above]


def _checks(allow_threads: bool) -> dict[str, _Code]:
    own = _argument_in(0, (_OWN_PID,))
    thread = [_load(0), (_AND, 0, 0, 0xFFFFFFFF ^ _DETACHED), *_equals(_THREAD_FLAGS)]
    no_signal = [_load(2), (_AND, 0, 0, _O_ASYNC), *_equals(0)]
    stream = [_load(1), (_AND, 0, 0, 0xF), *_equals(1)]
    return {
        "kill": own,
        "tgkill": own,
        "prlimit64": _argument_in(0, (0, _OWN_PID)),
        "prctl": _argument_in(0, _PRCTLS),
        "ioctl": _argument_in(1, _IOCTLS),
        "fcntl": [_load(1), (_IF_EQUAL, 0, len(no_signal), _F_SETFL), *no_signal, *_argument_in(1, _FCNTLS)],
        "socketpair": [_load(0), (_IF_EQUAL, 0, len(stream), 1), *stream, *REFUSE],  # AF_UNIX, without a name
        "clone": thread if allow_threads else REFUSE,
        "clone3": _UNKNOWN,  # its flags lie in memory, out of the filter's sight; glibc then takes clone
    } | dict.fromkeys(_PRETENDED, _PRETEND)  # Landlock lets a process change modes and times anywhere


def _load(argument: int) -> tuple[int, int, int, int]:
    return (_LOAD, 0, 0, 16 + 8 * argument)  # the low half; both machines are little-endian


def _equals(value: int) -> _Code:
    return [(_IF_EQUAL, 0, 1, value), *ALLOW, *REFUSE]


def _argument_in(argument: int, values: tuple[int, ...]) -> _Code:
    tests: _Code = [(_IF_EQUAL, len(values) - i, 0, value) for i, value in enumerate(values)]
    return [_load(argument), *tests, *REFUSE, *ALLOW]
