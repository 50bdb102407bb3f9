"""Alarms from metrics alone: what goes wrong is told once, where it goes on; what goes well is not."""

from __future__ import annotations

import json
import math
import random
from typing import get_args

import pytest

from pixelis.agents.runs.alarm_rules import LONG, RULES
from pixelis.agents.runs.alarm_tracks import RunningWindow, deviation
from pixelis.agents.runs.alarm_watch import QUIET, AlarmWatch
from pixelis.agents.settings.alarms import AlarmName, AlarmThresholds
from pixelis.agents.settings.rl import TrainConfig
from pixelis.errors import ConfigError

HEALTHY = {
    "success/rate": 0.5,
    "policy/entropy": 0.4,
    "policy/kl_reference": 0.05,
    "policy/mismatch": 1e-6,
    "policy/grad_norm": 0.2,
    "groups/filter_rate": 0.2,
    "completion/mean": 30.0,
    "turns/cut": 0.02,
    "watch/alarm": 0,
    "episodes/truncated": 2,
    "episodes/count": 64,
}


DRAWN = [0.5] * 20 + [0.2] * 10


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
        ("loss above its start", {"train/loss": 1.5}, {"train/loss": 0.4, "expert/kept": 3}),
        ("episodes run out", {"episodes/truncated": 40}, {}),
        ("turns are cut off", {"turns/cut": 0.6}, {}),
        ("answers are empty", {"completion/mean": 1.0}, {}),
        ("reward and watched scores part", {"watch/alarm": 1}, {}),
        ("sampler and trainer differ", {"policy/mismatch": 0.5}, {}),
        (
            "the majority is wrong",
            {"vote/agreement": 0.9, "evaluation/success": 0.3, "evaluation/success_high": 0.4},
            {"vote/agreement": 0.5, "evaluation/success": 0.6, "evaluation/success_high": 0.7},
        ),
        ("no gradient", {"policy/grad_norm": None}, {}),
        ("no gradient", {"policy/grad_norm": 0.0}, {}),
    ],
)
def test_each_is_told_once_soon_after_it_begins(alarm, late, early):
    watch = judged(late, early)
    found = [each for each in watch.found if each.name == alarm]
    assert len(found) == 1 and 30 < found[0].step <= 30 + LONG + 2 and found[0].row == found[0].step - 1
    metrics = RULES[alarm].metrics
    assert found[0].advice and found[0].metric == (metrics[1] if "policy/kl_sampler" in late else metrics[0])
    assert any(sign.isdigit() for sign in found[0].seen)  # what was seen, in numbers


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
    assert judged(late).found == [] and AlarmThresholds().solved < 0.95


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


def test_one_huge_value_is_forgotten_when_it_has_left_the_window():
    window = RunningWindow(5)
    for value in (0.02, 1e18, 0.02, 0.02, 0.02, 0.02, 0.02):
        window.note(value)
    assert (window.mean, window.deviation) == (pytest.approx(0.02), 0.0)


def alarms_of(rows, **thresholds):
    watch = AlarmWatch(AlarmThresholds(**thresholds))
    return [(alarm.name, alarm.step) for row in rows for alarm in watch.note(row)]


def rows_of(**values):
    """Return rows of metrics, a list each, numbered from 1."""
    names = {name.replace("__", "/"): column for name, column in values.items()}
    return [
        {"step": step} | dict(zip(names, row, strict=True))
        for step, row in enumerate(zip(*names.values(), strict=True), 1)
    ]


