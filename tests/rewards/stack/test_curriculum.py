"""Stages of weights: forward by steps and by what was learnt, back when it is lost."""

from __future__ import annotations

import json

import pytest

from pixelis.errors import ConfigError, RewardError, StateError
from pixelis.rewards.stack.curriculum import StageChange, WeightCurriculum, read_curriculum
from pixelis.rewards.stack.stages import (
    PERFORMANCE_CURRICULUM,
    ExitCondition,
    WeightRollback,
    WeightStage,
    read_stages,
)

KNOWN = ("success/rate", "coherence/raw")


def two(*exits, check_every=1, rollback=None, **first):
    """A curriculum of the stages ``one`` and ``two``."""
    stages = [WeightStage("one", {"task": 1.0}, tuple(exits), **first), WeightStage("two", {"task": 0.5})]
    return WeightCurriculum(stages, available_metrics=["x", "y"], rollback=rollback, check_every=check_every)


def test_by_step_as_shipped():
    curriculum = read_curriculum("steps")
    weights = {}
    for step in range(0, 6001, 100):
        curriculum.observe(step, {})
        weights[step] = tuple(curriculum.weights.values())
    assert weights[900] == (1.0, 0.0, 0.0)
    assert weights[1000] == weights[4900] == (0.7, 0.2, 0.1)
    assert weights[5000] == weights[6000] == (0.5, 0.3, 0.2)
    assert [(change.step, change.stage) for change in curriculum.history] == [(1000, "some"), (5000, "full")]


def test_by_performance_as_shipped():
    curriculum = read_curriculum("performance", KNOWN)
    success = {0: 0.2, 500: 0.9}
    changes = {}
    rate = 0.0
    for step in range(2_000):
        rate = success.get(step, rate)
        change = curriculum.observe(step, {"success/rate": rate, "coherence/raw": min(0.2, step / 15_000)})
        if change:
            changes[change.stage] = (step, change.reason)
    assert changes["learn_coherence"] == (600, "success/rate_ma100 > 0.7 (0.9)")
    # Coherence grows by 1/15,000 < 0.001 a step: five checks, 100 steps apart, see that slope.
    assert changes["full"][0] == 1100
    assert changes["full"][1].startswith("slope of coherence/raw_ma100 < 0.001")


def test_any_one_exit_is_enough():
    exits = (ExitCondition("x", 1.0), ExitCondition("y", 0.0, comparison="<="))
    assert two(*exits).observe(1, {"x": 0.0, "y": 0.0}).reason == "y <= 0 (0)"
    assert two(*exits).observe(1, {"x": 2.0, "y": 1.0}).reason == "x > 1 (2)"
    assert two(*exits).observe(1, {"x": 1.0, "y": 1.0}) is None


def test_patience_is_checks_in_a_row():
    curriculum = two(ExitCondition("x", 0.5, patience=3))
    values = [1, 1, 0, 1, 1, 1]
    changes = [curriculum.observe(step, {"x": value}) for step, value in enumerate(values, 1)]
    assert [change is not None for change in changes] == [False] * 5 + [True]


def test_minimum_samples_count_values_not_steps():
    curriculum = two(ExitCondition("x", 0.5), min_samples=3)
    rows = [{"x": 1.0}, {}, {"x": None}, {"x": 1.0}, {"x": float("nan")}, {"x": 1.0}]
    changes = [curriculum.observe(step, row) for step, row in enumerate(rows, 1)]
    assert [change is not None for change in changes] == [False] * 5 + [True]


def test_exits_are_judged_every_so_many_steps():
    curriculum = two(ExitCondition("x", 0.5), check_every=10)
    assert [step for step in range(1, 30) if curriculum.observe(step, {"x": 1.0})] == [10]


def test_mean_and_slope():
    mean = two(ExitCondition("x", 2.0, statistic="mean", comparison=">=", window=3))
    assert [step for step, x in enumerate([3, 3, 0, 1, 5], 1) if mean.observe(step, {"x": x})] == [3]
    flat = two(ExitCondition("x", 0.1, statistic="slope", comparison="<", window=3))
    assert [step for step, x in enumerate([0, 1, 2, 2, 2], 1) if flat.observe(step, {"x": x})] == [5]


