"""Alarms from metrics alone: what goes wrong is told once, where it goes on; what goes well is not."""

from __future__ import annotations

import math
import random

import pytest

from pixelis.agents.runs.alarm_rules import GOOD, LONG, QUIET, RULES, AlarmWatch, RunningWindow, deviation

HEALTHY = {
    "success/rate": 0.5,
    "policy/entropy": 0.4,
    "policy/kl_reference": 0.05,
    "policy/mismatch": 1e-6,
    "policy/grad_norm": 0.2,
    "groups/filter_rate": 0.2,
    "completion/mean": 30.0,
    "watch/alarm": 0,
    "episodes/truncated": 2,
    "episodes/count": 64,
}


def judged(late, early=None, steps=30, after=30):
    """Judge a run that is healthy, but for noise and ``early``, and then what ``late`` says."""
    rng, watch = random.Random(0), AlarmWatch()
    for step in range(1, steps + after + 1):
        row = {"step": step} | HEALTHY | (early or {}) | (late if step > steps else {})
        for name in ("success/rate", "policy/entropy"):
            if row[name] is not None:
                row[name] *= 1 + 0.05 * rng.uniform(-1, 1)
        watch.note(row)
    return watch


def test_a_healthy_run_has_none():
    assert judged({}, steps=300).found == []


@pytest.mark.parametrize(
    ("alarm", "late", "early"),
    [
        ("success fell", {"success/rate": 0.2}, {}),
        ("success below its start", {"success/rate": 0.3}, {}),
        ("entropy rises", {"policy/entropy": 1.2}, {}),
        ("entropy falls", {"policy/entropy": 0.05}, {}),
        ("KL is large", {"policy/kl_reference": 2.0}, {}),
        ("KL is large", {"policy/kl_reference": None, "policy/kl_sampler": 0.5}, {}),
        ("no differences inside groups", {"groups/filter_rate": 1.0}, {}),
        ("episodes run out", {"episodes/truncated": 40}, {}),
        ("answers are empty", {"completion/mean": 1.0}, {}),
        ("reward and watched scores part", {"watch/alarm": 1}, {}),
        ("sampler and trainer differ", {"policy/mismatch": 0.5}, {}),
        ("no gradient", {"policy/grad_norm": None}, {}),
        ("no gradient", {"policy/grad_norm": 0.0}, {}),
    ],
)
def test_each_is_told_once_soon_after_it_begins(alarm, late, early):
    watch = judged(late, early)
    found = [each for each in watch.found if each.name == alarm]
    assert len(found) == 1 and 30 < found[0].step <= 30 + LONG + 2 and found[0].row == found[0].step - 1
    assert found[0].advice and found[0].metric == RULES[alarm][0]


@pytest.mark.parametrize(
    "late",
    [
        {"success/rate": 0.95, "policy/entropy": 0.03, "groups/filter_rate": 1.0, "policy/grad_norm": None},
        {"policy/entropy": 0.45},
        {"success/rate": 0.42},
        {"success/rate": None},
        dict.fromkeys(HEALTHY) | {"policy/grad_norm": 0.2},
    ],
    ids=["it succeeds", "a little more entropy", "a little less success", "no success", "nothing is told"],
)
def test_what_learning_is_for_is_no_alarm(late):
    assert judged(late).found == [] and GOOD < 0.95


def test_one_that_goes_off_and_on_is_told_anew():
    watch = AlarmWatch()
    for step in range(100):
        watch.note({"step": step, "watch/alarm": int(step % 40 < 2 or step % 40 == 2 + QUIET // 2)})
    assert [alarm.step for alarm in watch.found] == [0, 40, 80]
    assert watch.on == ()


def test_odd_values_are_no_values():
    watch = AlarmWatch()
    odd = (math.nan, math.inf, "1", [1], True, 10**400, None, {})
    for value in odd * 20:
        watch.note(dict.fromkeys(HEALTHY, value) | {"step": value})
    assert watch.found == []


def test_a_window_is_held_to_the_plain_formulas():
    rng, window, values = random.Random(1), RunningWindow(5), []
    for _ in range(200):
        values.append(rng.gauss(3, 1))
        window.note(values[-1])
        last = values[-5:]
        assert window.mean == pytest.approx(sum(last) / len(last))
        assert window.deviation == pytest.approx(deviation(last))