def voted(agreement, last=0.5, high=0.6):
    """Return rows of a vote with an evaluation in the fifth and the tenth."""
    none = [None] * 4
    return rows_of(
        vote__agreement=agreement,
        evaluation__success=[*none, 0.8, *none, last],
        evaluation__success_high=[*none, 0.9, *none, high],
    )


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        # The best mean of 10 is .5; the mean of 5 is (.5 + 4 · .2) / 5 = .26 and then .2, without any noise.
        (rows_of(success__rate=[0.3] * 5 + [0.5] * 10 + [0.2] * 4), []),
        (rows_of(success__rate=[0.3] * 5 + [0.5] * 10 + [0.2] * 5), [("success fell", 20)]),
        # A mean of .5 over 5, then .39 over 10 (from row 15 on): .11 ≥ .1, and no noise at all.
        (rows_of(success__rate=[0.5] * 5 + [0.39] * 9), []),
        (rows_of(success__rate=[0.5] * 5 + [0.39] * 10), [("success below its start", 15)]),
        (rows_of(success__rate=[0.5] * 5 + [0.41] * 30), []),
        # Means of 5: .26 in step 24, then .2. Of 10: .35 in step 25, which is 3 errors of .05 below .5 and no
        # more; then .32 with errors of .049.
        (rows_of(success__rate=DRAWN), [("success fell", 25), ("success below its start", 26)]),
        # Harder levels are drawn, over all levels success rises: neither; but it falls there too (.05): both.
        (rows_of(success__rate=DRAWN, levels__mean_success=[0.4] * 10 + [0.45] * 20), []),
        (rows_of(success__rate=DRAWN, levels__mean_success=[0.45] * 20 + [0.41] * 10), []),
        (
            rows_of(success__rate=DRAWN, levels__mean_success=[0.45] * 22 + [0.39] * 8),
            [("success fell", 27), ("success below its start", 27)],  # its mean of 5 is .402, then .39
        ),
        # KL: means of 5 above 1, and above .2 to the sampler; four values are too few.
        (rows_of(policy__kl_reference=[5.0] * 4), []),
        (rows_of(policy__kl_reference=[0.0] * 4 + [5.1]), [("KL is large", 5)]),
        (rows_of(policy__kl_sampler=[0.0] * 4 + [1.1]), [("KL is large", 5)]),
        (rows_of(policy__kl_sampler=[0.0] * 4 + [0.9]), []),
        # Entropy: past .1 over 10, now .3 over 5: a rise of .2 is more than .08 and than .1; now .19 is not.
        (rows_of(policy__entropy=[0.1] * 10 + [0.3] * 5), [("entropy rises", 15)]),
        (rows_of(policy__entropy=[0.1] * 10 + [0.19] * 5), []),
        # Its own metric of the range in which it began needs no past.
        (
            rows_of(policy__entropy=[0.1, 0.1, 0.1, 0.7], policy__entropy_alarm=[None, None, None, 1]),
            [("entropy rises", 4)],
        ),
        (
            rows_of(policy__entropy=[0.5, 0.5, 0.5, 0.01], policy__entropy_alarm=[None, None, None, -1]),
            [("entropy falls", 4)],
        ),
        # Loss: .5 nats above the mean of the first five.
        (rows_of(train__loss=[1.0] * 5 + [1.4] * 20, tokens__demonstrated=[9] * 25), []),
        (rows_of(train__loss=[1.0] * 5 + [1.6] * 4, tokens__demonstrated=[9] * 9), []),
        (
            rows_of(train__loss=[1.0] * 5 + [1.6] * 5, tokens__demonstrated=[9] * 10),
            [("loss above its start", 10)],
        ),
        (rows_of(train__loss=[1.0] * 5 + [1.6] * 5), []),  # as of a small network, which may rise
        # Truncated: 16 of 64 at the start, so above one half; empty: from 4 tokens to below 2.
        (rows_of(episodes__truncated=[16] * 5 + [32] * 9, episodes__count=[64] * 14), []),
        (
            rows_of(episodes__truncated=[16] * 5 + [36] * 5, episodes__count=[64] * 10),
            [("episodes run out", 10)],
        ),
        # Cut turns: above .3 and the start's by .25, or above one half with no success; not with one of .8.
        (rows_of(turns__cut=[0.1] * 5 + [0.3] * 5), []),
        (rows_of(turns__cut=[0.1] * 5 + [0.4] * 5), [("turns are cut off", 10)]),
        (rows_of(turns__cut=[0.45] * 9), []),
        (rows_of(turns__cut=[0.6] * 5, success__rate=[0.0] * 5), [("turns are cut off", 5)]),
        (rows_of(turns__cut=[0.6] * 9, success__rate=[0.1] * 9), []),
        (rows_of(turns__cut=[0.4] * 9, success__rate=[0.0] * 9), []),
        (rows_of(turns__cut=[0.0] * 5 + [1.0] * 9, success__rate=[0.8] * 14), []),
        (rows_of(completion__mean=[4.0] * 5 + [1.9] * 5), [("answers are empty", 10)]),
        (rows_of(completion__mean=[3.0] * 5 + [1.9] * 5), []),
        (rows_of(policy__mismatch=[0.09] * 20), []),
        (rows_of(policy__mismatch=[0.11] * 5), [("sampler and trainer differ", 5)]),
        # A vote: agreement up by a twentieth, the check down by a tenth with its whole interval.
        (voted([0.40] * 5 + [0.46] * 5), [("the majority is wrong", 10)]),
        (voted([0.40] * 5 + [0.44] * 5), []),
        (voted([0.40] * 5 + [0.46] * 5, last=0.71, high=0.79), []),
        (voted([0.40] * 5 + [0.46] * 5, last=0.5, high=0.8), []),
        (rows_of(vote__agreement=[0.4] * 5 + [0.9] * 5), []),
        # Groups: nine tenths over ten steps.
        (rows_of(groups__filter_rate=[0.9] * 10), [("no differences inside groups", 10)]),
        (rows_of(groups__filter_rate=[1.0] * 9), []),
        (rows_of(groups__filter_rate=[1.0] * 10, success__rate=[0.8] * 10), []),
        # No gradient: in ten steps that played; steps that only score levels have no groups to train on.
        (rows_of(policy__grad_norm=[None] * 9, episodes__count=[8] * 9), []),
        (rows_of(policy__grad_norm=[None] * 10, episodes__count=[8] * 10), [("no gradient", 10)]),
        (rows_of(policy__grad_norm=[None] * 30, episodes__count=[8] * 30, groups__count=[0] * 30), []),
        (rows_of(train__grad_norm=[0.0] * 10), [("no gradient", 10)]),
        # The same in other words is not told beside it.
        (
            rows_of(
                policy__grad_norm=[None] * 12, episodes__count=[8] * 12, groups__filter_rate=[1.0] * 12
            ),
            [("no gradient", 10)],
        ),
    ],
)  # fmt: skip
def test_values_worked_by_hand(rows, expected):
    assert alarms_of(rows) == expected