def test_fallback_on_steps():
    curriculum = two(ExitCondition("x", 0.5), steps=7, check_every=100)
    changes = [curriculum.observe(step, {"x": 0.0}) for step in range(1, 9)]
    assert [change.reason for change in changes if change] == ["7 steps"]


def test_products_of_metrics():
    curriculum = two(ExitCondition("x * y_ma2", 0.6))
    assert curriculum.observe(1, {"x": 0.9, "y": 0.5}) is None
    assert curriculum.observe(2, {"x": 0.9}) is None  # no y, so no product
    assert curriculum.observe(3, {"x": 0.9, "y": 0.9}).reason == "x * y_ma2 > 0.6 (0.63)"  # 0.9 * 0.7


# ---------------------------------------------------------------------- rollback


def rolling(**rule):
    rule = {"metric": "x", "window": 2, "cooldown": 5, **rule}
    return two(ExitCondition("x", 0.7), check_every=2, rollback=WeightRollback(**rule))


def play(curriculum, values, start=1):
    """Return (step, event) of every change."""
    changes = [curriculum.observe(step, {"x": value}) for step, value in enumerate(values, start)]
    return [(change.step, change.event) for change in changes if change]


def test_a_drop_goes_back_cools_down_and_doubles_the_interval():
    curriculum = rolling()
    assert play(curriculum, [0.8, 0.8]) == [(2, "advance")]
    assert play(curriculum, [0.8, 0.76, 0.76], 3) == []  # not more than 0.05 below 0.8
    assert play(curriculum, [0.7, 0.7], 6) == [(6, "rollback")]  # mean of 0.76 and 0.7
    assert curriculum.weights == {"task": 1.0}
    assert curriculum.interval == 4
    assert curriculum.history[-1].reason == "x fell from 0.8 to 0.73, by more than 0.05"
    # Frozen until step 11, and step 11 is the first at least 4 steps after 6.
    assert play(curriculum, [0.9] * 6, 8) == [(11, "advance")]
    assert play(curriculum, [0.0] * 3, 14) == [(14, "rollback")]  # mean of 0.9 and 0
    assert curriculum.interval == 8


def test_a_floor_goes_back_too():
    curriculum = rolling(drop=10.0, floor=0.6)
    assert play(curriculum, [0.8, 0.8, 0.65, 0.61]) == [(2, "advance")]
    assert play(curriculum, [0.5], 5) == [(5, "rollback")]
    assert "below the floor 0.6" in curriculum.history[-1].reason


def test_the_first_stage_has_nowhere_to_go_back_to():
    assert play(rolling(floor=0.9), [0.1] * 20) == []


# ---------------------------------------------------------------------- state


def test_a_saved_curriculum_goes_on_the_same(tmp_path):
    values = [0.8, 0.8, 0.5, 0.5, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.2, 0.2, 0.9]
    whole = rolling()
    expected = play(whole, values)
    assert [event for _, event in expected] == ["advance", "rollback", "advance", "rollback"]
    for cut in range(len(values)):
        first, second = rolling(), rolling()
        before = play(first, values[:cut])
        first.save(tmp_path / "curriculum.json")
        second.load(tmp_path / "curriculum.json")
        assert before + play(second, values[cut:], cut + 1) == expected
        assert second.history == whole.history
        assert second.state_dict() == json.loads(json.dumps(whole.state_dict()))
    assert isinstance(whole.history[0], StageChange)


def test_states_that_do_not_fit_are_refused():
    state = rolling().state_dict()
    with pytest.raises(StateError, match="curriculum: expected a state of version 1, got version 0"):
        rolling().load_state_dict({**state, "version": 0})
    with pytest.raises(StateError, match=r"\['a', 'two'\]"):
        rolling().load_state_dict({**state, "stages": ["a", "two"]})
    with pytest.raises(StateError, match="does not fit"):
        rolling().load_state_dict({**state, "progress": {"place": 1}})
    with pytest.raises(StateError, match="exits are not those"):
        rolling().load_state_dict({**state, "progress": {**state["progress"], "stage": 5}})


# ---------------------------------------------------------------------- bad input


