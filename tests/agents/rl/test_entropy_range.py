"""The alarm when the policy's entropy leaves the range in which it began."""

from __future__ import annotations

import json
import logging

import pytest
from rich.console import Console

from pixelis.agents.rl.alarms import EntropyRange
from pixelis.agents.runs.alarm_watch import AlarmWatch
from pixelis.agents.runs.metrics import read_metrics
from pixelis.cli import train as command
from pixelis.cli.console import warnings_on

# Seen with SmolLM2 at a learning rate of 0.0002 on tasks it could do, and with pixelis-tiny that learns.
COLLAPSE = (0.15, 0.15, 0.17, 0.2, 0.3, 0.5, 0.8, 1.1, 1.4)
LEARNING = (0.55, 0.52, 0.5, 0.4, 0.3, 0.2, 0.12, 0.08, 0.05)


def noted(values, rates):
    """Return what the range and the alarms of the metrics say of these entropies and rates of success."""
    watched, watch = EntropyRange(), AlarmWatch()
    found, alarms = [], []
    for step, (value, rate) in enumerate(zip(values, rates, strict=True), 1):
        found.append(watched.note(value, rate))
        row = {"step": step, "policy/entropy": value, "policy/entropy_alarm": found[-1], "success/rate": rate}
        alarms += watch.note(row)
    return found, alarms


def test_a_collapse_is_told_once_and_counted_in_every_step():
    found, alarms = noted(COLLAPSE, [0.3] * len(COLLAPSE))
    assert found[:3] == [None] * 3 and found[-1] == 1
    assert found[3:] == sorted(found[3:])  # once outside it stays so
    (alarm,) = alarms
    assert (alarm.name, alarm.step) == ("entropy rises", 7) and found.index(1) == 6
    # (.15 + .15 + .17) / 3 and (.5 + .8) / 2
    assert "rose from 0.157 to 0.65 nats" in alarm.seen and "--lr" in alarm.advice


def test_learning_to_succeed_is_no_alarm_but_the_same_fall_without_success_is():
    found, alarms = noted(LEARNING, [0.1, 0.1, 0.2, 0.4, 0.6, 0.7, 0.85, 0.9, 0.95])
    assert set(found) <= {None, 0} and not alarms
    found, alarms = noted(LEARNING, [0.3] * 3 + [0.4, 0.5] + [0.56] * 4)  # half the way to .8
    assert set(found) <= {None, 0} and not alarms
    found, (alarm,) = noted(LEARNING, [0.1] * len(LEARNING))
    assert found[-1] == -1
    assert alarm.name == "entropy falls" and "fell from" in alarm.seen


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
    assert watched.state_dict()["success"] == [0.3] * 3
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
    first, words = alarms.index(-1) + 1, "the policy's entropy fell from"
    told = f"ALARM: entropy falls (step {first}): {words}"
    assert capsys.readouterr().out.count(f"warning: {told}") == 1
    log = (tmp_path / "run" / "log.txt").read_text()
    assert f"WARNING {told}" in log and log.count(words) == 1


def test_the_console_tells_each_kind_of_warning_once(capsys):
    log = logging.getLogger("pixelis.test")
    with warnings_on(Console(width=200)):
        for number in range(3):
            log.warning("too little of [it]: %d", number)
            log.info("not told")
    log.warning("told elsewhere")
    assert capsys.readouterr().out == "warning: too little of [it]: 0\n"
