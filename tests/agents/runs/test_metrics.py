"""What is measured in a step, and its file."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import pytest

from pixelis.agents.episodes.episode import Episode, Segment
from pixelis.agents.runs.metrics import (
    MetricsLog,
    MovingMeans,
    comparable_metrics,
    episode_metrics,
    read_metrics,
)
from pixelis.errors import OutputError


def episode(reward=0.0, sampled=2, **fields):
    segments = [Segment.given([1]), Segment.written([2] * sampled)]
    return Episode("Toy-v0", 0, 0, 0, segments, reward=reward, visual_tools=frozenset({"ZOOM"}), **fields)


def test_episode_metrics_by_hand():
    calls = [{"tool": "ZOOM", "ok": True}, {"tool": "ZOOM", "ok": False}, {"tool": "", "ok": False}]
    row = episode_metrics(
        [
            episode(1.0, 2, success=True, turns=3, tool_calls=calls, reward_terms={"task": 1.0}),
            episode(0.0, 4, success=False, turns=1, truncated=True, reward_terms={"task": 0.0}),
            episode(9.0, 8, success=True, turns=9, valid_for_training=False),
        ]
    )
    assert row == {
        "reward/mean": 0.5,
        "reward/std": pytest.approx(math.sqrt(0.5)),
        "success/rate": 0.5,
        "episodes/count": 3,
        "episodes/invalid": 1,
        "episodes/failed_share": 1 / 3,
        "episodes/truncated": 1,
        "turns/cut": 0.0,
        "turns/mean": 2.0,
        "turns/min": 1,
        "turns/max": 3,
        "turns/p10": pytest.approx(1.2),
        "turns/p50": 2.0,
        "turns/p90": pytest.approx(2.8),
        "completion/mean": 3.0,
        "completion/min": 2,
        "completion/max": 4,
        "completion/p10": pytest.approx(2.2),
        "completion/p50": 3.0,
        "completion/p90": pytest.approx(3.8),
        "groups/reward_std": pytest.approx(math.sqrt(0.5)),
        "groups/all_right": 0.0,
        "groups/all_wrong": 0.0,
        "actions/ZOOM": 0.4,
        "actions/bad_call": 0.2,
        "actions/none": 0.4,
        "actions/entropy": pytest.approx(-0.8 * math.log(0.4) - 0.2 * math.log(0.2)),
        "visual/episodes": 0.5,
        "visual/calls": 2 / 3,
        "exploration/efficiency": 1 / 3,
        "loops/calls": 1 / 3,
        "loops/episodes": 0.5,
        "tokens/sampled": 14,
        "reward_terms/task": 0.5,
        "tools/per_episode": 1.5,
        "tools/ZOOM/calls": 2,
        "tools/ZOOM/failures": 1,
        "tools/bad_call/calls": 1,
        "tools/bad_call/failures": 1,
    }


def test_metrics_of_nothing():
    row = episode_metrics([episode(valid_for_training=False)])
    assert row["reward/mean"] is None and row["success/rate"] is None and row["completion/max"] is None
    assert row["episodes/invalid"] == 1


def test_success_is_unknown_when_no_env_says():
    assert episode_metrics([episode(1.0)])["success/rate"] is None
    assert episode_metrics([episode(1.0), episode(success=True)])["success/rate"] == 1.0


def test_moving_means():
    means = MovingMeans((2, 4))
    assert means.means() == {2: None, 4: None}
    for value in (1.0, None, 2.0, 3.0, 4.0, 5.0):
        means.add(value)
    assert means.means() == {2: 4.5, 4: 3.5}
    other = MovingMeans((2, 4))
    other.load_state_dict(means.state_dict())
    assert other.means() == means.means()


def test_slope():
    means = MovingMeans((4,))
    assert means.slope() is None
    for value in (9.0, 0.0, 0.25, 0.75):
        means.add(value)
    assert means.slope(3) == pytest.approx(0.375)  # (-1 * 0 + 1 * 0.75) / 2


def test_rows_are_written_at_once_and_exactly(tmp_path):
    path = tmp_path / "metrics.jsonl"
    with MetricsLog(path, tmp_path / "board") as log:
        log.write({"step": 1, "a": 0.1 + 0.2, "b": None, "c": float("nan"), "d": math.inf})
        assert read_metrics(path) == [{"step": 1, "a": 0.1 + 0.2, "b": None, "c": None, "d": None}]
    assert list((tmp_path / "board").glob("events.*"))


def test_rows_after_the_checkpoint_and_half_rows_are_removed(tmp_path):
    path = tmp_path / "metrics.jsonl"
    with MetricsLog(path, tmp_path / "board") as log:
        for step in (1, 2, 3):
            log.write({"step": step, "a": step})
    with path.open("a") as file:
        file.write('{"step": 4, "a"')
    assert [row["step"] for row in read_metrics(path)] == [1, 2, 3]
    with MetricsLog(path, tmp_path / "board", after_step=2) as log:
        log.write({"step": 3, "a": 33})
    assert [json.loads(line)["a"] for line in path.read_text().splitlines()] == [1, 2, 33]


def test_a_last_row_without_its_line_end_is_kept_whole(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}')
    with MetricsLog(path, tmp_path / "board", after_step=1) as log:
        log.write({"step": 2})
    assert [row["step"] for row in read_metrics(path)] == [1, 2]


def test_what_depends_on_the_clock_is_left_out_of_a_comparison(tmp_path):
    path = tmp_path / "metrics.jsonl"
    rows = [{"step": 1, "time/step": 0.5, "a/time": 2}, {"step": 2, "time/env/x": 3, "time": None}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert comparable_metrics(path) == [{"step": 1, "a/time": 2}, {"step": 2, "time": None}]


def test_tensorboard_holds_the_same_numbers(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with MetricsLog(tmp_path / "metrics.jsonl", tmp_path / "board") as log:
        log.write({"step": 1, "reward/mean": 0.5, "reward/std": None})
        log.write({"step": 2, "reward/mean": 0.75, "reward/std": 0.25})
    events = EventAccumulator(str(tmp_path / "board")).Reload()
    assert [(event.step, event.value) for event in events.Scalars("reward/mean")] == [(1, 0.5), (2, 0.75)]
    assert [(event.step, event.value) for event in events.Scalars("reward/std")] == [(2, 0.25)]


def test_a_file_that_cannot_be_written(tmp_path):
    (tmp_path / "metrics.jsonl").mkdir()
    with pytest.raises(OutputError, match="cannot write to"):
        MetricsLog(tmp_path / "metrics.jsonl", tmp_path / "board")


HALF = """
import resource, sys, time
from pathlib import Path
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from pixelis.agents.runs.metrics import MetricsLog
from pixelis.errors import OutputError