def test_metrics_that_nobody_computes_are_an_error_at_the_start():
    for metric in ("z", "z_ma10", "x * z", "x_ma", "x_ma0"):
        with pytest.raises(ConfigError, match=r"stage 'one': nobody computes the metric"):
            two(ExitCondition(metric, 1.0))
    with pytest.raises(ConfigError, match="rollback: nobody computes the metric 'z'"):
        rolling(metric="z")
    with pytest.raises(ConfigError, match="available_metrics"):
        read_curriculum("performance")
    with pytest.raises(ConfigError, match="Did you mean 'success/rates'"):
        read_curriculum("performance", ["success/rates", "coherence/raw"])


@pytest.mark.parametrize("metric", ["x_ma3", "x * y", "x*y_ma100", "y"])
def test_metrics_made_of_known_ones_are_known(metric):
    assert two(ExitCondition(metric, 1.0)).stage.name == "one"


def test_steps_must_grow_and_metrics_be_numbers():
    curriculum = two(ExitCondition("x", 0.5))
    curriculum.observe(3, {"x": 0.0, "other": "text"})
    with pytest.raises(RewardError, match="steps must grow, got 3 after 3"):
        curriculum.observe(3, {"x": 0.0})
    with pytest.raises(RewardError, match="metric x: expected a number"):
        curriculum.observe(4, {"x": "high"})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (7, "expected steps, performance, or a mapping"),
        ({"stages": {}}, "mapping of name to stage"),
        ({"stages": {"a": {}}}, "stage 'a' needs weights"),
        ({"stages": {"a": {"weights": {"task": -1}}}}, "stage 'a': weight of task"),
        ({"stages": {"a": {"weights": {}}, "b": {"weights": {}}}}, "stage 'a' can never end"),
        ({"stages": {"a": {"weights": {}, "stepps": 4}}}, "Did you mean 'steps'"),
        ({"stages": {"a": {"weights": {}, "steps": 0}}}, "steps must be an integer"),
        ({"stages": {"a": {"weights": {}, "exits": "x"}}}, "exits must be a list"),
        ({"stages": {"a": {"weights": {}, "exits": [{"metric": "x"}]}}}, "needs a metric and a threshold"),
        ({"stages": {"a": {"weights": {}}}, "check": 1}, "Did you mean 'check_every'"),
        ({"stages": {"a": {"weights": {}}}, "check_every": 0}, "check_every must be"),
        ({"stages": {"a": {"weights": {}}}, "rollback": {"drop": 1}}, "rollback needs a metric"),
        ({"stages": {"a": {"weights": {}}}, "rollback": {"metric": "x", "drop": -1}}, "drop must be"),
        ({"stages": {"a": {"weights": {}}}, "rollback": {"metric": "x", "cooldown": -1}}, "cooldown"),
    ],
)
def test_bad_plain_data(values, message):
    with pytest.raises(ConfigError, match=message):
        read_curriculum(values, ["x"])


@pytest.mark.parametrize(
    "changes",
    [
        {"comparison": "=="},
        {"statistic": "median"},
        {"threshold": "x"},
        {"patience": 0},
        {"window": 0},
        {"statistic": "slope", "window": 1},
    ],
)
def test_bad_exits(changes):
    with pytest.raises(ConfigError, match="exit on 'x'"):
        ExitCondition(**{"metric": "x", "threshold": 1.0, **changes})


def test_shipped_stages_can_be_read():
    assert [stage.name for stage in read_stages(PERFORMANCE_CURRICULUM["stages"])] == [
        "learn_goal",
        "learn_coherence",
        "full",
    ]


def test_stages_that_end_by_steps_take_turns_ever_less_often():
    stages = [WeightStage("a", {"task": 1.0}, steps=5), WeightStage("b", {"task": 1.0})]
    rollback = WeightRollback("x", floor=0.5, window=1, cooldown=0)
    curriculum = WeightCurriculum(stages, available_metrics=["x"], rollback=rollback, check_every=1)
    found = [curriculum.observe(step, {"x": 0.4 if curriculum.index else 0.9}) for step in range(1, 200)]
    assert [each.step for each in found if each] == [5, 6, 16, 17, 37, 38, 78, 79, 159, 160]
    assert curriculum.history[2].reason == "10 steps"
