"""Each way to make a batch, switched on in a real run: what it does there, and that resuming stays exact."""

from __future__ import annotations

import json

import pytest
import torch

from pixelis.agents.rl.run import TrainingRun
from pixelis.agents.runs.metrics import comparable_metrics
from pixelis.errors import ConfigError

TWO_TURNS = {"env_kwargs": {"turns": 2}}


def train(config, until=None):
    with TrainingRun.start(config) as run:
        run.train(should_stop=(lambda: run.trainer.finished_steps >= until) if until is not None else None)
    return run


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param(
            {**TWO_TURNS, "algorithm": {"credit": {"type": "turn", "gamma": 0.9}}, "micro_batch_size": 3},
            id="turn credit",
        ),
        pytest.param({"algorithm": {"refill_episodes": 12}}, id="refill"),
        pytest.param({"algorithm": {"replay": {"ratio": 0.5, "staleness": 2}}}, id="replay"),
        pytest.param(
            {**TWO_TURNS, "algorithm": {"replay": {"ratio": 0.5}, "credit": "turn"}, "epochs": 2},
            id="replay, turn credit",
        ),
        pytest.param(
            {
                "shaping": {
                    "overlong": {"buffer": 2},
                    "bonus": {"name": "distinct_answers"},
                    "advantage_clip": 1.0,
                    "mask_truncated": True,
                    "duplicate_penalty": 0.5,
                }
            },
            id="shaping",
        ),
    ],
)
def test_a_resumed_run_equals_an_unbroken_one(toy_config, tmp_path, changes):
    whole = train(toy_config(steps=5, output=str(tmp_path / "whole"), **changes))
    halves = toy_config(steps=5, output=str(tmp_path / "halves"), **changes)
    train(halves, until=3)
    with TrainingRun.resume(halves.output, halves) as resumed:
        resumed.train()
    assert comparable_metrics(resumed.folder.metrics) == comparable_metrics(whole.folder.metrics)
    for one, two in zip(
        whole.policy.trainable_parameters(), resumed.policy.trainable_parameters(), strict=True
    ):
        assert torch.equal(one, two)


def test_rewards_are_kept_by_turn(toy_config):
    with TrainingRun.start(toy_config(env_kwargs={"turns": 3})) as run:
        _, episodes, _ = run.trainer.step()
    for episode in episodes:
        assert len(episode.turn_rewards) == 3 == sum(segment.sampled for segment in episode.segments)
        assert sum(episode.turn_rewards) == episode.reward
        turns = zip(episode.segments[0::2], episode.segments[1::2], episode.turn_rewards, strict=True)
        for shown, said, reward in turns:
            letter = shown.text.split("<|user|>")[1][0]
            assert reward == float(said.text.startswith(letter))


def test_refilled_groups_are_counted_and_bring_signal(toy_config):
    rows = comparable_metrics(train(toy_config(steps=4, algorithm={"refill_episodes": 10})).folder.metrics)
    short = train(toy_config(steps=1, output=toy_config().output + "-plain"))
    plain = comparable_metrics(short.folder.metrics)
    assert plain[0]["groups/dropped"] > 0 and plain[0]["groups/left_out"] == 0
    for row in rows:
        assert row["groups/count"] == 4 + row["groups/left_out"] <= 4 + 10 // 4
        assert row["episodes/count"] == 4 * row["groups/count"]
        assert row["tokens/prefilled"] >= row["groups/count"]
        assert row["episodes/trained"] == 4 * (row["groups/count"] - row["groups/dropped"])
    assert rows[0]["groups/left_out"] > 0


def test_replayed_episodes_are_counted(toy_config):
    run = train(toy_config(steps=4, algorithm={"replay": {"ratio": 0.25, "capacity": 6, "staleness": 2}}))
    rows = comparable_metrics(run.folder.metrics)
    assert rows[0]["replay/drawn"] == 0 and rows[0]["replay/age"] is None
    assert all(row["replay/size"] <= 6 for row in rows)
    assert all(row["replay/drawn"] <= 4 for row in rows) and rows[-1]["replay/drawn"] > 0
    assert 1 <= rows[-1]["replay/age"] <= 2


def test_sample_episodes_show_the_advantage_of_each_turn(toy_config):
    run = train(toy_config(steps=1, algorithm={"credit": "turn"}, env_kwargs={"turns": 2}))
    text = (run.folder.trajectories / "step-00000001.jsonl").read_text()
    advantages = [json.loads(line)["advantage"] for line in text.splitlines()]
    assert all(len(turns) == 2 for turns in advantages)
    assert sum(turns[0] for turns in advantages) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shaping": {"overlong": {"buffer": 3}}}, "overlong.buffer must be at most the 2 tokens"),
        (
            {"shaping": {"bonus": {"name": "distinct_answer"}}},
            "unknown bonus 'distinct_answer'. Did you mean 'distinct_answers'?",
        ),
    ],
)
def test_settings_that_do_not_fit_are_told_before_anything_is_written(toy_config, tmp_path, changes, message):
    with pytest.raises(ConfigError) as error:
        TrainingRun.start(toy_config(**changes))
    assert message in str(error.value)
    assert not (tmp_path / "run").exists()