@pytest.mark.parametrize(
    ("cut", "seen"), [(0.5, ""), (0.96, ", and 0.96 of the turns end at the token limit")]
)
def test_where_turns_are_cut_off_that_is_told_of_a_missing_gradient(cut, seen):
    watch = AlarmWatch()
    for row in rows_of(policy__grad_norm=[None] * 10, episodes__count=[8] * 10, turns__cut=[cut] * 10):
        watch.note(row)
    (alarm,) = [each for each in watch.found if each.name == "no gradient"]
    assert alarm.seen == f"there was no gradient for 10 steps{seen}"
    assert "--max-new-tokens" in alarm.advice


@pytest.mark.parametrize("cut", [1, 7, 33, 36, 41, 59])
def test_a_watch_that_goes_on_from_its_state_tells_what_one_in_one_piece_tells(cut):
    late = {"success/rate": 0.2, "policy/entropy": 1.2, "policy/kl_reference": 2.0, "policy/grad_norm": None}
    rng, rows = random.Random(3), []
    for step in range(1, 61):
        row = {"step": step} | HEALTHY | (late if step > 30 else {})
        rows.append(row | {"policy/entropy": row["policy/entropy"] * (1 + 0.1 * rng.uniform(-1, 1))})
    whole, first, second = AlarmWatch(), AlarmWatch(), AlarmWatch()
    expected = [(whole.note(row), whole.on) for row in rows]
    found = [(first.note(row), first.on) for row in rows[:cut]]
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert second.on == first.on
    found += [(second.note(row), second.on) for row in rows[cut:]]
    assert found == expected and len([each for new, _ in expected for each in new]) >= 4
    assert second.state_dict() == whole.state_dict()


@pytest.mark.parametrize(
    ("rows", "thresholds", "alarm"),
    [
        (rows_of(success__rate=[0.5] * 10 + [0.4] * 5), {"success_fall": 0.09}, "success fell"),
        (rows_of(success__rate=[0.5] * 5 + [0.45] * 10), {"success_below": 0.04}, "success below its start"),
        (rows_of(policy__entropy=[0.01] * 10 + [0.07] * 5), {"entropy_rise": 0.05}, "entropy rises"),
        (rows_of(policy__kl_reference=[0.6] * 5), {"kl_reference": 0.5}, "KL is large"),
        (rows_of(policy__kl_sampler=[0.15] * 5), {"kl_sampler": 0.1}, "KL is large"),
        (rows_of(policy__mismatch=[0.05] * 5), {"mismatch": 0.04}, "sampler and trainer differ"),
        (
            rows_of(train__loss=[1.0] * 5 + [1.3] * 5, tokens__demonstrated=[9] * 10),
            {"loss_rise": 0.2},
            "loss above its start",
        ),
        (rows_of(groups__filter_rate=[0.6] * 10), {"zero_variance": 0.5}, "no differences inside groups"),
        (
            rows_of(episodes__truncated=[20] * 5 + [32] * 5, episodes__count=[64] * 10),
            {"truncated": 0.1},
            "episodes run out",
        ),
        (
            rows_of(groups__filter_rate=[1.0] * 10, success__rate=[0.85] * 10),
            {"solved": 0.9},
            "no differences inside groups",
        ),
    ],
)
def test_a_threshold_decides_when_an_alarm_goes_on(rows, thresholds, alarm):
    assert alarms_of(rows) == []
    assert [name for name, _ in alarms_of(rows, **thresholds)] == [alarm]
    assert alarms_of(rows, **thresholds, ignore=[alarm]) == []


def test_a_fall_that_noise_explains_counts_with_fewer_standard_errors():
    # Mean .6 before; then .1, .1, .1, .1, .7: mean .22, deviation .268, so .38 below by 3.2 standard errors.
    rows = rows_of(success__rate=[0.6] * 10 + [0.7, 0.1, 0.1, 0.1, 0.1])
    assert alarms_of(rows) == []
    assert alarms_of(rows, errors=3.0) == [("success fell", 15)]


def test_every_alarm_has_a_name_that_settings_take():
    assert tuple(RULES) == get_args(AlarmName)
    config = TrainConfig.from_mapping({"alarms": {"ignore": "no gradient, KL is large"}})
    assert config.alarms.ignore == ["no gradient", "KL is large"]
    with pytest.raises(ConfigError, match=r"alarms\.ignore"):
        TrainConfig.from_mapping({"alarms": {"ignore": ["no such"]}})
    with pytest.raises(ConfigError, match=r"alarms\.kl_reference must be .*, got 0"):
        TrainConfig.from_mapping({"alarms": {"kl_reference": 0}})
