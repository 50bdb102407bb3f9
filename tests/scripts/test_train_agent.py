"""``scripts/train_agent.py`` from the outside: a whole run, Ctrl-C, kills, a full disk."""

from __future__ import annotations

import json
import random
import shlex
import shutil
import signal
import subprocess
import time

import pytest

from pixelis.agents.run_files.checkpoint import latest_checkpoint, verify_checkpoint
from pixelis.agents.runs.metrics import comparable_metrics, read_metrics

pytestmark = pytest.mark.slow

TOY = ("--env", "toy_env:Toy/Echo-v0", "--groups", 4, "--group-size", 4, "--max-new-tokens", 2, "--lr", 0.01)


def test_a_whole_run(run, letter_model, tmp_path):
    code, out, err = run(
        "train_agent", *TOY, "--model", letter_model, "--steps", 25, "--groups", 8, "--eval-episodes", 40
    )
    assert code == 0, err
    folder = tmp_path / "runs" / f"echo-{letter_model.name}-seed0"
    assert "run folder: runs/echo-" in out and "step 25/25" in out and "tokens/s" in out and "eta" in out
    assert "Traceback" not in err
    saved = json.loads((folder / "evaluation.json").read_text())
    for before, after in zip(saved["before"], saved["after"], strict=True):
        assert before["mode"] == after["mode"] and before["episodes"] == 40
        assert after["success_rate"] > before["success_rate"] + 0.3
    verify_checkpoint(latest_checkpoint(folder / "checkpoints"))
    assert len(read_metrics(folder / "metrics.jsonl")) == 25


def test_ctrl_c_saves_and_says_how_to_resume(warm_run, start, wait_for_step, letter_model, tmp_path):
    words = (*TOY, "--model", letter_model, "--steps", 5000, "--eval-episodes", 0, "--output", "my run")
    process = start("train_agent", *words, "--checkpoint-every", 1000)
    wait_for_step(process, tmp_path / "my run" / "metrics.jsonl", 3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    command = shlex.split(out[out.index("resume with:") :].splitlines()[1])
    assert (
        command[0] == "python"
        and command[1].endswith("train_agent.py")
        and command[2:] == ["--resume", "my run"]
    )

    done = len(read_metrics(tmp_path / "my run" / "metrics.jsonl"))
    assert latest_checkpoint(tmp_path / "my run" / "checkpoints").name == f"step-{done:08d}"
    code, out, err = warm_run("train_agent", *command[2:], "--steps", done + 2)
    assert code == 0, err
    assert [row["step"] for row in read_metrics(tmp_path / "my run" / "metrics.jsonl")] == list(
        range(1, done + 3)
    )


def test_a_run_killed_at_random_moments_equals_one_that_was_not(
    warm_run, start, warm_start, wait_for_step, letter_model, tmp_path
):
    words = (*TOY, "--model", letter_model, "--steps", 30, "--eval-episodes", 0, "--checkpoint-every", 4)
    code, _, err = warm_run("train_agent", *words, "--output", "whole")
    assert code == 0, err

    metrics, chance = tmp_path / "killed" / "metrics.jsonl", random.Random(11)
    first = (*words, "--output", "killed")
    for low in (1, 6, 11, 16, 21):
        target = chance.randint(low, low + 4)
        process = (
            warm_start("train_agent", "--resume", "killed")
            if metrics.exists()
            else start("train_agent", *first)
        )
        wait_for_step(process, metrics, target)
        time.sleep(chance.uniform(0, 0.1))
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    code, _, err = warm_run("train_agent", "--resume", "killed")
    assert code == 0, err
    assert comparable_metrics(metrics) == comparable_metrics(tmp_path / "whole" / "metrics.jsonl")


def test_who_goes_on_with_a_run_that_still_trains_is_told_and_the_run_loses_nothing(
    warm_run, start, wait_for_step, letter_model, tmp_path
):
    words = (*TOY, "--model", letter_model, "--steps", 100_000, "--eval-episodes", 0)
    metrics = tmp_path / "run" / "metrics.jsonl"
    process = start("train_agent", *words, "--output", "run")
    wait_for_step(process, metrics, 3)
    code, _, err = warm_run("train_agent", "--resume", "run")
    assert code != 0 and f"being trained in by another process ({process.pid})" in err
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    steps = [row["step"] for row in read_metrics(metrics)]
    assert steps == list(range(1, len(steps) + 1)) and len(steps) > 3
    code, _, err = warm_run("train_agent", "--resume", "run", "--steps", len(steps))
    assert code == 0, err


@pytest.fixture
def small_disk(tmp_path):
    """Mount a disk of 700 kB, where that is allowed."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=700k", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip(
            "mounting a file system is not allowed here; test_checkpoint.py limits a file's size instead"
        )
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_one_line_and_the_last_checkpoint_survives(
    run, warm_run, letter_model, tmp_path, small_disk
):
    words = (
        *TOY,
        "--model",
        letter_model,
        "--eval-episodes",
        0,
        "--checkpoint-every",
        1,
        "--keep-checkpoints",
        50,
    )
    code, _, err = run("train_agent", *words, "--steps", 12, "--output", "disk/run")
    assert code == 1
    lines = [line for line in err.splitlines() if line.startswith("error:")]
    assert len(lines) == 1 and "No space left on device" in lines[0] and "intact" in lines[0]
    assert "Traceback" not in err
    survivor = latest_checkpoint(small_disk / "run" / "checkpoints")
    assert survivor.name in lines[0]

    subprocess.run(["mount", "-o", "remount,size=20M", str(small_disk)], check=True)
    code, _, err = warm_run("train_agent", "--resume", "disk/run")
    assert code == 0, err
    code, _, err = warm_run("train_agent", *words, "--steps", 12, "--output", "whole")
    assert code == 0, err
    assert comparable_metrics(small_disk / "run" / "metrics.jsonl") == comparable_metrics(
        tmp_path / "whole" / "metrics.jsonl"
    )
