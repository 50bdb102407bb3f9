"""Commands that start others, in processes of their own that can all be found again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).parents[3]
TOYS = ROOT / "tests" / "agents" / "rl"
MARK = "PIXELIS_TEST_MARK"


def _heed_signals() -> None:
    """Forget what was ignored where the tests were started, as by ``nohup`` or in the background."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Command(subprocess.Popen):
    """A process that prints into a file, which can be read while it runs."""

    def __init__(self, words: list[str], out: Path, **options: Any) -> None:
        with out.open("w") as file:
            super().__init__(
                words,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                preexec_fn=_heed_signals,
                **options,
            )
        self.printed = out.read_text


class Started:
    """Starts commands whose processes, and whatever these start, carry a mark in their environment."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.mark = folder, uuid.uuid4().hex
        self.commands: list[Command] = []

    @property
    def environment(self) -> dict[str, str]:
        path = os.pathsep.join(map(str, (ROOT, TOYS)))
        own = {"PYTHONPATH": path, "COLUMNS": "200", "OMP_NUM_THREADS": "1", MARK: self.mark}
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        return {**inherited, **own}  # NiceGUI behaves otherwise in tests of pytest

    def __call__(self, *words: object, **environment: str) -> Command:
        """Start Python with these words; what it prints can be read while it does."""
        out = self.folder.parent / f"{self.folder.name}.{len(self.commands)}.txt"
        command = [sys.executable, *map(str, words)]
        self.commands.append(Command(command, out, cwd=self.folder, env={**self.environment, **environment}))
        return self.commands[-1]

    def pixelis(self, *words: object) -> Command:
        """Start the command ``pixelis``."""
        return self("-m", "pixelis", *words)

    def whole(self, *words: object) -> tuple[int, str]:
        """Run the command ``pixelis`` to its end; return its exit code and what it printed."""
        process = self.pixelis(*words)
        code = process.wait(timeout=500)
        return code, process.printed()

    def living(self) -> list[psutil.Process]:
        """Return the processes that carry the mark and have not ended."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get(MARK) == self.mark and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def all_ended(self, seconds: float = 20.0) -> bool:
        """Return whether nothing is left within some time."""
        return wait_until(lambda: not self.living(), seconds)


def wait_until(holds: Callable[[], bool], seconds: float = 200.0) -> bool:
    """Return whether something came to hold in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.02)
    return holds()
