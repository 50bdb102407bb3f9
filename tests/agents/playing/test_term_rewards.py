"""Reward terms in a training run: what is written down, stages, exact resuming, settings that are refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
import yaml

from pixelis.agents.playing.term_rewards import TermRewards
from pixelis.agents.rl.run import TrainingRun, train
from pixelis.agents.run_files.checkpoint import list_checkpoints, step_of, verify_checkpoint
from pixelis.agents.run_files.state_files import read_tensors, write_tensors
from pixelis.agents.runs.metrics import EVERY_STEP, comparable_metrics, episode_metrics, read_metrics
from pixelis.errors import CheckpointError, ConfigError

TERMS = {"coherence": {"encoder": "hashed"}, "curiosity": {}, "penalty": {}, "task_gap": 1.0}
STAGES = {
    "stages": {
        "only task": {"weights": {"curiosity": 0.0, "coherence": 0.0}, "steps": 2},
        "both": {"weights": {"curiosity": 0.3, "coherence": 0.2}, "steps": 2},
        "end": {"weights": {"curiosity": 0.1}},
    }
}
SHAPED = {**TERMS, "curriculum": STAGES}
TURNS = {"turns": 2}
POTENTIAL = "pixelis.envs.pixel.tools.potentials:text_was_read"


def stopped(config, after: int) -> None:
    """Train like a process that ends after some steps without a word."""
    with TrainingRun.start(config) as run:
        run.train(should_stop=lambda: run.trainer.finished_steps >= after)


def test_every_component_is_written_down(toy_config):
    run = train(toy_config(steps=2, rewards=TERMS, env_kwargs=TURNS, trajectories_every=1))
    rows = read_metrics(run.folder.metrics)
    components = ("task", "coherence", "curiosity", "penalty")
    for name in components:
        for what in ("raw", "normalised", "weighted"):
            assert isinstance(rows[0][f"reward_parts/{name}/{what}"], float)
        assert f"rewards/{name}/mean" in rows[0] and rows[0][f"rewards/{name}/weight"] >= 0
    assert 0 <= rows[1]["rewards/curiosity/cache_hit_rate"] <= 1
    assert 0 <= rows[1]["rewards/curiosity/duplicate_rate"] <= 1
    assert rows[0]["reward_parts/task/raw"] != rows[0]["reward/mean"]  # the terms are paid
    for line in (run.folder.trajectories / "step-00000002.jsonl").read_text().splitlines():
        episode = json.loads(line)
        assert set(episode["reward_parts"]) == set(components)
        weighted = sum(part["weighted"] for part in episode["reward_parts"].values())
        assert episode["reward"] == pytest.approx(weighted)
    assert any(
        "reward_parts/curiosity/raw" in str(path.read_bytes()) for path in run.folder.tensorboard.iterdir()
    )


def test_a_curriculum_changes_weights_is_logged_and_checkpointed(toy_config):
    run = train(toy_config(steps=5, rewards=SHAPED))
    rows = read_metrics(run.folder.metrics)
    assert [row["rewards/curiosity/weight"] for row in rows] == [0, 0, 0.3, 0.3, 0.1]
    assert [row["rewards/stage"] for row in rows] == [0, 0, 1, 1, 2]
    assert [row["rewards/coherence/weight"] for row in rows] == [0, 0, 0.2, 0.2, 0.2]  # the base's again
    log = (run.folder.path / "log.txt").read_text()
    assert (
        "curriculum: advance from stage only task to both at step 2: 2 steps; weights are now task 1" in log
    )
    assert sorted(path.name for path in run.folder.checkpoints.glob("stage-*")) == ["stage-both", "stage-end"]
    assert step_of(run.folder.checkpoints / "stage-end") == 4
    verify_checkpoint(run.folder.checkpoints / "stage-both")


def test_a_training_that_is_too_short_for_the_curriculum_is_told_once_at_its_start(toy_config, caplog):
    shipped = {**TERMS, "curriculum": "performance"}
    train(toy_config(steps=2, rewards=shipped))
    (told,) = [one.getMessage() for one in caplog.records if "rewards.curriculum" in one.getMessage()]
    assert "training ends with step 2, and stage 'learn_coherence' cannot begin before step 100" in told
    caplog.clear()
    for rewards, steps, stage in ((SHAPED, 5, None), (SHAPED, 4, "end"), (TERMS, 1, None), ({}, 1, None)):
        TermRewards(rewards).warn_of_length(steps)
        assert (f"stage {stage!r}" in caplog.text) if stage else not caplog.records
        caplog.clear()


def test_an_exit_whose_metric_never_has_a_value_is_told_once(caplog):
    exits = [{"metric": "success/rate_ma10", "threshold": 0.5}, {"metric": "turns/mean", "threshold": 9}]
    stages = {"goal": {"weights": {"coherence": 0.0}, "exits": exits}, "end": {"weights": {}}}
    rewards = TermRewards({**TERMS, "curriculum": {"stages": stages, "check_every": 3}})
    for step in range(1, 3):
        rewards.observe(step, {"success/rate": None, "turns/mean": 1.0})
    assert not caplog.records
    for step in range(3, 20):
        rewards.observe(step, {"success/rate": None, "turns/mean": 1.0})
    (told,) = caplog.messages
    assert "success/rate_ma10 has had no value by step 3" in told and "stage 'goal'; does the env" in told


def test_a_resumed_run_equals_an_unbroken_one(toy_config, tmp_path):
    settings = {"rewards": SHAPED, "env_kwargs": TURNS, "epochs": 2, "checkpoint_every": 3}
    whole = train(toy_config(steps=6, output=str(tmp_path / "whole"), **settings))
    halves = toy_config(steps=6, output=str(tmp_path / "halves"), **settings)
    stopped(halves, 3)
    with TrainingRun.resume(halves.output, halves) as resumed:
        resumed.train()
    assert comparable_metrics(resumed.folder.metrics) == comparable_metrics(whole.folder.metrics)
    for one, two in zip(
        whole.policy.trainable_parameters(), resumed.policy.trainable_parameters(), strict=True
    ):
        assert torch.equal(one, two)


def test_what_was_paid_in_a_step_that_failed_is_put_back(toy_config, tmp_path):
    def written(rewards: TermRewards, name: str) -> bytes:
        (tmp_path / name).mkdir()
        rewards.save_files(tmp_path / name)
        return (tmp_path / name / "rewards.pt").read_bytes()

    with TrainingRun.start(toy_config(rewards=SHAPED, env_kwargs=TURNS)) as run:
        trainer = run.trainer
        trainer.step()
        before = written(trainer.rewards, "before")
        put_back = trainer.rewards.remember()
        trainer._play(2)
        assert written(trainer.rewards, "played") != before
        put_back()
        assert written(trainer.rewards, "put back") == before
    TermRewards({}).remember()()  # without terms there is nothing


def test_a_run_goes_on_from_the_beginning_of_a_stage(toy_config):
    config = toy_config(steps=5, rewards=SHAPED)
    before = comparable_metrics(train(config).folder.metrics)
    stage = f"{config.output}/checkpoints/stage-both"
    with TrainingRun.resume(stage, config) as run:
        assert run.trainer.finished_steps == 2
        assert not (run.folder.checkpoints / "stage-end").exists()  # of a history that is dropped
        assert all(step_of(path) <= 2 for path in list_checkpoints(run.folder.checkpoints))
        run.train()
    assert comparable_metrics(run.folder.metrics) == before


def test_ppo_takes_them_too(toy_config):
    run = train(toy_config(steps=2, algorithm="ppo", rewards=TERMS, env_kwargs=TURNS))
    assert "reward_parts/coherence/raw" in read_metrics(run.folder.metrics)[-1]


def test_what_a_curriculum_may_go_by_is_measured_every_step(play):
    assert set(EVERY_STEP) <= set(episode_metrics([]))
    assert set(EVERY_STEP) <= set(episode_metrics([play(1.0, success=True)]))


@pytest.mark.parametrize(
    ("rewards", "message"),
    [
        ({"curiositty": {}}, "unknown name 'curiositty'. Did you mean 'curiosity'"),
        ({"coherence": {"weight": -1}}, "coherence"),
        ({"penalty": {"weight": "much"}}, "penalty"),
        ({"curiosity": {"capacity": 0}}, "capacity"),
        (
            {
                "curriculum": {
                    "stages": {
                        "one": {"weights": {}, "exits": [{"metric": "succes/rate", "threshold": 1}]},
                        "two": {"weights": {}},
                    }
                }
            },
            "stage 'one': nobody computes the metric 'succes/rate'. Did you mean 'success/rate'",
        ),
        ({"curriculum": "step"}, "step"),
        ({"penalty": {}}, "the environment declares no task_gap"),
    ],
)
def test_wrong_rewards_are_told_before_anything_begins(toy_config, rewards, message):
    config = toy_config(rewards=rewards)
    with pytest.raises(ConfigError) as told:
        TrainingRun.start(config)
    assert message in str(told.value)
    assert not Path(config.output).exists()


def test_a_run_is_not_resumed_under_other_rewards(toy_config):
    train(toy_config(steps=1, rewards=TERMS))
    with pytest.raises(CheckpointError, match=r"other settings: rewards\.coherence.encoder was"):
        TrainingRun.resume(toy_config().output, toy_config(steps=2, rewards={"penalty": {}}))


def test_the_state_of_another_version_is_refused(tmp_path):
    rewards = TermRewards({"penalty": {}})
    rewards.save_files(tmp_path)
    saved = read_tensors(tmp_path / "rewards.pt")
    write_tensors(tmp_path / "rewards.pt", {**saved, "version": 99})
    with pytest.raises(CheckpointError, match="reward stack"):
        rewards.load_files(tmp_path)


def test_shipped_curricula_find_their_metrics():
    for curriculum in ("steps", "performance"):
        values = yaml.safe_load(f"{{coherence: {{}}, curiosity: {{}}, curriculum: {curriculum}}}")
        assert TermRewards(values).stack is not None


def test_what_only_moves_reward_between_turns_needs_credit_by_turn(toy_config):
    still = {"potential": {"potential": POTENTIAL}, "orchestrate": False}
    with pytest.raises(ConfigError, match=r"rewards.potential only moves .* algorithm.credit: turn"):
        train(toy_config(steps=1, rewards=still, env_kwargs=TURNS))
    by_turn = {"type": "grpo", "credit": {"type": "turn", "gamma": 0.7}}
    train(toy_config(steps=1, rewards=still, env_kwargs=TURNS, algorithm=by_turn))


def test_progress_of_an_environment_that_has_none(toy_config):
    with pytest.raises(ConfigError, match=r"progress: the environment does not say .* leave the term out"):
        train(toy_config(steps=1, rewards={"progress": {}, "task_gap": 1.0}))
