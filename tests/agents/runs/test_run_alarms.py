"""What alarms do while a run trains: told once a stretch, a reason to stop, a lower rate in bounds."""

from __future__ import annotations

import json

import pytest

from pixelis.agents.runs.alarm_watch import QUIET
from pixelis.agents.runs.run_alarms import LEAST_SHARE, LOWERED, RunAlarms


class Rate:
    """A learning rate that alarms lower, and their `RunAlarms`."""

    def __init__(self, on_alarm="lower_lr"):
        self.value, self.factors = 1.0, []
        self.alarms = RunAlarms(on_alarm, {}.get, self.lower)

    def lower(self, factor):
        self.value *= factor
        self.factors.append(factor)
        return {"policy/lr": self.value}

    def train(self, rows):
        return [self.alarms.note(row) for row in rows]


def kl(*stretches):
    """Return rows in which the KL is so large for some steps, one after the other."""
    values = [value for value, count in stretches for _ in range(count)]
    return [{"step": step, "policy/kl_reference": value} for step, value in enumerate(values, 1)]


def told(caplog):
    return [record.getMessage() for record in caplog.records]


def test_an_alarm_is_told_once_a_stretch_with_name_step_and_advice(caplog):
    rows = kl((5.0, 20), (0.0, 20), (5.0, 20))
    found = Rate("warn").train(rows)
    # On from the fifth value to the third after the stretch: (3 · 0 + 2 · 5) / 5 is above 1, 5 / 5 is not.
    assert [row["alarms/on"] for row in found] == [0] * 4 + [1] * 19 + [0] * 18 + [1] * 19
    first, second = told(caplog)
    assert first.startswith("ALARM: KL is large (step 5): policy/kl_reference is 5 nats a token; it has left")
    assert "lower --lr or raise --beta" in first
    assert second.startswith("ALARM: KL is large (step 42)")


def test_what_the_trainer_knows_takes_the_place_of_the_rules_words(caplog):
    alarms = RunAlarms("warn", {"KL is large": "read this"}.get, lambda factor: {})
    for row in kl((5.0, 5)):
        alarms.note(row)
    assert told(caplog) == ["ALARM: KL is large (step 5): read this"]


def test_only_the_step_with_which_an_alarm_goes_on_is_one_to_stop_at():
    rate = Rate("stop")
    stopped = [(rate.train([row]), rate.alarms.stopped)[1] for row in kl((5.0, 20))]
    assert [bool(each) for each in stopped] == [False] * 4 + [True] + [False] * 15
    assert [alarm.name for alarm in stopped[4]] == ["KL is large"] and not rate.factors


def test_the_rate_is_lowered_once_a_stretch_and_not_below_its_bound(caplog):
    rate = Rate()
    rows = rate.train(kl(*[(5.0, 20), (0.0, 20)] * 7))
    third = pytest.approx(1 / 3)
    assert third == LOWERED and rate.factors == [third] * 4 + [pytest.approx(LEAST_SHARE * 81)]
    assert rate.value == pytest.approx(LEAST_SHARE) and rate.alarms.rate_share == pytest.approx(0.01)
    assert rows[4] == {"alarms/on": 1, "policy/lr": third} and rows[5] == {"alarms/on": 1}
    assert sum("lower it no more" in text for text in told(caplog)) == 2  # the sixth and the seventh stretch
    assert "multiplied by 0.333 (0.333 with what alarms did before), for: KL is large" in told(caplog)[1]


def test_another_alarm_lowers_it_again_only_where_it_is_still_on_after_the_quiet_steps():
    def rows(falls):  # the KL is large from step 22 on; from step 23 success has fallen, for `falls` steps
        return [
            {
                "step": step,
                "policy/kl_reference": 5.0 if step > 20 else 0.0,
                "success/rate": 0.2 if step <= 5 or 22 < step <= 22 + falls else 0.5,
            }
            for step in range(1, 61)
        ]

    def lowered(falls):
        rate, steps = Rate(), []
        for row in rows(falls):
            steps += [row["step"]] if "policy/lr" in rate.alarms.note(row) else []
        return steps

    on = 22  # (4 · 0 + 5) / 5 = 1 is not above 1, so the second value makes it
    assert lowered(0) == [on]
    assert lowered(8) == [on]  # success is back before the ten steps are over
    assert lowered(30) == [on, on + QUIET + 1]


def test_alarms_that_the_rate_has_no_part_in_leave_it():
    rate = Rate()
    rate.train([{"step": step, "policy/mismatch": 0.5} for step in range(1, 20)])
    assert rate.alarms.on == ("sampler and trainer differ",) and rate.factors == []


@pytest.mark.parametrize("on_alarm", ["warn", "stop", "lower_lr"])
@pytest.mark.parametrize("cut", [3, 5, 6, 21, 25, 44, 50])
def test_alarms_that_go_on_from_their_state_do_the_same(on_alarm, cut, caplog):
    rows = kl((5.0, 20), (0.0, 20), (5.0, 20))
    whole = Rate(on_alarm)
    expected, words = whole.train(rows), told(caplog)
    caplog.clear()
    first, second = Rate(on_alarm), Rate(on_alarm)
    found = first.train(rows[:cut])
    second.value = first.value
    second.alarms.load_state_dict(json.loads(json.dumps(first.alarms.state_dict())))
    assert found + second.train(rows[cut:]) == expected and told(caplog) == words
    assert second.alarms.state_dict() == whole.alarms.state_dict()


def test_a_stop_that_goes_on_with_a_lower_rate_lowers_it_for_what_is_still_on():
    stopped, rate = Rate("stop"), Rate()
    rows = kl((5.0, 20))
    stopped.train(rows[:5])
    rate.alarms.load_state_dict(json.loads(json.dumps(stopped.alarms.state_dict())))
    rate.train(rows[5:])
    assert rate.factors == [LOWERED]


def test_steps_before_a_checkpoint_without_alarms_are_judged_and_what_is_still_on_is_told(caplog):
    rows = kl((5.0, 20), (0.0, 20), (5.0, 20))
    for cut, expected in ((10, [5, 42]), (30, [42]), (45, [42]), (60, [])):
        caplog.clear()
        rate = Rate("warn")
        rate.alarms.catch_up(rows[:cut])
        assert not told(caplog)  # until there is a log to write to
        rate.train(rows[cut:])
        assert [int(text.split("step ")[1].split(")")[0]) for text in told(caplog)] == expected, cut
