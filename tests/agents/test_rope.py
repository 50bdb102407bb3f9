"""Multimodal rotary positions (three axes a token): a real Qwen2.5-VL keeps its cache and scores the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from tokenizers import AddedToken
from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from pixelis.agents.loading import LoadedModel
from pixelis.agents.policy import Policy
from pixelis.agents.rollout import EpisodeRequest, collect
from pixelis.agents.sampling import SamplingSettings

CONTROL = ("<|image_pad|>", "<|video_pad|>", "<|vision_start|>", "<|vision_end|>")


class ImageProcessorAndTokenizer:
    """Does for images what Qwen2_5_VLProcessor does; that class needs a video processor, so torchvision."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer, self.image_token = tokenizer, CONTROL[0]
        self.image_processor = Qwen2VLImageProcessorPil(min_pixels=28 * 28, max_pixels=56 * 84)
        self.chat_template = tokenizer.chat_template.replace(
            "<image>", "".join(CONTROL[i] for i in (2, 0, 3))
        )

    def apply_chat_template(self, messages: list[Any], **options: Any) -> str:
        return self.tokenizer.apply_chat_template(messages, chat_template=self.chat_template, **options)

    def __call__(self, text: list[str], images: list[np.ndarray], **options: Any) -> Any:
        pictures = self.image_processor(images=images, return_tensors="pt")
        count = int(pictures["image_grid_thw"][0].prod()) // 4  # patches are merged 2 x 2
        out = self.tokenizer([text[0].replace(self.image_token, self.image_token * count)], **options)
        out.update(pictures)
        return out


@pytest.fixture(scope="module")
def rope_policy(text_policy: Policy) -> Policy:
    tokenizer = type(text_policy.tokenizer).from_pretrained(text_policy.base_name)
    tokenizer.add_tokens([AddedToken(token, special=True) for token in CONTROL], special_tokens=True)
    image, video, start, end = tokenizer.convert_tokens_to_ids(list(CONTROL))
    text = {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "max_position_embeddings": 512,
        "rope_parameters": {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 10000.0},
        "initializer_range": 0.2,
        "eos_token_id": tokenizer.eos_token_id,
        "bos_token_id": None,
        "pad_token_id": tokenizer.pad_token_id,
    }
    vision = {
        "depth": 2,
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_heads": 2,
        "out_hidden_size": 32,
        "fullatt_block_indexes": [1],
        "window_size": 56,
    }
    config = Qwen2_5_VLConfig(
        text_config=text,
        vision_config=vision,
        image_token_id=image,
        video_token_id=video,
        vision_start_token_id=start,
        vision_end_token_id=end,
    )
    torch.manual_seed(0)
    model = Qwen2_5_VLForConditionalGeneration(config).eval()
    return Policy(LoadedModel(model, ImageProcessorAndTokenizer(tokenizer), "tiny"))


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
