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


def _start_a_server(python: Path, log: Path) -> None:
    VllmServer(python, "mini", dtype="float32", rank=16, max_context=None, log=log)


@pytest.mark.skipif(not hasattr(os, "fork") or not Path("/proc").is_dir(), reason="Linux ends it so")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_trainer_that_is_killed_takes_its_server_along(tmp_path, number):
    python, told = tmp_path / "python", tmp_path / "pid"
    python.write_text(f"#!/bin/sh\necho $$ > {told}.part && mv {told}.part {told}\nexec sleep 100\n")
    python.chmod(0o755)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
        trainer = multiprocessing.get_context("fork").Process(
            target=_start_a_server, args=(python, tmp_path / "log")
        )
        trainer.start()
    until = time.monotonic() + 20
    while not told.exists() and time.monotonic() < until:
        time.sleep(0.02)
    server = psutil.Process(int(told.read_text()))
    assert trainer.pid is not None
    os.kill(trainer.pid, number)
    trainer.join()
    gone, _ = psutil.wait_procs([server], 5)
    for each in psutil.process_iter():
        if each.pid == server.pid and not gone:
            each.kill()
    assert gone
