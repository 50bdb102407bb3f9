"""A whole GRPO step with every model family: rollout, update, and sampler and trainer that agree."""

from __future__ import annotations

import pytest
import torch
from tiny_models import FAMILIES, VISION_FAMILIES, build

from pixelis.agents.models.policy import Policy
from pixelis.agents.rl.run import TrainingRun
from pixelis.agents.rollout.collector import EpisodeRequest, collect
from pixelis.agents.rollout.sampling import SamplingSettings


def check_sampler_against_trainer(policy: Policy, family: str) -> None:
    """Play one, two and three turns with zero, one and two pictures in one batch; score all at once."""
    requests = [EpisodeRequest(seed, seed, member) for seed in range(3) for member in range(2)]
    episodes = collect(policy, "toy_env:Toy/Album-v0", requests, SamplingSettings(max_new_tokens=5), 0)
    pictures = [sum(bool(segment.images) for segment in episode.segments) for episode in episodes]
    assert pictures == ([0, 0, 1, 1, 2, 2] if family in VISION_FAMILIES else [0] * 6)
    scored = policy.logprobs(episodes)
    for row, episode in enumerate(episodes):
        found = scored.logprobs[row, : len(episode)].detach()
        assert (found - torch.from_numpy(episode.logprobs)).abs().max() < 1e-4
        assert scored.mask[row, : len(episode)].tolist() == episode.loss_mask.tolist()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_step(toy_config, tmp_path, family):
    config = toy_config(
        env="toy_env:Toy/Album-v0",
        model=str(build(family, tmp_path / "model")),
        group_size=3,
        max_new_tokens=4,
        micro_batch_size=5,
        lora={"rank": 4},
        lr=0.003,
    )
    with TrainingRun.start(config) as run:
        weights = run.policy.trainable_parameters()
        with torch.no_grad():  # an adapter that does something
            for weight in weights:
                weight.add_(0.05 * torch.randn_like(weight))
        check_sampler_against_trainer(run.policy, family)
        before = [weight.clone() for weight in weights]
        row, _, batch = run.trainer.step()
        scored = run.policy.logprobs(batch.episodes).logprobs.detach()
    assert row["episodes/invalid"] == 0 and row["policy/grad_norm"] > 0
    assert row["policy/mismatch"] < 1e-4
    assert sum(not torch.equal(one, two) for one, two in zip(before, weights, strict=True)) > len(weights) / 2
    assert all(torch.isfinite(weight).all() for weight in weights)
    old = [torch.from_numpy(episode.logprobs) for episode in batch.episodes]
    moved = [(new[: len(one)] - one).abs().max() for new, one in zip(scored, old, strict=True)]
    assert max(moved) > 1e-3  # the update moved what the policy says