folder = Path(sys.argv[1])
with MetricsLog(folder / "metrics.jsonl", folder / "board") as log:
    for step in range(1, 4):
        log.write({"step": step, "a/b": 0.5})
    log.intact = "step-00000002"
    log.sync()
    until, told = time.monotonic() + 60, 0
    while told < 3 and time.monotonic() < until:  # the limit is the process's: its thread must write no more
        events = EventAccumulator(str(folder / "board")).Reload()
        told = len(events.Scalars("a/b")) if "a/b" in events.Tags()["scalars"] else 0
        time.sleep(0.05)
    size = (folder / "metrics.jsonl").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, resource.RLIM_INFINITY))  # of the next row
    try:
        log.write({"step": 4, "a/b": 0.5})
    except OutputError as error:
        print(error)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""


def test_a_row_that_does_not_fit_leaves_no_half_of_it(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", HALF, tmp_path],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "metrics.jsonl': File too large; step-00000002 is intact; choose another --output" in done.stdout
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines(keepends=True)
    assert [json.loads(line)["step"] for line in lines] == [1, 2, 3] and lines[-1].endswith("}\n")


def test_bytes_that_are_no_text_are_left_out(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"step": 1}\n\x00\x00\xff\n{"step": 2}\n[1]\n{"a": 1}\n')
    assert [row["step"] for row in read_metrics(path)] == [1, 2]
