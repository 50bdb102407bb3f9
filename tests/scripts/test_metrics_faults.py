"""Metrics of real trainings that are killed, or whose disk fills: rows counted, one line said."""

from __future__ import annotations

import json
import random
import re
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from pixelis.agents.run_files.checkpoint import latest_checkpoint, step_of
from pixelis.agents.runs.metrics import comparable_metrics, read_metrics

pytestmark = pytest.mark.slow
TOY = ("--env", "toy_env:Toy/Echo-v0", "--groups", 4, "--group-size", 4, "--max-new-tokens", 2, "--lr", 0.01)
TOLD = re.compile(r"^step (\d+)/", re.MULTILINE)


def whole_lines(path: Path) -> tuple[list[int], bytes]:
    """Return the steps of the lines that end, and what follows the last of them."""
    *lines, rest = path.read_bytes().split(b"\n")
    return [json.loads(line)["step"] for line in lines], rest


def test_a_kill_loses_no_row_that_was_written(start, wait_for_step, letter_model, tmp_path):
    """Every step that the run told of before the kill is in the file, and nothing but whole rows."""
    process = start("train_agent", *TOY, "--model", letter_model, "--steps", 100_000, "--eval-episodes", 0,
                    "--checkpoint-every", 3, "--output", "run", "--smoothed", "reward/mean")  # fmt: skip
    metrics = tmp_path / "run" / "metrics.jsonl"
    wait_for_step(process, metrics, 12)
    time.sleep(random.Random(5).uniform(0, 0.2))
    process.kill()
    out, _ = process.communicate()
    assert process.returncode == -signal.SIGKILL
    steps, rest = whole_lines(metrics)
    told = [int(step) for step in TOLD.findall(out)]
    assert steps == list(range(1, len(steps) + 1)) and rest == b""
    assert len(told) >= 11 and max(told) <= len(steps) <= max(told) + 1
    saved = step_of(latest_checkpoint(tmp_path / "run" / "checkpoints"))
    board = EventAccumulator(str(tmp_path / "run" / "tensorboard")).Reload()
    shown = [event.step for event in board.Scalars("reward/mean")]
    assert shown == list(range(1, len(shown) + 1)) and len(shown) >= saved - 3  # flushed with each checkpoint


def test_a_full_disk_at_a_row_keeps_all_rows_before_it(start, warm_run, letter_model, tmp_path):
    """No file may grow beyond 30 kB, which only ``metrics.jsonl`` would; checkpoints of this model are larger
    and so come at the start alone, before the limit."""
    words = (
        *TOY,
        "--model",
        letter_model,
        "--eval-episodes",
        0,
        "--checkpoint-every",
        1000,
        "--samples-every",
        0,
    )
    process = start("train_agent", *words, "--steps", 100_000, "--output", "run")
    metrics = tmp_path / "run" / "metrics.jsonl"
    while not metrics.exists() or metrics.stat().st_size < 4_000:
        assert process.poll() is None and not time.sleep(0.01)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (30_000, 30_000))
    out, err = process.communicate(timeout=200)
    assert process.returncode == 1 and "Traceback" not in err
    lines = [line for line in err.splitlines() if line.startswith("error:")]
    assert len(lines) == 1 and "File too large" in lines[0] and "step-00000000 is intact" in lines[0], err
    steps, rest = whole_lines(metrics)
    assert steps == list(range(1, len(steps) + 1)) and len(steps) >= 3 and rest == b""
    assert len(TOLD.findall(out)) <= len(steps)

    code, _, err = warm_run("train_agent", "--resume", "run", "--steps", 6)
    assert code == 0, err
    code, _, err = warm_run("train_agent", *words, "--steps", 6, "--output", "whole")
    assert code == 0, err
    assert comparable_metrics(metrics) == comparable_metrics(tmp_path / "whole" / "metrics.jsonl")


def test_a_disk_that_fills_under_tensorboard_alone_ends_the_run_too(start, letter_model, tmp_path):
    """Its folder is a disk of its own, of 48 kB; the rows go on until its thread has told."""
    board = tmp_path / "run" / "tensorboard"
    board.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", "size=48k", "tmpfs", str(board)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("mounting a file system is not allowed here; the test above limits a file's size instead")
    try:
        words = (*TOY, "--model", letter_model, "--eval-episodes", 0, "--checkpoint-every", 2)
        process = start("train_agent", *words, "--steps", 100_000, "--samples-every", 1, "--output", "run")
        _, err = process.communicate(timeout=200)
    finally:
        subprocess.run(["umount", str(board)], check=True)
    lines = [line for line in err.splitlines() if line.startswith("error:")]
    assert process.returncode == 1 and len(lines) == 1 and "Traceback" not in err, err
    saved = latest_checkpoint(tmp_path / "run" / "checkpoints").name
    assert (
        "No space left on device" in lines[0]
        and "tensorboard" in lines[0]
        and f"{saved} is intact" in lines[0]
    )
    steps = [row["step"] for row in read_metrics(tmp_path / "run" / "metrics.jsonl")]
    assert steps == list(range(1, len(steps) + 1)) and len(steps) >= step_of(Path(saved))
