"""When a score parts from the reward: the formula, by hand."""

from __future__ import annotations

import math

import pytest

from pixelis.agents.runs.watch.divergence import Change, change_between, parts_ways


def test_the_change_between_two_windows_by_hand():
    # Windows (0, 2) and (4, 8): means 1 and 6, variances 2 and 8, error √(2/2 + 8/2).
    change = change_between([99.0, 0.0, 2.0, 4.0, 8.0], 2)
    assert (change.before, change.after, change.difference) == (1, 6, 5)
    assert change.error == pytest.approx(math.sqrt(5))


@pytest.mark.parametrize(
    ("reward", "watched", "z", "alarm"),
    [
        (Change(0, 5, 2), Change(9, 4, 2), 2.0, True),
        (Change(0, 5, 2), Change(9, 4, 2), 2.6, False),  # 5 < 2.6 · 2
        (Change(0, 5, 2), Change(9, 4, 3), 2.0, False),  # the fall is within its error
        (Change(0, 5, 3), Change(9, 4, 2), 2.0, False),  # the rise is
        (Change(0, 5, 2), Change(4, 9, 2), 2.0, False),  # both rise
        (Change(5, 0, 2), Change(9, 4, 2), 2.0, False),  # both fall
        (Change(0, 1, 0), Change(1, 0, 0), 2.0, True),  # without any noise the least change counts
        (Change(1, 1, 0), Change(1, 0, 0), 0.0, False),  # no change is no rise
    ],
)
def test_an_alarm_needs_a_rise_and_a_fall_beyond_their_errors(reward, watched, z, alarm):
    assert parts_ways(reward, watched, z) is alarm
