"""Stages: forward on a threshold with patience, back when what was learnt is lost."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.agents.settings.sft import CurriculumSettings, SftConfig
from pixelis.agents.settings.sft_curriculum import (
    DifficultyCurriculum,
    DifficultyRollback,
    DifficultyStage,
    worse,
)
from pixelis.errors import CheckpointError, ConfigError

EASY = DifficultyStage(mix={0: 1.0}, threshold=0.9, patience=2)
MIXED = DifficultyStage(mix={0: 1.0, 1: 3.0}, threshold=0.8, steps=100)
HARD = DifficultyStage(mix={2: 1.0})
STAGES = {"easy": EASY, "mixed": MIXED, "hard": HARD}


def at(**accuracy: float) -> dict[int, dict[str, float]]:
    """Return scores from keywords such as ``l0=0.9``."""
    return {int(name[1:]): {"accuracy": value, "loss": 1 - value} for name, value in accuracy.items()}


def test_a_stage_is_left_after_patience_in_a_row():
    curriculum = DifficultyCurriculum(STAGES)
    assert curriculum.observe(10, at(l0=0.95)) is None
    assert curriculum.observe(20, at(l0=0.80)) is None  # starts to count again
    assert curriculum.observe(30, at(l0=0.90)) is None  # the threshold itself passes
    assert curriculum.observe(40, at(l0=0.91)) == "advance"
    assert curriculum.stage is MIXED and curriculum.index == 1
    assert curriculum.history == [(40, "advance", 1)]


def test_the_metric_is_weighted_by_the_mix():
    assert MIXED.shares == {0: 0.25, 1: 0.75}
    assert MIXED.measure(at(l0=1.0, l1=0.6)) == pytest.approx(0.7)
    assert DifficultyStage(mix={0: 1, 1: 1}, metric="loss").measure(at(l0=0.9, l1=0.5)) == pytest.approx(0.3)


def test_a_stage_is_over_after_its_steps_and_the_last_one_never():
    last = DifficultyStage(mix={2: 1.0}, steps=1)
    curriculum = DifficultyCurriculum({"mixed": MIXED, "hard": last})
    assert [curriculum.is_over(step) for step in (99, 100, 101)] == [False, True, True]
    curriculum.observe(100, at(l0=0.1, l1=0.1))
    assert curriculum.index == 1 and not curriculum.is_over(500)


def test_steps_end_a_stage_that_never_passes():
    curriculum = DifficultyCurriculum({"mixed": MIXED, "hard": HARD})
    assert curriculum.observe(99, at(l0=0.1, l1=0.1)) is None
    assert curriculum.observe(100, at(l0=0.1, l1=0.1)) == "advance"
    assert curriculum.observe(10_000, at(l0=0.1, l1=0.1, l2=0.1)) is None  # the last stage stays


def test_a_loss_passes_from_above():
    stage = DifficultyStage(mix={0: 1.0}, metric="loss", threshold=0.5)
    assert stage.passes(0.5) and stage.passes(0.1)
    assert not stage.passes(0.51) and not stage.passes(float("nan"))


def test_it_goes_back_when_the_stage_before_degrades():
    curriculum = DifficultyCurriculum(STAGES, DifficultyRollback(tolerance=0.05, patience=2))
    for step in (10, 20):
        curriculum.observe(step, at(l0=0.95))
    assert curriculum.index == 1
    assert curriculum.observe(30, at(l0=0.91, l1=0.2)) is None  # within the tolerance of 0.95
    assert curriculum.observe(40, at(l0=0.89, l1=0.2)) is None  # once is not twice
    assert curriculum.observe(50, at(l0=0.95, l1=0.2)) is None
    assert curriculum.observe(60, at(l0=0.89, l1=0.2)) is None
    assert curriculum.observe(70, at(l0=0.70, l1=0.9)) == "rollback"  # before advancing, which 0.85 would
    assert curriculum.stage is EASY and curriculum.patience == 4
    assert [curriculum.observe(step, at(l0=0.99)) for step in (80, 90, 100)] == [None] * 3
    assert curriculum.observe(110, at(l0=0.99)) == "advance"
    assert curriculum.history == [(20, "advance", 1), (70, "rollback", 0), (110, "advance", 1)]


def test_it_never_goes_back_with_no_patience_for_it():
    curriculum = DifficultyCurriculum({"easy": EASY, "hard": HARD}, DifficultyRollback(patience=0))
    for step in (10, 20):
        curriculum.observe(step, at(l0=0.95))
    assert all(curriculum.observe(step, at(l0=0.0, l2=0.0)) is None for step in range(30, 100, 10))


def test_what_has_to_be_measured():
    curriculum = DifficultyCurriculum(STAGES)
    assert curriculum.levels == (0, 1, 2)
    assert curriculum.watched == (0,)
    for step in (10, 20):
        curriculum.observe(step, at(l0=1.0))
    assert curriculum.watched == (0, 1)
    curriculum.observe(30, at(l0=1.0, l1=1.0))
    assert curriculum.watched == (0, 1, 2)


@given(st.lists(st.tuples(*[st.floats(0, 1)] * 3), max_size=40), st.integers(0, 40))
def test_a_restored_curriculum_goes_on_as_if_never_stopped(values: list[tuple[float, ...]], cut: int):
    stages, rule = STAGES, DifficultyRollback(0.02, 1)

    def feed(curriculum: DifficultyCurriculum, rows: list[tuple[int, tuple[float, ...]]]) -> list[tuple]:
        return [(curriculum.observe(10 * n, at(l0=a, l1=b, l2=c)), curriculum.index) for n, (a, b, c) in rows]

    rows = list(enumerate(values))
    whole, first, second = (DifficultyCurriculum(stages, rule) for _ in range(3))
    expected = feed(whole, rows)
    begun = feed(first, rows[:cut])
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert begun + feed(second, rows[cut:]) == expected
    assert second.state_dict() == whole.state_dict()
    assert all(0 <= index < 3 for _, index in expected)


@pytest.mark.parametrize(
    ("metric", "value", "than", "by", "answer"),
    [
        ("accuracy", 0.8, 0.9, 0.0, True),
        ("accuracy", 0.8, 0.9, 0.2, False),
        ("loss", 0.8, 0.9, 0.0, False),
        ("loss", 1.0, 0.9, 0.05, True),
        ("loss", float("nan"), 0.9, 1.0, True),
        ("accuracy", float("nan"), 0.0, 1.0, True),
    ],
)
def test_worse(metric: str, value: float, than: float, by: float, answer: bool):
    assert worse(metric, value, than, by) is answer


# ---------------------------------------------------------------------- from YAML


def test_stages_as_yaml_gives_them():
    made = CurriculumSettings(
        stages={
            "easy": {"mix": {0: 2, 1: 2}, "metric": "loss", "threshold": 0.5, "patience": 3},
            "hard": {"mix": {2: 1.0}, "steps": 50},
        }
    ).make()
    first, second = made.stages
    assert made.names == ("easy", "hard") and first.shares == {0: 0.5, 1: 0.5}
    assert (first.metric, first.threshold, first.patience) == ("loss", 0.5, 3)
    assert second == DifficultyStage(mix={2: 1.0}, steps=50)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({}, "mix must be given"),
        (3, "must be a mapping of settings"),
        ({"mix": {}}, "shares above 0"),
        ({"mix": {0: -1}}, "shares above 0"),
        ({"mix": {"zero": 1}}, "mix.zero must be an integer"),
        ({"mix": {0: 1}, "treshold": 1}, "Did you mean 'threshold'"),
        ({"mix": {0: 1}, "metric": "acuracy"}, "Did you mean 'accuracy'"),
        ({"mix": {0: 1}, "patience": 0}, "stages.one.patience must be an integer of at least 1"),
        ({"mix": {0: 1}, "threshold": "high"}, "stages.one.threshold must be a finite number"),
    ],
)
def test_a_wrong_stage_is_told(entry: dict, message: str):
    with pytest.raises(ConfigError, match=message):
        SftConfig(env="toy_env:Toy/Echo-v0", steps=3, curriculum={"stages": {"one": entry}})


def test_a_stage_without_a_way_out_is_refused():
    with pytest.raises(ConfigError, match="can never be left"):
        DifficultyCurriculum({"hard": HARD, "easy": EASY})
    with pytest.raises(ConfigError, match="at least one stage"):
        DifficultyCurriculum({})
    with pytest.raises(ConfigError, match="tolerance >= 0"):
        DifficultyRollback(-0.1)


def test_the_state_of_another_curriculum_is_refused():
    long, short = DifficultyCurriculum({"mixed": MIXED, "hard": HARD}), DifficultyCurriculum({"hard": HARD})
    long.observe(100, at(l0=1.0, l1=1.0))
    with pytest.raises(CheckpointError, match="has 1 stages"):
        short.load_state_dict(long.state_dict())
    with pytest.raises(CheckpointError, match="does not fit"):
        short.load_state_dict({"mood": 1})
