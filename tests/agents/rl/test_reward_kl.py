"""The KL penalty in the reward, on a real, tiny model."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pixelis.agents.models.policy import LoraSettings, Policy
from pixelis.agents.optimisation.micro_batch import MicroBatchSize
from pixelis.agents.rl.batch import make_batch
from pixelis.agents.rl.reward_kl import RewardKL
from pixelis.agents.rl.run import TrainingRun
from pixelis.agents.runs.metrics import read_metrics


@pytest.fixture
def policy(letter_model):
    torch.manual_seed(0)
    return Policy.load(letter_model, device="cpu", lora=LoraSettings(rank=4, alpha=8))


def base_logprobs(policy, episode):
    with torch.no_grad(), policy.reference():
        return policy.logprobs([episode]).logprobs[0]


@pytest.mark.parametrize("rows", [1, 2, 16])
def test_each_episode_pays_for_its_own_tokens(policy, play, rows):
    # the sampler recorded -0.5 for each of n sampled tokens: k1 summed is -0.5 n - log pi_ref(y)
    episodes = [play(group=g, member=m, sampled=1 + 2 * g + m) for g in range(2) for m in range(2)]
    penalties, row = RewardKL(policy, 0.1, "k1", 1.0, MicroBatchSize(rows)).penalties(episodes)
    expected = [
        -0.5 * (1 + index) - base_logprobs(policy, each).sum().item() for index, each in enumerate(episodes)
    ]
    np.testing.assert_allclose(penalties.ravel(), 0.1 * np.array(expected), rtol=1e-5)
    assert row["policy/kl_reference"] == pytest.approx(sum(expected) / 10, rel=1e-5)
    assert row["reward/kl_penalty"] == pytest.approx(0.1 * sum(expected) / 4, rel=1e-5)


def test_what_cannot_be_trained_on_pays_nothing(policy, play):
    silent = play(member=1)
    silent.segments = silent.segments[:1]
    episodes = [play(member=0, valid_for_training=False), silent, play(member=2)]
    penalties, _ = RewardKL(policy, 1.0, "k3", 1.0, MicroBatchSize(16)).penalties(episodes)
    assert penalties[0] == penalties[1] == 0 < penalties[2]
    nothing, row = RewardKL(policy, 1.0, "k3", 1.0, MicroBatchSize(16)).penalties(episodes[:2])
    assert not nothing.any() and set(row.values()) == {None}


def test_penalties_are_taken_off_before_episodes_are_compared(play):
    episodes = [play(1.0, member=0), play(1.0, member=1), play(1.0, group=1), play(0.0, group=1, member=1)]
    penalties = np.array([0.5, 0.0, 0.5, 0.5])
    batch = make_batch(
        episodes, groups=2, group_size=2, scale="none", max_completion_length=8, penalties=penalties
    )
    # group 0: 0.5 and 1; group 1: 0.5 and -0.5
    assert batch.dropped == 0
    assert batch.advantages.tolist() == [-0.25, 0.25, 0.5, -0.5]


def test_a_run_with_the_kl_in_the_reward(toy_config):
    config = toy_config(
        loss={"kl": {"place": "reward", "estimator": "k1"}},
        beta=0.05,
        steps=3,
        algorithm={"scale": "leave_one_out"},
    )
    with TrainingRun.start(config) as run:
        run.train()
    rows = read_metrics(run.folder.metrics)
    assert rows[0]["policy/kl_reference"] == pytest.approx(0, abs=1e-6)
    assert abs(rows[-1]["policy/kl_reference"]) > 1e-4
    assert rows[-1]["reward/kl_penalty"] == pytest.approx(
        0.05 * rows[-1]["policy/kl_reference"] * rows[-1]["completion/mean"], rel=1e-5
    )
    assert rows[-1]["policy/kl_sampler"] is not None


def test_it_holds_the_policy_back(toy_config, tmp_path):
    """With a penalty far above the rewards the policy stays near the reference; with almost none it moves."""
    divergence = {}
    for beta in (1e-6, 5.0):
        changes = {
            "loss": {"kl": {"place": "reward", "estimator": "k1"}},
            "algorithm": {"scale": "none"},
            "steps": 8,
            "max_new_tokens": 1,
        }
        with TrainingRun.start(toy_config(beta=beta, output=str(tmp_path / str(beta)), **changes)) as run:
            run.train()
        divergence[beta] = read_metrics(run.folder.metrics)[-1]["policy/kl_reference"]
    assert divergence[1e-6] > 0.01
    assert abs(divergence[5.0]) < 0.5 * divergence[1e-6]


def test_less_memory_gives_the_same_penalties(policy, play, monkeypatch):
    episodes = [play(0.0, member=m, sampled=1 + m % 3) for m in range(4)]
    size = MicroBatchSize(4)
    whole, _ = RewardKL(policy, 1.0, "k3", 1.0, MicroBatchSize(4)).penalties(episodes)
    original = Policy.logprobs

    def logprobs(policy, rows, *inputs, **options):
        if len(rows) > 1:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return original(policy, rows, *inputs, **options)

    monkeypatch.setattr(Policy, "logprobs", logprobs)
    halved, _ = RewardKL(policy, 1.0, "k3", 1.0, size).penalties(episodes)
    assert size.value == 1
    assert halved == pytest.approx(whole, abs=1e-6)
