"""Means and slopes of the metrics that a configuration names."""

from __future__ import annotations

import logging
import math

import numpy as np
import pytest

from pixelis.agents.rl.run import TrainingRun, train
from pixelis.agents.runs.metrics import comparable_metrics, read_metrics
from pixelis.agents.runs.smoothing import Smoothing
from pixelis.agents.settings.rl import TrainConfig
from pixelis.errors import ConfigError

NAMES = ["reward/mean", "policy/entropy"]


def test_by_hand(caplog):
    smoothing = Smoothing(["a/b"])
    for value in [*range(10), None, math.nan]:
        row = smoothing.note({"a/b": value})
    assert row == {"a/b/ma10": 4.5, "a/b/ma100": 4.5, "a/b/ma500": 4.5, "a/b/slope100": pytest.approx(1.0)}
    with caplog.at_level(logging.WARNING):
        missing = Smoothing(["a/c"])
        for _ in range(2):
            assert set(missing.note({"a/b": 1}).values()) == {None}
    assert caplog.text.count("smoothed names 'a/c'") == 1 and "Did you mean 'a/b'?" in caplog.text
    other = Smoothing(["a/b", "x/y"])
    other.load_state_dict(smoothing.state_dict())
    assert other.note({"a/b": 11.0})["a/b/ma10"] == pytest.approx(np.mean([*range(1, 10), 11.0]))


def test_a_run_logs_them_and_resumes_to_the_same(toy_config, tmp_path):
    config = toy_config(steps=5, checkpoint_every=2, smoothed=NAMES, output=str(tmp_path / "whole"))
    rows = comparable_metrics(train(config).folder.metrics)
    for name in NAMES:
        values = [row[name] for row in rows if row[name] is not None]
        assert rows[-1][f"{name}/ma10"] == float(np.mean(values))
        assert rows[-1][f"{name}/slope100"] == pytest.approx(np.polyfit(range(len(values)), values, 1)[0])
    halves = config.with_values(output=str(tmp_path / "halves"))
    with TrainingRun.start(halves) as run:
        run.train(should_stop=lambda: run.trainer.finished_steps == 3)
    with TrainingRun.resume(halves.output, halves) as run:
        run.train()
    assert comparable_metrics(run.folder.metrics) == rows


def test_what_is_smoothed_may_change_when_a_run_goes_on(toy_config, tmp_path):
    config = toy_config(steps=2, smoothed=NAMES[:1])
    train(config)
    later = config.with_values(steps=4, smoothed=NAMES)
    with TrainingRun.resume(config.output, later) as run:
        run.train()
    rows = read_metrics(run.folder.metrics)
    known = [row["policy/entropy"] for row in rows[2:]]
    assert rows[-1]["policy/entropy/ma10"] == pytest.approx(np.mean(known))  # it begins without a past
    assert rows[-1]["reward/mean/ma10"] == pytest.approx(np.mean([row["reward/mean"] for row in rows]))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"smoothed": "reward"}, "smoothed must be"),
        ({"smoothed": [3]}, "smoothed must be"),
        ({"log_to": "wandbb"}, "log_to must be a list, each item of it 'wandb' or 'trackio', got 'wandbb'"),
        ({"log_to": 1}, "log_to must be a list"),
        ({"samples_every": -1}, "samples_every must be an integer of at least 0"),
    ],
)
def test_settings_that_are_wrong(given, message):
    with pytest.raises(ConfigError, match=message):
        TrainConfig(**given)


def test_names_may_stand_in_one_text():
    config = TrainConfig(log_to="wandb, trackio,wandb", smoothed="reward/mean,policy/entropy")
    assert (config.log_to, config.smoothed) == (["wandb", "trackio"], NAMES)
