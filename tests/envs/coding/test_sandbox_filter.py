"""The seccomp program, executed step by step for both machines, and the scratch folder's emptying."""

from __future__ import annotations

import errno
import os
import struct

import pytest

from pixelis.envs.coding.sandbox import scratch
from pixelis.envs.coding.sandbox.seccomp import _OWN_PID, program

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOW, REFUSE, UNKNOWN, PRETEND, KILL = "allow", errno.EPERM, errno.ENOSYS, 0, "kill"
NUMBERS = {  # from the kernel's headers, apart from the table under test
    "x86_64": dict(
        read=0, write=1, mmap=9, ioctl=16, socket=41, connect=42, socketpair=53, clone=56, fork=57,
        vfork=58, execve=59, kill=62, fcntl=72, ptrace=101, chmod=90, prctl=157, setrlimit=160, tkill=200,
        futex=202, tgkill=234, openat=257, utimensat=280, prlimit64=302, io_uring_setup=425,
        pidfd_send_signal=424, clone3=435, process_vm_readv=310, bpf=321, mount=165, setns=308, unshare=272,
        memfd_create=319, exit_group=231,
    ),
    "aarch64": dict(
        read=63, write=64, mmap=222, ioctl=29, socket=198, connect=203, socketpair=199, clone=220, execve=221,
        kill=129, fcntl=25, ptrace=117, fchmodat=53, prctl=167, setrlimit=164, tkill=130, futex=98,
        tgkill=131, openat=56, utimensat=88, prlimit64=261, io_uring_setup=425, pidfd_send_signal=424,
        clone3=435, process_vm_readv=270, bpf=280, mount=40, setns=268, unshare=97, memfd_create=279,
        exit_group=94,
    ),
}  # fmt: skip
MACHINES = sorted(NUMBERS)


def execute(machine, number, *arguments, allow_threads=True, architecture=None):
    """Run the classic BPF program as the kernel would; return what it answers."""
    words = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("=iIQ6Q", number, architecture or ARCHITECTURES[machine], 0, *words)
    steps, accumulator, at = program(machine, allow_threads), 0, 0
    for _ in range(10_000):
        code, if_true, if_false, value = steps[at]
        at += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, value)
        elif code == 0x54:
            accumulator &= value
        elif code == 0x05:
            at += value
        elif code == 0x15:
            at += if_true if accumulator == value else if_false
        elif code == 0x35:
            at += if_true if accumulator >= value else if_false
        else:
            assert code == 0x06
            return {0x7FFF0000: ALLOW, 0x80000000: KILL}.get(value, value & 0xFFFF)
    raise AssertionError("the program does not end")


@pytest.mark.parametrize("machine", MACHINES)
def test_numbers_without_arguments(machine):
    numbers = NUMBERS[machine]
    for name in ("read", "write", "mmap", "futex", "openat", "setrlimit", "exit_group"):
        assert execute(machine, numbers[name]) == ALLOW, name
    for name in set(numbers) & {
        "socket", "connect", "fork", "vfork", "execve", "ptrace", "tkill", "io_uring_setup",
        "pidfd_send_signal", "process_vm_readv", "bpf", "mount", "setns", "unshare", "memfd_create",
    }:  # fmt: skip
        assert execute(machine, numbers[name]) == REFUSE, name
    assert execute(machine, 0x40000000) == execute(machine, 5000) == REFUSE  # x32, and calls of the future
    assert execute(machine, numbers["clone3"]) == UNKNOWN
    assert execute(machine, numbers["utimensat"]) == PRETEND
    assert execute(machine, numbers["read"], architecture=0x40000003) == KILL  # the 32-bit entry


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("name", "arguments", "answer"),
    [
        ("kill", (_OWN_PID, 9), ALLOW),
        ("kill", (1, 9), REFUSE),
        ("kill", (0, 9), REFUSE),
        ("kill", (2**64 - 1, 9), REFUSE),
        ("tgkill", (_OWN_PID, 5, 9), ALLOW),
        ("tgkill", (77, _OWN_PID, 9), REFUSE),
        ("prlimit64", (0, 9, 4096, 0), ALLOW),
        ("prlimit64", (1234, 9, 4096, 0), REFUSE),
        ("clone", (0x3D0F00,), ALLOW),
        ("clone", (0x7D0F00,), ALLOW),
        ("clone", (17,), REFUSE),
        ("clone", (0x3D0F00 | 0x10000000,), REFUSE),
        ("clone", (0x3D0F00 & ~0x10000,), REFUSE),
        ("fcntl", (3, 1), ALLOW),
        ("fcntl", (3, 4, 0x800), ALLOW),
        ("fcntl", (3, 4, 0x2800), REFUSE),
        ("fcntl", (3, 8, 1), REFUSE),
        ("fcntl", (3, 10, 9), REFUSE),
        ("fcntl", (3, 15, 4096), REFUSE),
        ("fcntl", (3, 1030, 0), ALLOW),
        ("ioctl", (3, 0x5421), ALLOW),
        ("ioctl", (3, 0x5412), REFUSE),
        ("ioctl", (3, 0x5452), REFUSE),
        ("prctl", (15, 4096), ALLOW),
        ("prctl", (4, 1), REFUSE),
        ("prctl", (1, 0), REFUSE),
        ("socketpair", (1, 1, 0), ALLOW),
        ("socketpair", (1, 1 | 0x80000, 0), ALLOW),
        ("socketpair", (1, 2, 0), REFUSE),
        ("socketpair", (2, 1, 0), REFUSE),
    ],
)
def test_arguments(machine, name, arguments, answer):
    assert execute(machine, NUMBERS[machine][name], *arguments) == answer


@pytest.mark.parametrize("machine", MACHINES)
def test_without_threads_clone_is_refused(machine):
    assert execute(machine, NUMBERS[machine]["clone"], 0x3D0F00, allow_threads=False) == REFUSE


def test_emptying_a_folder_made_to_resist(tmp_path):
    folder, outside = tmp_path / "scratch", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (outside / "kept").write_text("x")
    (folder / "link").symlink_to(outside)
    (folder / "loop").symlink_to(folder)
    (folder / "closed").mkdir()
    (folder / "closed" / "inner").write_text("x")
    (folder / "closed").chmod(0)
    os.mkfifo(folder / "fifo")
    here = os.open(folder, os.O_RDONLY)
    for _ in range(1200):  # deeper than a path may be long and than Python may recurse
        os.mkdir("deep", dir_fd=here)
        deeper = os.open("deep", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(here)
    assert scratch.holds_more(str(folder), 10**9, 10**6)  # what cannot be measured is too much
    folder.chmod(0o500)
    scratch.empty(str(folder))
    assert os.listdir(folder) == []
    assert (outside / "kept").read_text() == "x"
    folder.rmdir()
    scratch.empty(str(folder))
    assert folder.is_dir()


def test_emptying_tells_that_it_goes_on(tmp_path):
    """The server gives signs of life meanwhile: a candidate must not make it look dead with many files."""
    for name in "abc":
        (tmp_path / name).mkdir()
        (tmp_path / name / "inner").touch()
    beats = []
    scratch.empty(str(tmp_path), lambda: beats.append(1))
    assert len(beats) == 6 and os.listdir(tmp_path) == []


def test_what_a_folder_holds(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(b"x" * 100)
    assert not scratch.holds_more(str(tmp_path), 100, 2)
    assert scratch.holds_more(str(tmp_path), 99, 2)
    assert scratch.holds_more(str(tmp_path), 100, 1)
    assert not scratch.holds_more(str(tmp_path / "gone"), 0, 0)
