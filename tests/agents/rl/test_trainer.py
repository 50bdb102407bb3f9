"""The trainer on the toy: what it writes, and that stopping and going on changes nothing."""

from __future__ import annotations

import json
import math

import pytest
import torch

from pixelis.agents.rl.run import TrainingRun
from pixelis.agents.run_files.checkpoint import latest_checkpoint, list_checkpoints
from pixelis.agents.run_files.saved_run import settings_of
from pixelis.agents.runs.metrics import comparable_metrics, read_metrics
from pixelis.errors import CheckpointError, TrainingError


def train(config, until=None):
    with TrainingRun.start(config) as run:
        run.train(should_stop=(lambda: run.trainer.finished_steps >= until) if until is not None else None)
    return run


def go_on(config, path=None):
    with TrainingRun.resume(path or config.output, config) as run:
        run.train()
    return run


def test_the_run_folder(toy_config):
    run = train(toy_config(steps=3, checkpoint_every=2, keep_checkpoints=2, trajectories_every=2))
    rows = read_metrics(run.folder.metrics)
    assert [row["step"] for row in rows] == [1, 2, 3]
    assert [path.name for path in list_checkpoints(run.folder.checkpoints)] == [
        "step-00000002",
        "step-00000003",
    ]
    assert sorted(path.name for path in run.folder.trajectories.iterdir()) == [
        "step-00000001.jsonl",
        "step-00000002.jsonl",
        "step-00000003.jsonl",  # the last one always
    ]
    assert list(run.folder.tensorboard.glob("events.*"))
    assert "training from step 0" in (run.folder.path / "log.txt").read_text()
    assert settings_of(run.folder.path)["lr"] == 0.01


def test_the_metrics_of_a_step(toy_config):
    row = read_metrics(train(toy_config(steps=1)).folder.metrics)[0]
    assert row["episodes/count"] == 16 and row["groups/count"] == 4
    assert row["reward/mean"] == row["success/rate"] == row["success/ma10"] == row["success/ma100"]
    assert row["tools/SAY/calls"] == 16
    assert row["tools/SAY/failures"] == 16 * (1 - row["success/rate"])
    assert row["tokens/sampled"] == round(16 * row["completion/mean"])
    assert row["policy/mismatch"] < 1e-5
    assert row["time/step"] >= row["time/generation"] > 0
    expected = {
        "reward/std",
        "policy/kl_reference",
        "policy/entropy",
        "policy/grad_norm",
        "policy/lr",
        "turns/mean",
    }
    assert expected <= set(row)


