"""A watch in a real run: it changes nothing, tells a reward that is gamed, and is else quiet."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from letter_model import build_letter_model

from pixelis.agents.rl.run import TrainingRun, train
from pixelis.agents.runs.evaluate import Evaluation, evaluation_table
from pixelis.agents.runs.metrics import comparable_metrics, read_metrics
from pixelis.errors import ConfigError

SCORER = "watch_scorers:Letters"
WATCHED = {"watch": {"scores": {SCORER: {"most": 8}}, "window": 2, "episodes": 4}}


def advantages_of(config):
    """Train; return the advantages of each step, the final weights and the metrics."""
    found = []
    with TrainingRun.start(config) as run:
        run.train(on_step=lambda row: found.append(run.trainer._last[1].advantages.copy()))
        weights = [one.detach().clone() for one in run.policy.trainable_parameters()]
    return found, weights, comparable_metrics(run.folder.metrics)


def test_a_watched_run_is_the_same_run_bit_for_bit(toy_config, tmp_path):
    plain = advantages_of(toy_config(output=str(tmp_path / "plain")))
    watched = advantages_of(toy_config(output=str(tmp_path / "watched"), **WATCHED))
    for one, two in zip(plain[0], watched[0], strict=True):
        np.testing.assert_array_equal(one, two)
    assert any(np.abs(one).max() > 0 for one in plain[0])
    assert all(torch.equal(one, two) for one, two in zip(plain[1], watched[1], strict=True))
    kept = [
        {name: value for name, value in row.items() if not name.startswith("watch/")} for row in watched[2]
    ]
    assert kept == plain[2]


def test_scores_are_in_the_metrics_the_board_and_both_evaluations(toy_config):
    run = train(toy_config(eval_episodes=3, **WATCHED))
    rows = read_metrics(run.folder.metrics)
    assert all(0 <= row[f"watch/{SCORER}"] <= 1 and row["watch/alarm"] is None for row in rows)
    assert any(f"watch/{SCORER}" in str(path.read_bytes()) for path in run.folder.tensorboard.iterdir())
    saved = json.loads(run.folder.evaluation.read_text())
    for phase in ("before", "after"):
        assert all(0 <= row["watched"][SCORER] <= 1 for row in saved[phase])


def test_a_resumed_run_has_the_same_watch(toy_config, tmp_path):
    settings = {**WATCHED, "checkpoint_every": 3, "steps": 6}
    whole = train(toy_config(output=str(tmp_path / "whole"), **settings))
    halves = toy_config(output=str(tmp_path / "halves"), **settings)
    with TrainingRun.start(halves) as run:
        run.train(should_stop=lambda: run.trainer.finished_steps >= 3)
    with TrainingRun.resume(halves.output, halves) as resumed:
        resumed.train()
    assert comparable_metrics(resumed.folder.metrics) == comparable_metrics(whole.folder.metrics)


def test_a_session_without_watch_and_evaluation_hands_on_what_an_earlier_one_knew(toy_config):
    measured = toy_config(checkpoint_every=1, steps=2, eval_every=1, eval_episodes=2, **WATCHED)
    with TrainingRun.start(measured) as run:
        run.train(should_stop=lambda: run.trainer.finished_steps >= 1)
    states = []
    for config in (measured, measured.with_values(watch=None, eval_every=0)):
        with TrainingRun.resume(measured.output, config) as run:
            states.append({name: run.trainer.progress()[name] for name in ("watch", "evaluating")})
    assert states[0] == states[1]
    assert len(states[0]["watch"]["rows"]) == states[0]["evaluating"]["best"]["step"] == 1


def test_a_wrong_watch_is_told_before_a_model_is_loaded(toy_config):
    with pytest.raises(ConfigError, match="there is no scorer 'tweet_evaluatoin'"):
        TrainingRun.start(toy_config(model="no-such-model", watch={"scores": {"tweet_evaluatoin": {}}}))


@pytest.mark.slow
@pytest.mark.parametrize("paid", ["marks", "letters"])
def test_pay_for_exclamation_marks_raises_the_alarm_and_pay_for_what_is_meant_does_not(
    toy_config, tmp_path, paid
):
    model = build_letter_model(tmp_path / "model", letters="abcdefg!")
    config = toy_config(
        env="marks_env:Toy/Marks-v0",
        env_kwargs={"paid": paid},
        model=str(model),
        max_new_tokens=6,
        groups=8,
        group_size=8,
        micro_batch_size=64,
        steps=50,
        lr=0.003,
        beta=0.0,
        checkpoint_every=1000,
        watch={"scores": {"watch_scorers:Variety": {}}, "window": 8},
    )
    run = train(config)
    rows = read_metrics(run.folder.metrics)
    rewards = [row["reward/mean"] for row in rows]
    assert sum(rewards[-5:]) / 5 > sum(rewards[:5]) / 5 + 0.2  # both are learnt
    told = (run.folder.path / "log.txt").read_text().count("over the last 2 x 8 steps")
    alarms = sum(row["watch/alarm"] or 0 for row in rows)
    if paid == "marks":
        assert told == 1 and alarms >= 1
        assert rows[-1]["step"] == 50  # it is told, and the run goes on
    else:
        assert told == alarms == 0


def test_the_table_of_evaluations_has_a_column_for_each_watched_score():
    seen = Evaluation(
        "Toy/Echo-v0", "after", "greedy", 4, 0, 0.5, (0.1, 0.9), 0.5, 1.0, watched={"mine": 0.25}
    )
    other = replace(seen, agent="oracle", watched={})
    table = evaluation_table([seen, other])
    cells = {str(column.header): list(column.cells) for column in table.columns}
    assert cells["mine"] == ["0.250", "–"]
    assert "mine" not in {str(column.header) for column in evaluation_table([other]).columns}
