"""What is looked at before a training starts: real ports, disks and control groups."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path

import psutil
import pytest

from pixelis.cli.launching.checks import (
    available_memory,
    check_devices,
    check_disk,
    check_memory,
    check_monitor,
    check_ports,
    check_python,
)


def test_what_this_machine_has_is_fine(tmp_path, free_ports):
    ports = dict(zip(("--monitor-port", "--tensorboard-port"), free_ports, strict=True))
    findings = [check_python(), check_monitor(), check_disk(tmp_path / "new" / "run", 0), check_memory(0)]
    findings += check_ports(ports)
    assert [finding.name for finding in findings] == ["python", "extras", "disk", "memory", "ports"]
    assert all(finding.is_fine for finding in findings)
    assert not (tmp_path / "new").exists()


def test_each_port_that_is_taken_is_told_with_its_flag(free_ports):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        (found,) = check_ports({"--monitor-port": free_ports[0], "--tensorboard-port": port})
    assert not found.is_fine and f"cannot listen at 127.0.0.1:{port}" in found.told
    assert f"choose another --tensorboard-port, such as {port % 65_535 + 1}" in found.told


def test_two_servers_need_two_ports():
    (found,) = check_ports({"--monitor-port": 7000, "--tensorboard-port": 7000})
    assert not found.is_fine
    assert found.told == "--monitor-port and --tensorboard-port must differ, both are 7000"


@pytest.fixture
def small_disk(tmp_path):
    """Mount a disk of 1 MB, where that is allowed."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("mounting a file system is not allowed here; the next test asks for more than there is")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_small_disk_is_told(small_disk):
    found = check_disk(small_disk / "runs" / "one", 2)
    assert not found.is_fine and "0.00 GB are free on the disk of" in found.told
    assert "2 GB are wanted; make room, choose a folder of another disk with --output" in found.told
    assert check_disk(small_disk / "runs", 0.001).is_fine


def test_more_disk_and_memory_than_there_is(tmp_path):
    assert not check_disk(tmp_path, 1e9).is_fine
    found = check_memory(1e9)
    assert not found.is_fine and "1e+09 GB are wanted; end other programs" in found.told


def test_a_file_in_the_way_of_the_run_folder(tmp_path):
    (tmp_path / "runs").touch()
    found = check_disk(tmp_path / "runs" / "one", 0)
    assert not found.is_fine and "runs' is no folder; choose another --output" in found.told


def test_a_folder_that_cannot_be_written(read_only_folder):
    process = os.fork()  # access(2) looks at the real user
    if not process:
        if os.geteuid() != os.getuid():
            euid = os.geteuid()
            os.seteuid(0)
            os.setuid(euid)
        os._exit(int(check_disk(read_only_folder / "run", 0).is_fine))
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0


def test_devices_that_are_not_there():
    found = check_devices(4, 0)
    assert not found.is_fine
    assert found.told.startswith("--multi-gpu 4 wants 4 CUDA devices, torch sees 0; leave it out")
    assert check_devices(1, 2).told == "2 CUDA devices, 1 is trained on"
    assert check_devices(2, 2).is_fine and check_devices(2, 2).told == "2 CUDA devices, 2 are trained on"


def group(folder: Path, names: tuple[str, str], values: tuple[str, str], cache: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in zip(names, values, strict=True):
        (folder / name).write_text(f"{value}\n")
    (folder / "memory.stat").write_text(f"anon 5\ninactive_file {cache}\n")


@pytest.mark.parametrize(
    ("line", "below", "names"),
    [
        ("0::/a/b", "", ("memory.max", "memory.current")),
        ("4:cpu,memory:/a/b", "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes")),
    ],
    ids=["version 2", "version 1"],
)
def test_the_tightest_control_group_counts(tmp_path, line, below, names):
    root = tmp_path / "groups" / below
    (tmp_path / "own").write_text(f"2:pids:/\n{line}\n")
    group(root / "a" / "b", names, ("max" if not below else "9223372036854771712", "10"), 0)
    group(root / "a", names, ("1000000", "600000"), 50_000)
    group(root, names, ("2000000", "100000"), 0)
    assert available_memory(tmp_path / "groups", tmp_path / "own") == 450_000
    (root / "memory.stat").unlink()
    (root / "a" / names[0]).write_text("max\n")
    assert available_memory(tmp_path / "groups", tmp_path / "own") <= psutil.virtual_memory().total


def test_a_real_control_group_is_seen(tmp_path):
    """One of version 1 with a limit of 64 MB, made where that is allowed, with this process's child in it."""
    folder = Path("/sys/fs/cgroup/memory") / f"pixelis-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("no control groups of version 1 can be made here")
    try:
        (folder / "memory.limit_in_bytes").write_text("67108864")
        (tmp_path / "own").write_text(f"4:memory:/{folder.name}\n")
        assert 60e6 < available_memory(own=tmp_path / "own") <= 67108864
    finally:
        folder.rmdir()


def test_where_there_are_no_groups_the_machine_counts(tmp_path):
    total = psutil.virtual_memory().total
    assert 0 < available_memory(tmp_path, tmp_path / "none") <= total
