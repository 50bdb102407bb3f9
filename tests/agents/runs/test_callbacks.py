"""What may end a training from outside."""

from __future__ import annotations

import math

import pytest

from pixelis.agents import EarlyStopping, train
from pixelis.errors import ConfigError


def stops_at(stopping: EarlyStopping, values) -> int | None:
    """Return the place of the value that ends it."""
    for place, value in enumerate(values):
        if stopping({stopping.metric: value}):
            return place
    return None


@pytest.mark.parametrize(
    "settings, values, expected",
    [
        ({"at_least": 0.8}, [0.1, 0.79, 0.8, 0.9], 2),
        ({"at_least": 0.8}, [0.1, 0.2], None),
        ({"patience": 2}, [0.1, 0.2, 0.2, 0.1], 3),
        ({"patience": 2}, [0.1, 0.2, 0.1, 0.3, 0.3, 0.3], 5),
        ({"patience": 1}, [0.5, 0.6, 0.7], None),
        ({"patience": 1, "min_delta": 0.1}, [0.5, 0.6, 0.75, 0.8], 1),
        ({"patience": 2}, [-3.0, math.nan, None, -3.0, math.inf, -4.0], 5),
        ({"patience": 9, "at_least": 0.0}, [-1.0, 0.0], 1),
    ],
)
def test_values_by_hand(settings, values, expected):
    assert stops_at(EarlyStopping("reward/mean", **settings), values) == expected


def test_a_row_without_the_metric_does_not_count():
    stopping = EarlyStopping(patience=1)
    assert not stopping({"evaluation/success": 0.5})
    assert not any(stopping({"reward/mean": 1.0}) for _ in range(9))
    assert stopping({"evaluation/success": 0.5})


def test_a_metric_that_is_in_no_row_is_warned_of_once():
    row = {"reward/mean": 1.0, "evaluation/reward": 0.2, "evaluation/success": 0.5}
    for stopping in (
        EarlyStopping("evaluation/sucess", patience=1),
        EarlyStopping("reward/maen", patience=1),
    ):
        with pytest.warns(UserWarning, match=r"no '[a-z/]+' in a row\. Did you mean '[a-z/]+'\?") as told:
            assert not stopping(row) and not stopping(row)
        assert len(told) == 1


@pytest.mark.parametrize(
    "settings, told",
    [
        ({}, "at_least, patience or both"),
        ({"patience": 0}, "patience must be an integer of at least 1"),
        ({"patience": True}, "patience must be an integer of at least 1"),
        ({"patience": 1.5}, "patience must be an integer of at least 1"),
        ({"at_least": math.nan}, "at_least must be a finite number"),
        ({"patience": 1, "min_delta": -0.1}, "min_delta must be at least 0"),
    ],
)
def test_settings_that_are_none(settings, told):
    with pytest.raises(ConfigError, match=told):
        EarlyStopping(**settings)


def test_a_training_ends_where_a_callback_says_so_and_is_evaluated(toy_config, tmp_path):
    """Every second step is evaluated; the second evaluation ends it, and the run can go on from there."""
    seen: list[tuple[str, int]] = []

    def on_step(row) -> None:
        seen.append(("step", row["step"]))

    def on_evaluation(row) -> bool:
        seen.append(("evaluation", row["step"]))
        return row["step"] >= 4

    settings = toy_config(output=str(tmp_path / "run"), steps=9, eval_every=2, eval_episodes=4).to_mapping()
    run = train(**settings, on_step=on_step, on_evaluation=on_evaluation)
    assert seen == [("step", 1), ("step", 2), ("evaluation", 2), ("step", 3), ("step", 4), ("evaluation", 4)]
    assert len(run.metrics) == 4 and set(run.evaluations) == {"before", "after"}
    assert "stopped after step 4: a callback ended it" in (tmp_path / "run" / "log.txt").read_text()
    resumed = train(resume=tmp_path / "run", on_step=lambda row: row["step"] == 6)
    assert len(resumed.metrics) == 6


def test_what_a_callback_returns_but_true_means_nothing(toy_config, tmp_path):
    settings = toy_config(output=str(tmp_path / "run"), steps=2, eval_episodes=0).to_mapping()
    assert len(train(**settings, on_step=lambda row: 1).metrics) == 2


@pytest.mark.parametrize(
    ("call", "got"),
    [
        (3, "got 3"),
        (EarlyStopping, "got the class EarlyStopping: give EarlyStopping"),
        (lambda: True, r"got one that takes \(\)"),
        (lambda step, row: True, r"got one that takes \(step, row\)"),
    ],
)
@pytest.mark.parametrize("name", ["on_step", "on_evaluation"])
def test_what_cannot_be_called_with_metrics_is_refused_before_training(name, call, got, toy_config, tmp_path):
    settings = toy_config(output=str(tmp_path / "run"), steps=1, eval_every=1, eval_episodes=4).to_mapping()
    with pytest.raises(ConfigError, match=rf"{name} must be a function that takes one argument, .*{got}"):
        train(**settings, **{name: call})
    assert not (tmp_path / "run").exists()


def test_a_function_that_would_never_be_called_is_refused(toy_config, tmp_path):
    settings = toy_config(output=str(tmp_path / "run"), steps=1).to_mapping()
    with pytest.raises(ConfigError, match=r"on_evaluation is called at the evaluations .*; set eval_every"):
        train(**settings, on_evaluation=EarlyStopping(patience=1))
    assert not (tmp_path / "run").exists()
