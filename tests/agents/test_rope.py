"""Multimodal rotary positions (three axes a token): Qwen-VL keeps its cache and scores the same."""

from __future__ import annotations

from collections.abc import Callable

import gymnasium as gym
import numpy as np
import pytest
import torch
from tiny_models import build

from pixelis.agents.models.policy import Policy
from pixelis.agents.rollout.collector import EpisodeRequest, collect
from pixelis.agents.rollout.sampling import SamplingSettings


@pytest.fixture(scope="module", params=["qwen2_vl", "qwen2_5_vl", "qwen3_vl"])
def rope_policy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Policy:
    return Policy.load(build(request.param, tmp_path_factory.mktemp(request.param)), device="cpu")


def test_positions_have_three_axes_and_agree_with_the_models_own(
    rope_policy: Policy, counting_env: Callable[..., gym.Env]
):
    requests = [EpisodeRequest(seed, seed // 2, seed % 2, {"turns": 2 + seed}) for seed in range(3)]
    settings = SamplingSettings(max_new_tokens=8)
    episodes = collect(rope_policy, lambda: counting_env(pictures=True), requests, settings, 0)
    scored = rope_policy.logprobs(episodes).logprobs.detach().numpy()
    assert rope_policy.position_axes == 3 and rope_policy.shares_prefixes
    for row, episode in enumerate(episodes):
        ids = torch.from_numpy(episode.tokens)[None]
        pictures = (ids == rope_policy.base.config.image_token_id).int()
        with torch.no_grad():  # no positions given: the model finds them from the pictures' places
            out = rope_policy.model(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                mm_token_type_ids=pictures,
                **episode.images,
            )
        logits = out.logits[0].double()
        logits[:, list(rope_policy.chat.placeholder_ids)] = -torch.inf
        scores = torch.log_softmax(logits[:-1], -1).gather(-1, ids[0, 1:, None])[:, 0].numpy()
        expected = np.where(episode.loss_mask, np.concatenate([[0.0], scores]), 0.0)
        assert np.abs(episode.logprobs - expected).max() < 1e-4
        assert np.abs(scored[row, : len(episode)] - expected).max() < 1e-4
