"""Which layers this machine really has: each is entered by a child of the server, which then tests it.

Standard library only; it runs once, when the server starts.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from . import landlock, linux, namespaces
from .child import Confinement, confine
from .seccomp import Filter

_LIMITS = {"cpu": 5, "memory": 512 << 20, "file": 1 << 20, "processes": None}


def harden(scratch: str, size: int) -> dict[str, str]:
    """Enter namespaces and a root of their own; return each layer of hardening and what went wrong, or ""."""
    steps: dict[str, Callable[[], None]] = {
        "namespaces": namespaces.enter_namespaces,
        "private_root": lambda: namespaces.enter_root(scratch, size),
        "pid_namespace": _check_own_pids,
    }
    hardening: dict[str, str] = {}
    for name, step in steps.items():
        hardening[name] = "needs the layer before" if any(hardening.values()) else _attempt(step)
    return hardening


def _check_own_pids() -> None:
    pid = namespaces.fork_alone()
    if pid == 0:
        os._exit(0 if os.getpid() == 1 else 1)
    if os.waitpid(pid, 0)[1] != 0:
        raise OSError("the process was not alone")


def detect(
    scratch: str, allow_threads: bool, hardening: Mapping[str, str]
) -> tuple[Confinement, list[str], dict[str, str]]:
    """Return the confinement for candidates, the names of its layers, and why others are missing."""
    own_pids = hardening.get("pid_namespace") == ""  # to make one, the server keeps what candidates give up
    confinement = Confinement(scratch, own_pids=own_pids, clear_capabilities=own_pids)
    layers, missing = ["session", "rlimits"], {}
    tests: dict[str, Callable[[], None]] = {
        "subreaper": _is_subreaper,
        "parent_death_signal": lambda: _set(linux.PR_SET_PDEATHSIG, signal.SIGKILL),
        "undumpable": lambda: _set(linux.PR_SET_DUMPABLE, 0),
    }
    for name, test in tests.items():
        _note(name, _in_child(test), layers, missing)
    drop = _in_child(linux.clear_capabilities) if own_pids else _attempt(linux.drop_capabilities)
    _note("capabilities_dropped", drop, layers, missing)
    # Taken by the server itself, once: candidates inherit it.
    _note("no_new_privs", _attempt(lambda: _set(linux.PR_SET_NO_NEW_PRIVS, 1)), layers, missing)
    confinement = replace(
        confinement,
        parent_death="parent_death_signal" in layers,
        undumpable="undumpable" in layers,
    )
    confinement = _with_landlock(confinement, layers, missing)
    confinement = _with_seccomp(confinement, allow_threads, layers, missing)
    for name, failure in hardening.items():
        _note(name, failure, layers, missing)
    return confinement, layers, missing


def _with_landlock(confinement: Confinement, layers: list[str], missing: dict[str, str]) -> Confinement:
    version = landlock.abi()
    if not version:
        missing["landlock"] = (
            "the kernel has none (5.13 or newer with CONFIG_SECURITY_LANDLOCK, lsm=landlock)"
        )
        return confinement
    try:
        confined = replace(confinement, ruleset=landlock.Ruleset(confinement.scratch, _libraries()))
    except OSError as error:
        missing["landlock"] = f"rules could not be made: {error}"
        return confinement
    failure = _in_child(lambda: _check_files(confined))
    _note("landlock", failure, layers, missing)
    if not failure:
        failure = "" if version >= 3 else f"version {version}; 3 (kernel 6.2) is needed"
        _note("landlock_truncate", failure, layers, missing)
    return confinement if "landlock" in missing else confined


def _with_seccomp(
    confinement: Confinement, allow_threads: bool, layers: list[str], missing: dict[str, str]
) -> Confinement:
    try:
        confined = replace(confinement, filter=Filter(allow_threads))
    except OSError as error:
        missing["seccomp"] = str(error)
        return confinement
    failure = _in_child(lambda: _check_calls(confined))
    _note("seccomp", failure, layers, missing)
    return confinement if failure else confined


def _check_files(confinement: Confinement) -> None:
    confine(replace(confinement, filter=None), _LIMITS)
    try:
        os.listdir("/")
    except PermissionError:
        pass
    else:
        raise OSError("the folder / could still be read")
    test = Path(confinement.scratch) / "test"
    test.write_text("a file of its own")
    test.unlink()
    importlib.import_module("colorsys")


def _check_calls(confinement: Confinement) -> None:
    confine(confinement, _LIMITS)
    parent = os.getppid()
    attempts: list[Callable[[], object]] = [lambda: os.kill(parent, 0), socket.socket, _fork]
    for attempt in attempts:
        try:
            attempt()
        except PermissionError:
            continue
        raise OSError("a call that is not on the list was made")


def _fork() -> None:
    if os.fork() == 0:
        os._exit(0)


def _libraries() -> list[str]:
    """Return the shared objects that the interpreter's own extension modules load, asked of a child."""
    names = [
        entry.name.partition(".")[0]
        for folder in sys.path
        for entry in _entries(folder)
        if _is_extension(entry)
    ]

    def load() -> str:
        """Import every extension module there is; return the libraries that are mapped then, as JSON."""
        for name in names:
            try:
                importlib.import_module(name)
            except Exception:
                continue  # its library is not installed: then no candidate can import it either
        return json.dumps(landlock.shared_objects())

    try:
        return json.loads(_ask_child(load))
    except ValueError:
        return []


def _entries(folder: str) -> list[os.DirEntry[str]]:
    return list(os.scandir(folder)) if os.path.isdir(folder) else []


def _is_extension(entry: os.DirEntry[str]) -> bool:
    return entry.name.endswith(".so") and not entry.name.startswith(("_test", "_xx", "xx"))


def _set(option: int, value: int) -> None:
    linux.prctl(option, value)


def _is_subreaper() -> None:
    if not linux.IS_LINUX:
        raise OSError("expected Linux")


def _note(name: str, failure: str, layers: list[str], missing: dict[str, str]) -> None:
    if failure:
        missing[name] = failure
    else:
        layers.append(name)


def _in_child(test: Callable[[], None]) -> str:
    """Return "" when ``test`` passes in a child process, else what went wrong there."""
    answer = _ask_child(lambda: _attempt(test) or "passed")
    return "" if answer == "passed" else answer or "the process that tried it died"


def _attempt(test: Callable[[], None]) -> str:
    try:
        test()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _ask_child(work: Callable[[], str]) -> str:
    """Return what ``work`` returns in a child, or "" when the child dies."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.dup2(writing, 3)  # the only descriptor that confine leaves open
            os.write(3, work().encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as answer:
        text = answer.read().decode()
    os.waitpid(pid, 0)
    return text
