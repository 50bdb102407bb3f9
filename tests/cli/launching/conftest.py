"""What the tests of commands that start others share."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from launching_commands import Started


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    """Return what starts commands in ``tmp_path``; what a failed test leaves is killed."""
    each = Started(tmp_path)
    yield each
    for process in each.living():
        process.send_signal(signal.SIGKILL)
    for command in each.commands:
        command.wait(20)


@pytest.fixture
def free_ports() -> tuple[int, int]:
    """Return two ports that nobody listens at."""
    with socket.socket() as first, socket.socket() as second:
        first.bind(("127.0.0.1", 0))
        second.bind(("127.0.0.1", 0))
        return first.getsockname()[1], second.getsockname()[1]
