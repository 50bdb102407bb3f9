"""The alarm when the policy's entropy leaves the range in which it began."""

from __future__ import annotations

import json
import logging

import pytest
from rich.console import Console

from pixelis.agents.rl.alarms import EntropyRange
from pixelis.agents.runs.metrics import read_metrics
from pixelis.cli import train as command
from pixelis.cli.console import warnings_on

# Seen with SmolLM2 at a learning rate of 0.0002 on tasks it could do, and with pixelis-tiny that learns.
COLLAPSE = (0.15, 0.15, 0.17, 0.2, 0.3, 0.5, 0.8, 1.1, 1.4)
LEARNING = (0.55, 0.52, 0.5, 0.4, 0.3, 0.2, 0.12, 0.08, 0.05)


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "ALARM" in record.getMessage()]


def test_a_collapse_is_told_once_and_counted_in_every_step(caplog):
    watched = EntropyRange()
    found = [watched.note(value, 0.3) for value in COLLAPSE]
    assert found[:3] == [None] * 3 and found[-1] == 1
    assert found[3:] == sorted(found[3:])  # once outside it stays so
    (warning,) = told(caplog)
    assert "rose from 0.157" in warning and "--lr" in warning


def test_learning_to_succeed_is_no_alarm_but_the_same_fall_without_success_is(caplog):
    rising = [0.1, 0.1, 0.2, 0.4, 0.6, 0.7, 0.85, 0.9, 0.95]
    watched = EntropyRange()
    assert {watched.note(value, rate) for value, rate in zip(LEARNING, rising, strict=True)} <= {None, 0}
    assert not told(caplog)
    watched = EntropyRange()
    assert [watched.note(value, 0.1) for value in LEARNING][-1] == -1
    (warning,) = told(caplog)
    assert "fell from" in warning


@pytest.mark.parametrize(
    "values",
    [
        (0.01, 0.01, 0.01, 0.05, 0.1, 0.2, 0.25),
        (0.4, 0.6, 0.5, 0.9, 0.3, 1.2, 0.4, 0.9),
        (0.02, 0.03, 0.02, 0, 0, 0),
    ],
)
def test_what_is_small_in_nats_or_only_noisy_is_no_alarm(values):
    watched = EntropyRange()
    assert {watched.note(value, None) for value in values} <= {None, 0}


def test_its_state_survives_a_stop():
    watched = EntropyRange()
    for value in COLLAPSE[:6]:
        watched.note(value, 0.3)
    again = EntropyRange()
    again.load_state_dict(json.loads(json.dumps(watched.state_dict())))
    assert [again.note(v, 0.3) for v in COLLAPSE[6:]] == [watched.note(v, 0.3) for v in COLLAPSE[6:]]


def test_a_run_that_leaves_its_range_says_so_in_metrics_log_and_on_the_console(
    letter_model, tmp_path, capsys
):
    """At this rate the toy's policy says nearly the same every time before it has learnt what is right."""
    words = ["--env", "toy_env:Toy/Echo-v0", "--model", str(letter_model), "--output", str(tmp_path / "run")]
    words += ["--groups", "4", "--group-size", "8", "--max-new-tokens", "2", "--eval-episodes", "0"]
    assert command.main([*words, "--steps", "25", "--lr", "0.03", "--beta", "0.01"]) == 0
    alarms = [row["policy/entropy_alarm"] for row in read_metrics(tmp_path / "run" / "metrics.jsonl")]
    assert alarms[:3] == [None] * 3 and alarms[3] == 0 and -1 in alarms
    assert capsys.readouterr().out.count("warning: ALARM: the policy's entropy fell") == 1
    assert "WARNING ALARM: the policy's entropy fell" in (tmp_path / "run" / "log.txt").read_text()


def test_the_console_tells_each_kind_of_warning_once(capsys):
    log = logging.getLogger("pixelis.test")
    with warnings_on(Console(width=200)):
        for number in range(3):
            log.warning("too little of [it]: %d", number)
            log.info("not told")
    log.warning("told elsewhere")
    assert capsys.readouterr().out == "warning: too little of [it]: 0\n"
