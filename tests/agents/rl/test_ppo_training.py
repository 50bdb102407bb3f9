"""PPO in real runs: what it trains on, exact resuming, settings it refuses, and that it learns."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from lasting import lasts

from pixelis.agents.episodes.task_env import TaskEnv
from pixelis.agents.models.policy import LoraSettings, Policy
from pixelis.agents.rl.gradient import BatchGradient
from pixelis.agents.rl.grpo import batch_settings
from pixelis.agents.rl.parts import update_settings
from pixelis.agents.rl.ppo import PpoLearner
from pixelis.agents.rl.refill import StepRollouts
from pixelis.agents.rl.run import TrainingRun
from pixelis.agents.runs.metrics import comparable_metrics
from pixelis.errors import ConfigError

CHANCE, BEST = 1 / 8, 1.0


@pytest.fixture
def learner(toy_config):
    def make(algorithm=None, **changes):
        config = toy_config(algorithm={"type": "ppo", **(algorithm or {})}, **changes)
        torch.manual_seed(0)
        policy = Policy.load(config.model, device="cpu", lora=LoraSettings(rank=2))
        env = TaskEnv.open(config.env, config.env_kwargs, config.reset_options)
        return PpoLearner(
            config, policy, env, BatchGradient(policy, update_settings(config)), batch_settings(config, env)
        )

    return make


def test_the_batch_by_hand(learner, play):
    # the head says 0, so with lambda 1/2 the rewards come back over the tokens as 1/4, 1/2, 1
    episodes = [
        play(1.0, sampled=3, turn_rewards=[1.0]),
        play(0.0, member=1, sampled=1, turn_rewards=[0.0]),
        play(5.0, member=2, valid_for_training=False),
        play(0.0, member=3, sampled=2, turn_rewards=[0.0]),
    ]
    batch = learner({"gae_lambda": 0.5}, groups=1).batch(StepRollouts(episodes, 1), 1)
    raw = np.array([0.25, 0.5, 1.0, 0, 0, 0])
    scaled = (raw - raw.mean()) / raw.std()
    assert [each.member for each in batch.episodes] == [1, 3, 0]
    expected = np.zeros((3, 5))
    expected[0, 2], expected[1, 2:4], expected[2, 2:] = scaled[3], scaled[4:], scaled[:3]
    np.testing.assert_allclose(batch.advantages, expected, atol=1e-6)
    assert batch.counts is not None and (batch.counts.tokens, batch.counts.sequences) == (6, 3)


def test_the_head_is_fitted_to_the_returns(learner, play):
    work = learner({"value_epochs": 50, "value_lr": 0.05, "value_clip": 10.0}, group_size=2)
    episodes = [play(float(m), member=m, turn_rewards=[float(m)]) for m in range(2)]
    for episode, token in zip(episodes, (3, 6), strict=True):
        episode.segments[0].tokens[:] = token
    played = StepRollouts(episodes, 1)
    first = work.update(work.batch(played, 1), played, 1)
    second = work.update(work.batch(played, 2), played, 2)
    assert first["value/mean"] == 0 and second["value/mean"] == pytest.approx(0.5, abs=0.2)
    assert second["value/explained_variance"] > 0.8 > first["value/explained_variance"]


def test_no_valid_episode_trains_nothing(learner, play):
    failed = [play(member=m, valid_for_training=False) for m in range(4)]
    work, played = learner(), StepRollouts(failed, 1)
    row = work.update(work.batch(played, 1), played, 1)
    assert row["value/loss"] is None and row["policy/loss"] is None


@pytest.mark.parametrize(
    "changes", [{}, {"env_kwargs": {"turns": 2}, "shaping": {"overlong": {"buffer": 2}}, "epochs": 2}]
)
def test_a_resumed_run_equals_an_unbroken_one(toy_config, tmp_path, changes):
    runs = []
    for name, until in (("whole", 5), ("halves", 2)):
        config = toy_config(algorithm="ppo", steps=5, output=str(tmp_path / name), **changes)
        with TrainingRun.start(config) as run:
            run.train(should_stop=lambda trainer=run.trainer, until=until: trainer.finished_steps >= until)
        runs.append(run)
    with TrainingRun.resume(config.output, config) as resumed:
        resumed.train()
    rows = [comparable_metrics(run.folder.metrics) for run in (runs[0], resumed)]
    assert rows[0] == rows[1] and len(rows[0]) == 5
    pairs = zip(runs[0].policy.trainable_parameters(), resumed.policy.trainable_parameters(), strict=True)
    assert all(torch.equal(one, two) for one, two in pairs)


@pytest.mark.parametrize(
    "change",
    [{"credit": "turn"}, {"refill_episodes": 8}, {"replay": {"ratio": 0.5}}, {"threshold": 1.0}],
)
def test_settings_without_a_use_are_refused(toy_config, change):
    with pytest.raises(
        ConfigError, match=f"{next(iter(change))} is not read with algorithm ppo, only with grpo"
    ):
        toy_config(algorithm={"type": "ppo", **change})


def test_ppo_compares_nothing_so_a_group_may_be_one_episode(toy_config):
    rows = []
    config = toy_config(algorithm={"type": "ppo"}, groups=24, group_size=1, steps=2)
    with TrainingRun.start(config) as run:
        run.train(on_step=rows.append)
    assert [row["episodes/trained"] for row in rows] == [24, 24]
    assert all(row["policy/grad_norm"] > 0 for row in rows)


@pytest.mark.slow
def test_the_toy_is_learnt(toy_config):
    rewards = []
    common = {"steps": 100, "lr": 0.003, "groups": 8, "group_size": 8, "max_new_tokens": 1, "beta": 0.0}
    common |= {"micro_batch_size": 64, "checkpoint_every": 1000}
    config = toy_config(algorithm={"type": "ppo", "value_lr": 0.01}, **common)
    with TrainingRun.start(config) as run:
        run.train(
            on_step=lambda row: rewards.append(row["reward/mean"]),
            should_stop=lambda: lasts(rewards, 0.85 * BEST),
        )
    assert rewards[0] < 2 * CHANCE
    assert sum(rewards[-10:]) / 10 > 0.85 * BEST
