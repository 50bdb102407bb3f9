"""What has to be there before a training starts: disk, memory, ports, extras; each failure is one line."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from pixelis.cli.monitor import check_port
from pixelis.errors import ConfigError

HOST = "127.0.0.1"
MONITOR_PACKAGES = ("nicegui", "orjson", "starlette")
_GB = 1e9


@dataclass(frozen=True)
class Requirement:
    """What one check has found.

    Attributes:
        name: what was looked at.
        told: how it stands, or where it fails what is wanted, what is there and what to do.
        is_fine: whether the training can start.
    """

    name: str
    told: str
    is_fine: bool = True


def check_python() -> Requirement:
    """Look at the interpreter (one that is too old does not come here: the shell script looks before)."""
    version = ".".join(map(str, sys.version_info[:3]))
    return Requirement("python", f"{version}, {sys.executable}", sys.version_info >= (3, 10))


def check_monitor() -> Requirement:
    """Look for the packages of the extra ``monitor``."""
    missing = [name for name in MONITOR_PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        advice = "install them with: pip install 'pixelis[monitor]', or leave --monitor out"
        return Requirement("extras", f"--monitor needs {', '.join(missing)}; {advice}", False)
    return Requirement("extras", "monitor, TensorBoard")


def check_ports(ports: dict[str, int]) -> Iterator[Requirement]:
    """Look whether ports of this machine are free.

    Args:
        ports: flag that chooses a port → the port.
    """
    if len(set(ports.values())) < len(ports):
        same = next(iter(ports.values()))
        yield Requirement("ports", f"{' and '.join(ports)} must differ, both are {same}", False)
        return
    fine = True
    for flag, port in ports.items():
        try:
            check_port(HOST, port, flag)
        except ConfigError as error:
            fine = False
            yield Requirement("ports", str(error), False)
    if fine:
        yield Requirement("ports", ", ".join(f"{port} ({flag})" for flag, port in ports.items()))


def check_disk(folder: Path, wanted_gb: float) -> Requirement:
    """Look whether a folder can be written, and how much room its disk has.

    Args:
        folder: need not exist yet.
        wanted_gb: free space that is asked for, in GB (1e9 bytes).
    """
    place = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
    if not (place.is_dir() and os.access(place, os.W_OK | os.X_OK)):
        what = "no writable folder" if place.is_dir() else "no folder"
        return Requirement(
            "disk",
            f"cannot write to {str(folder)!r}: {str(place)!r} is {what}; choose another --output",
            False,
        )
    free = shutil.disk_usage(place).free / _GB
    if free < wanted_gb:
        told = f"{free:.2f} GB are free on the disk of {str(folder)!r}, {wanted_gb:g} GB are wanted"
        advice = "make room, choose a folder of another disk with --output, or ask for less with --disk-gb"
        return Requirement("disk", f"{told}; {advice}", False)
    return Requirement("disk", f"{free:.1f} GB free for {folder}, {wanted_gb:g} wanted")


def check_memory(wanted_gb: float) -> Requirement:
    """Look how much memory is free, in this machine and in the control group that this process is in.

    Args:
        wanted_gb: what is asked for, in GB (1e9 bytes).
    """
    free = available_memory() / _GB
    if free < wanted_gb:
        advice = "end other programs, or ask for less with --memory-gb"
        return Requirement("memory", f"{free:.2f} GB are free, {wanted_gb:g} GB are wanted; {advice}", False)
    return Requirement("memory", f"{free:.1f} GB free, {wanted_gb:g} wanted")


def check_devices(wanted: int, found: int) -> Requirement:
    """Look whether the CUDA devices are there.

    Args:
        wanted: by ``--multi-gpu``.
        found: that torch sees.
    """
    if found < wanted:
        told = f"--multi-gpu {wanted} wants {wanted} CUDA device{'s' * (wanted > 1)}, torch sees {found}"
        return Requirement("gpu", f"{told}; leave it out (--device says where to train)", False)
    trained = f"{wanted} {'is' if wanted == 1 else 'are'} trained on"
    return Requirement("gpu", f"{found} CUDA device{'s' * (found != 1)}, {trained}")


def available_memory(groups: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> float:
    """Return the bytes that a new process can have: of the machine, or what its control group leaves it.

    Args:
        groups: where the control groups are mounted, of version 2, or of version 1 in ``memory``.
        own: the file that says which groups this process is in.
    """
    free = [float(psutil.virtual_memory().available)]
    try:
        lines = own.read_text(encoding="utf-8").splitlines()
    except OSError:  # no Linux
        return free[0]
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            free += _left(groups, path, "memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            free += _left(groups / "memory", path, "memory.limit_in_bytes", "memory.usage_in_bytes")
    return min(free)


def _left(root: Path, path: str, limit: str, usage: str) -> Iterator[float]:
    """Yield what each control group on the way to one has left, which a file cache does not count to."""
    inside = root / path.strip("/")
    for folder in (inside, *(each for each in inside.parents if each == root or root in each.parents)):
        try:
            most = float((folder / limit).read_text())
            used = float((folder / usage).read_text())
            rows = (line.split() for line in (folder / "memory.stat").read_text().splitlines())
            cache = float({row[0]: row[1] for row in rows}.get("inactive_file", "0"))
        except (OSError, ValueError):  # no limit: "max", or the group has no such file
            continue
        yield max(most - used + cache, 0.0)
