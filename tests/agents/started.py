"""Trainings that are started as users start them: a process of their own, or several by ``torchrun``."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import yaml

from pixelis.agents.settings.rl import TrainConfig

ROOT = Path(__file__).resolve().parents[2]
TOYS = os.pathsep.join([str(ROOT / "tests" / "agents" / "rl"), str(ROOT)])
"""Where processes find the toys and this checkout."""
WAIT_SECONDS = 300


class Started:
    """A training that runs, with what it prints in a file.

    Args:
        folder: where it is started; modules that lie there come before all others.
        words: of the command line after ``pixelis``.
        processes: that ``torchrun`` starts; 0: one, without it.
    """

    def __init__(self, folder: Path, *words: object, processes: int = 0) -> None:
        self.log = folder / f"{len(list(folder.glob('*.said')))}.said"
        paths = os.pathsep.join([str(folder), TOYS])
        by = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, *(by if processes else []), "-m", "pixelis", *map(str, words)],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    @property
    def said(self) -> str:
        """What it has printed so far."""
        return self.log.read_text(errors="replace")

    @property
    def told(self) -> list[str]:
        """Its lines of errors."""
        return [line for line in self.said.splitlines() if line.startswith("error: ")]

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self.process.poll() is None

    @property
    def family(self) -> list[psutil.Process]:
        """All processes below it."""
        with contextlib.suppress(psutil.NoSuchProcess):
            return psutil.Process(self.process.pid).children(recursive=True)
        return []

    def rank(self, number: int) -> psutil.Process:
        """Return one of the processes of ``torchrun``."""
        for each in self.family:
            with contextlib.suppress(psutil.Error):
                if each.environ().get("RANK") == str(number):
                    return each
        raise AssertionError(self.said)

    def wait_for_steps(self, run: object, count: int) -> None:
        """Wait until so many steps are written down in a run folder."""
        metrics = Path(str(run)) / "metrics.jsonl"
        until = time.monotonic() + WAIT_SECONDS
        while not metrics.exists() or metrics.read_text().count("\n") < count:
            assert self.is_running and time.monotonic() < until, self.said
            time.sleep(0.01)

    def wait(self) -> int:
        """Return its exit code; nothing of it is left."""
        family = self.family
        code = self.process.wait(WAIT_SECONDS)
        _, living = psutil.wait_procs(family, timeout=30)
        assert not living, living
        return code

    def interrupt(self) -> int:
        """Type Ctrl-C and return the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.wait()

    def kill(self) -> None:
        """End it and all below it."""
        for process in [*self.family, self.process]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self.process.wait()


Start = Callable[..., Started]
"""``start("train", config, …)``: words, a configuration standing for ``--config`` and its file."""


def starter(folder: Path, started: list[Started]) -> Start:
    """Return a starter of trainings that adds what it starts to a list."""

    def start(*words: object, processes: int = 0) -> Started:
        said: list[object] = []
        for word in words:
            if isinstance(word, TrainConfig):
                file = folder / f"{Path(str(word.output)).name}.yaml"
                file.write_text(yaml.safe_dump(word.to_mapping()))
                said += ["--config", file]
            else:
                said.append(word)
        started.append(Started(folder, *said, processes=processes))
        return started[-1]

    return start
