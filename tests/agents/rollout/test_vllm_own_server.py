"""The server of vLLM that the trainer starts ends with it, whatever ends that."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
import warnings
from pathlib import Path

import psutil
import pytest

from pixelis.agents.rollout.vllm.server import VllmServer
from pixelis.errors import SamplerError


def _start_a_server(python: Path, log: Path) -> None:
    VllmServer(python, "mini", dtype="float32", rank=16, max_context=None, log=log)


def _killed_trainer(folder: Path, script: str, number: int) -> list[psutil.Process]:
    """Start a trainer whose server is a script, and kill it; return the server and what is below it."""
    python, told = folder / "python", folder / "pid"
    python.write_text(
        f"#!/bin/sh\n{script.replace('TELL', f'echo $$ > {told}.part && mv {told}.part {told}')}\n"
    )
    python.chmod(0o755)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
        trainer = multiprocessing.get_context("fork").Process(
            target=_start_a_server, args=(python, folder / "log")
        )
        trainer.start()
    until = time.monotonic() + 20
    while not told.exists() and time.monotonic() < until:
        time.sleep(0.02)
    server = psutil.Process(int(told.read_text()))
    family = [server, *server.children(recursive=True)]
    assert trainer.pid is not None
    os.kill(trainer.pid, number)
    trainer.join()
    return family


def _left_of(family: list[psutil.Process], seconds: float) -> list[psutil.Process]:
    """Return who is there after so long, and end them."""
    _, left = psutil.wait_procs(family, seconds)
    for each in left:
        each.kill()
    return left


ON_LINUX = pytest.mark.skipif(
    not hasattr(os, "fork") or not Path("/proc").is_dir(), reason="Linux ends it so"
)


@ON_LINUX
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_trainer_that_is_killed_takes_its_server_along(tmp_path, number):
    family = _killed_trainer(tmp_path, "TELL\nexec sleep 100", number)
    assert not _left_of(family, 5)


@ON_LINUX
@pytest.mark.slow
def test_a_server_that_loses_the_signal_is_killed_with_all_below_it(tmp_path):
    """One of vLLM does, while it starts."""
    family = _killed_trainer(tmp_path, "trap '' TERM\nsleep 100 &\nTELL\nwait", signal.SIGKILL)
    assert len(family) == 2
    assert not _left_of(family, 30)


def test_what_a_server_starts_in_its_last_moment_is_ended_too(tmp_path):
    """It cannot be told among its children before; its group has it."""
    python, told = tmp_path / "python", tmp_path / "pid"
    python.write_text(f"#!/bin/sh\nsleep 100 &\necho $! > {told}\nexit 3\n")
    python.chmod(0o755)
    with pytest.raises(SamplerError, match=r"did not start \(exit code 3\)"):
        _start_a_server(python, tmp_path / "log")
    late = int(told.read_text())
    assert not _left_of([each for each in psutil.process_iter() if each.pid == late], 5)