def test_sample_episodes_can_be_read(toy_config):
    run = train(toy_config(steps=1))
    lines = (run.folder.trajectories / "step-00000001.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    assert len(rows) == 4 and {row["member"] for row in rows} == {0, 1, 2, 3}
    assert len({row["seed"] for row in rows}) == 1
    assert rows[0]["text"].startswith("<|user|>") and "<|assistant|>" in rows[0]["text"]
    for row in rows:
        for turn in row["exchanges"]:
            texts, logprobs, entropies = zip(*turn["sampled"], strict=True)
            assert all(0 <= each <= math.log(1e6) for each in entropies)
            assert "".join(texts) in row["text"] and len(texts) == turn["tokens"]
            assert sum(logprobs) == pytest.approx(turn["logprob"], abs=1e-3)


def test_equal_seeds_give_equal_runs(toy_config, tmp_path):
    one = train(toy_config(output=str(tmp_path / "one")))
    two = train(toy_config(output=str(tmp_path / "two")))
    other = train(toy_config(output=str(tmp_path / "other"), seed=1))
    assert comparable_metrics(one.folder.metrics) == comparable_metrics(two.folder.metrics)
    assert comparable_metrics(one.folder.metrics) != comparable_metrics(other.folder.metrics)


@pytest.mark.parametrize("changes", [{}, {"env_kwargs": {"turns": 2}, "epochs": 2, "micro_batch_size": 3}])
def test_a_resumed_run_equals_an_unbroken_one(toy_config, tmp_path, changes):
    whole = train(toy_config(steps=5, output=str(tmp_path / "whole"), **changes))
    halves = toy_config(steps=5, output=str(tmp_path / "halves"), **changes)
    train(halves, until=2)
    resumed = go_on(halves)
    assert comparable_metrics(resumed.folder.metrics) == comparable_metrics(whole.folder.metrics)
    for one, two in zip(
        whole.policy.trainable_parameters(), resumed.policy.trainable_parameters(), strict=True
    ):
        assert torch.equal(one, two)


def test_going_back_to_an_older_checkpoint_drops_what_came_after(toy_config):
    config = toy_config(steps=4, checkpoint_every=1, keep_checkpoints=9, trajectories_every=1)
    run = train(config)
    before = comparable_metrics(run.folder.metrics)
    with TrainingRun.resume(run.folder.checkpoints / "step-00000002", config) as back:
        names = [path.name for path in list_checkpoints(back.folder.checkpoints)]
        assert names == ["step-00000000", "step-00000001", "step-00000002"]
        assert not (back.folder.trajectories / "step-00000003.jsonl").exists()
        back.train()
    assert comparable_metrics(run.folder.metrics) == before


def test_more_steps_can_be_asked_for_later(toy_config):
    train(toy_config(steps=2))
    run = go_on(toy_config(steps=4))
    assert [row["step"] for row in read_metrics(run.folder.metrics)] == [1, 2, 3, 4]
    assert settings_of(run.folder.path)["steps"] == 4


def test_a_checkpoint_of_other_settings_is_refused(toy_config):
    train(toy_config(steps=1))
    with pytest.raises(CheckpointError, match=r"other settings: lr was 0\.01 and is 0\.5"):
        TrainingRun.resume(toy_config().output, toy_config(lr=0.5))


def test_an_adapter_that_was_altered_is_refused(toy_config):
    run = train(toy_config(steps=1))
    adapter = run.folder.checkpoints / "step-00000001" / "adapter" / "adapter_model.safetensors"
    data = bytearray(adapter.read_bytes())
    data[-1] ^= 1
    adapter.write_bytes(data)
    with pytest.raises(CheckpointError, match=r"adapter_model\.safetensors is not what was written; delete"):
        TrainingRun.resume(toy_config().output, toy_config())


def test_nothing_to_resume(toy_config, tmp_path):
    with pytest.raises(CheckpointError, match="no run at"):
        TrainingRun.resume(tmp_path / "nowhere", toy_config())


def test_the_time_limit_stops_after_a_step(toy_config):
    run = train(toy_config(steps=50, minutes=1e-6))
    assert run.trainer.finished_steps == 1
    assert "INFO stopped after step 1: its 1e-06 minutes are over\n" in run.folder.log.read_text()


def test_episodes_of_an_env_that_raises_are_counted_and_left_out(toy_config):
    run = train(toy_config(steps=2, groups=6, env_kwargs={"broken": 2}))
    invalid = [row["episodes/invalid"] for row in read_metrics(run.folder.metrics)]
    assert sum(invalid) > 0 and all(count % 4 == 0 for count in invalid)
    assert run.trainer.finished_steps == 2


def test_updates_that_are_never_finite_end_the_training_with_a_good_checkpoint(toy_config):
    config = toy_config(steps=50, env_kwargs={"prize": 1e100}, algorithm={"scale": "none"})
    with TrainingRun.start(config) as run, pytest.raises(TrainingError, match="3 times in a row"):
        run.train()
    assert all(torch.isfinite(weight).all() for weight in run.policy.trainable_parameters())
    assert latest_checkpoint(run.folder.checkpoints).name == "step-00000000"
    assert "update skipped: loss" in (run.folder.path / "log.txt").read_text()
