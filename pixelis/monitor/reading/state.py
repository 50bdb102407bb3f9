"""What became of a run: it trains, ended, was stopped, failed or was killed."""

from __future__ import annotations

import json
import os
import re
import struct
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pixelis.monitor.reading.folders import Root

Name = Literal["training", "done", "stopped", "failed", "killed", "unknown"]
_LOCK = ".lock"
_END = 1 << 16
"""Bytes at the end of a log that are searched for how the run ended."""
_STARTED = re.compile(r" INFO training from step (\d+)")
_STOPPED = re.compile(r" INFO stopped after step (\d+)(.*)")
_FAILED = re.compile(r" ERROR stopped: (.*)")
_LARGEST = 1 << 24
"""Bytes of an evaluation file."""


@dataclass(frozen=True)
class State:
    """How a run stands.

    Attributes:
        name: ``unknown`` where its files do not say, as those of older versions.
        detail: in words, such as the reason of a failure.
    """

    name: Name
    detail: str


def state_of(holder: int | None, log: str, evaluated: Collection[Any], steps: Any = None) -> State:
    """Return how a run stands.

    Args:
        holder: see `holder_of`.
        log: the end of its log.
        evaluated: the steps after which it was evaluated at the end of training; None is one that is not
            told.
        steps: with which it ends, as its settings say; without an evaluation it is done after these.
    """
    if holder:
        return State("training", f"process {holder}")
    started = max((found.start() for found in _STARTED.finditer(log)), default=-1)
    failed = [found for found in _FAILED.finditer(log) if found.start() > started]
    if failed:
        return State("failed", failed[-1][1][:500])
    stopped = [found for found in _STOPPED.finditer(log) if found.start() > started]
    if stopped:
        is_done = None in evaluated or stopped[-1][1] in {str(steps), *map(str, evaluated)}
        return State("done" if is_done else "stopped", f"after step {stopped[-1][1]}{stopped[-1][2][:200]}")
    if holder is not None:
        return State("killed", "its process is gone and did not say why; --resume goes on")
    return State("unknown", "its files do not say whether it goes on")


def ended_after(evaluations: Mapping[str, Any]) -> list[int | None]:
    """Return the steps of the evaluations at the end of a training; nothing where there is none."""
    rows = evaluations.get("after")
    if not isinstance(rows, list):
        return []
    steps = [row.get("step") for row in rows if isinstance(row, Mapping)]
    return [step if isinstance(step, int) else None for step in steps]


def holder_of(root: Root, parts: tuple[str, ...]) -> int | None:
    """Return the process that trains in a run folder, 0 where a lock is left that nobody holds, else None.

    The lock is asked for and not taken: a training that starts just then is not disturbed.
    """
    if not sys.platform.startswith("linux"):
        return None
    import fcntl

    try:
        with root.open(*parts, _LOCK) as file:
            asked = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            told = fcntl.fcntl(file.fileno(), fcntl.F_GETLK, asked)
    except OSError:
        return None
    kind, _, _, _, process = struct.unpack("hhqqi", told)
    return 0 if kind == fcntl.F_UNLCK else process


def read_end(root: Root, *parts: str, most: int = _END) -> str:
    """Return the last bytes of a text file, what is no UTF-8 replaced; empty where there is none."""
    try:
        with root.open(*parts) as file:
            file.seek(max(file.seek(0, 2) - most, 0))
            return file.read(most).decode("utf-8", "replace")
    except OSError:
        return ""


def read_json(root: Root, *parts: str) -> Mapping[str, Any]:
    """Return the object of a JSON file; empty where there is none, or it is damaged or huge."""
    try:
        with root.open(*parts) as file:
            found = json.loads(file.read(_LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
