"""How a run stands, from what real runs leave: a lock, a log, evaluations."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pixelis.monitor.reading.folders import Root
from pixelis.monitor.reading.state import (
    State,
    ended_after,
    holder_of,
    read_end,
    read_json,
    state_of,
)

STARTED = "2026-01-01 10:00:00,000 INFO training from step 0, settings abc\n"
STOPPED = "2026-01-01 10:05:00,000 INFO stopped after step 12\n"
FAILED = "2026-01-01 10:05:00 ERROR stopped: no space left\nTraceback\n"
HOLD = """
import sys
from pathlib import Path
from pixelis.agents.run_files.claim import claim
with claim(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def standing(folder: Path) -> State:
    root = Root(folder)
    evaluated = ended_after(read_json(root, "evaluation.json"))
    return state_of(holder_of(root, ()), read_end(root, "log.txt"), evaluated)


@pytest.mark.parametrize(
    ("log", "evaluated", "expected"),
    [
        ("", False, "unknown"),
        (STARTED, False, "unknown"),
        (STARTED + STOPPED, False, "stopped"),
        (STARTED + STOPPED, True, "done"),
        (STARTED + FAILED, False, "failed"),
        (STARTED + FAILED + STARTED + STOPPED, False, "stopped"),
        (STARTED + STOPPED + STARTED, False, "unknown"),
        ("\x00\xff" * 100_000 + STARTED + FAILED, False, "failed"),
    ],
)
def test_the_log_says_how_it_ended(tmp_path: Path, log: str, evaluated: bool, expected: str):
    (tmp_path / "log.txt").write_text(log)
    (tmp_path / "evaluation.json").write_text(json.dumps({"after": [{"step": 12}]} if evaluated else {}))
    assert standing(tmp_path).name == expected


def test_why_it_stopped_is_told():
    log = STARTED + STOPPED.rstrip() + ": its 9.5 minutes are over\n"
    assert state_of(0, log, []) == State("stopped", "after step 12: its 9.5 minutes are over")


def test_a_run_that_took_its_steps_is_done_without_an_evaluation():
    assert [state_of(0, STARTED + STOPPED, [], steps).name for steps in (12, 13, None, "12", [12])] == [
        "done",
        "stopped",
        "stopped",
        "done",
        "stopped",
    ]


def test_the_reason_of_a_failure_is_told(tmp_path: Path):
    (tmp_path / "log.txt").write_text(STARTED + FAILED)
    assert standing(tmp_path).detail == "no space left"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="who holds a lock is asked on Linux alone")
def test_a_lock_says_who_trains_and_that_it_was_killed(tmp_path: Path):
    (tmp_path / "log.txt").write_text(STARTED)
    words = [sys.executable, "-c", HOLD, str(tmp_path)]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None and process.stdout is not None
    assert process.stdout.readline() == "held\n"
    assert standing(tmp_path) == State("training", f"process {process.pid}")
    assert standing(tmp_path).name == "training"  # to ask takes nothing
    process.kill()
    process.wait()
    assert (tmp_path / ".lock").exists()
    assert standing(tmp_path).name == "killed"
    process.stdin.close()
    process.stdout.close()


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", '{"a": NaN', "[" * 50_000])
def test_damaged_files_are_as_if_empty(tmp_path: Path, text: str):
    (tmp_path / "evaluation.json").write_text(text)
    assert read_json(Root(tmp_path), "evaluation.json") == {}


def test_a_run_that_goes_on_and_is_interrupted_is_not_done_by_an_earlier_evaluation():
    log = STARTED + STOPPED
    assert state_of(0, log, ended_after({"after": [{"step": 4}]}), 400).name == "stopped"
    assert state_of(0, log, ended_after({"after": [{"step": 12}]}), 400).name == "done"
    assert state_of(0, log, ended_after({"after": [{}]}), 400).name == "done"  # it does not say of which step
    assert ended_after({}) == ended_after({"after": "soon"}) == []
