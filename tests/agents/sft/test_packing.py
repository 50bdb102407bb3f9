"""Packed rows: the same loss and gradient as each demonstration alone, or no packing."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GPT2Config,
    LlamaConfig,
    MambaConfig,
    MistralConfig,
    Qwen3Config,
)

from pixelis.agents.episodes.episode import Episode, Segment
from pixelis.agents.models.policy import LoraSettings, Policy
from pixelis.agents.sft import SftLearner, SftSettings, demonstrations, sft
from pixelis.agents.sft.packing import block_mask, can_pack, pack, packable, score_rows
from pixelis.errors import ConfigError

SIZES = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 256,
    "initializer_range": 0.2,
}


@pytest.fixture
def model_of(text_folder: Path, tmp_path: Path) -> Callable[..., Policy]:
    """Return a builder of random policies of an architecture, with the tests' byte tokenizer."""

    def make(config: object, lora: LoraSettings | None = None) -> Policy:
        tokenizer = AutoTokenizer.from_pretrained(text_folder)
        config.vocab_size = len(tokenizer)  # type: ignore[attr-defined]
        for name in ("pad_token_id", "eos_token_id", "bos_token_id"):
            setattr(config, name, tokenizer.pad_token_id)
        torch.manual_seed(0)
        AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path / "model")
        tokenizer.save_pretrained(tmp_path / "model")
        return Policy.load(tmp_path / "model", device="cpu", lora=lora)

    return make


def chats(policy: Policy, lengths: tuple[int, ...] = (3, 20, 9, 1, 14)) -> list[Episode]:
    """Return demonstrations of one or two turns with different words and lengths."""
    episodes = []
    for index, length in enumerate(lengths):
        words = policy.chat.written("".join(chr(97 + (7 * index + i) % 26) for i in range(length)))
        prompt = policy.chat.first(f"question {index}")
        segments = [prompt, Segment.written(words)]
        if index % 2:
            segments += [policy.chat.later("more", None, int(words[-1])), Segment.written(words[::-1].copy())]
        episodes.append(Episode("", index, index, 0, segments))
    return episodes


# ---------------------------------------------------------------------- rows and masks


def test_rows_by_hand():
    # Longest first: 6 opens row 0; 5 opens row 1; 4 fits row 0; 3 fits row 1; 2 fits row 1; 1 opens row 2.
    assert pack([1, 5, 2, 4, 6, 3], 10) == [[4, 3], [1, 5, 2], [0]]
    assert pack([2, 2, 2, 2], 4) == [[0, 1], [2, 3]]
    assert pack([], 4) == []


@given(st.lists(st.integers(1, 50), max_size=40), st.integers(50, 80))
def test_each_item_is_in_one_row_that_holds_it(lengths: list[int], capacity: int):
    rows = pack(lengths, capacity)
    assert sorted(index for row in rows for index in row) == list(range(len(lengths)))
    assert all(sum(lengths[index] for index in row) <= capacity for row in rows)
    assert sum(2 * sum(lengths[index] for index in row) <= capacity for row in rows) <= 1  # first fit


def test_an_item_longer_than_a_row_is_refused():
    with pytest.raises(ConfigError, match="raise pack_length"):
        pack([3, 9], 8)


def test_the_mask_by_hand():
    expected = [
        [1, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0],
        [0, 0, 1, 0, 0, 0],
        [0, 0, 1, 1, 0, 0],
        [0, 0, 1, 1, 1, 0],
        [0, 0, 0, 0, 0, 1],  # padding sees itself
    ]
    np.testing.assert_array_equal(block_mask([[2, 3]], 6)[0, 0], np.array(expected, bool))


# ---------------------------------------------------------------------- the same function

ARCHITECTURES = {
    "llama": lambda: LlamaConfig(**SIZES),
    "qwen3": lambda: Qwen3Config(**SIZES, use_sliding_window=False),
    "gpt2 (learnt positions)": lambda: GPT2Config(n_embd=32, n_layer=2, n_head=4, n_positions=256),
}


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_logprobs_are_those_of_each_episode_alone(name: str, model_of: Callable[..., Policy]):
    policy = model_of(ARCHITECTURES[name]())
    episodes = chats(policy)
    assert can_pack(policy)
    rows = [[episodes[0], episodes[1], episodes[2]], [episodes[3], episodes[4]]]
    with torch.no_grad():
        packed = score_rows(policy, rows)
        alone = [policy.logprobs([episode]) for row in rows for episode in row]
    expected = torch.cat([each.logprobs[each.mask] for each in alone])
    assert packed.logprobs.numel() == sum(episode.completion_length for episode in episodes)
    torch.testing.assert_close(packed.logprobs, expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("kernel", ["sdpa", "eager"])
def test_loss_and_gradient_are_those_of_padded_rows(
    kernel: str, make_text_policy: Callable[..., Policy], tmp_path: Path
):
    torch.manual_seed(3)
    policy = make_text_policy(lora=LoraSettings(rank=4))
    policy.base.set_attn_implementation(kernel)
    with torch.no_grad():
        for parameter in policy.trainable_parameters():
            parameter.normal_(std=0.1)
    episodes = chats(policy)

    def gradient(settings: SftSettings) -> tuple[float, torch.Tensor, float]:
        step = SftLearner(policy, settings).step(episodes, 0.0)
        parts = [parameter.grad.flatten() for parameter in policy.trainable_parameters()]
        return step.loss, torch.cat(parts).clone(), step.fill

    whole = {"max_grad_norm": 1e9}
    loss, expected, fill = gradient(SftSettings(**whole))
    assert expected.abs().max() > 1e-2
    for settings in (
        SftSettings(**whole, packing=True, pack_length=200),
        SftSettings(**whole, packing=True, micro_batch_size=1),
        SftSettings(**whole, micro_batch_size=2),
    ):
        other_loss, other, other_fill = gradient(settings)
        assert other_loss == pytest.approx(loss, abs=1e-5)
        torch.testing.assert_close(other, expected, atol=1e-5, rtol=1e-5)
        assert other_fill > fill if settings.packing else other_fill >= fill


def test_an_episode_does_not_feel_its_neighbour(text_policy: Policy):
    first, second, other = chats(text_policy, (9, 9, 12))
    with torch.no_grad():
        one = score_rows(text_policy, [[first, second]]).logprobs
        two = score_rows(text_policy, [[other, second]]).logprobs
    n = second.completion_length
    torch.testing.assert_close(one[-n:], two[-n:], atol=1e-5, rtol=0)


def test_training_packed_is_training_padded(
    make_terse_policy: Callable[..., Policy], letter_env: Callable[..., gym.Env]
):
    def losses(packing: bool) -> list[float]:
        policy = make_terse_policy()
        episodes = demonstrations(policy.chat, letter_env, {"oracle": 1, "guess": 1}, range(12))
        settings = SftSettings(epochs=3, batch_size=6, learning_rate=1e-3, packing=packing, pack_length=400)
        return [step.loss for step in sft(policy, episodes, settings)]

    assert losses(True) == pytest.approx(losses(False), abs=1e-4)


# ---------------------------------------------------------------------- where it is not


def test_pictures_are_padded_and_it_is_said(
    vision_policy: Policy, letter_env: Callable[..., gym.Env], caplog: pytest.LogCaptureFixture, monkeypatch
):
    monkeypatch.setattr("pixelis.agents.sft.packing._ANNOUNCED", set())
    episodes = demonstrations(vision_policy.chat, lambda: letter_env(pictures=True), "guess", range(3))
    with caplog.at_level(logging.WARNING, "pixelis"):
        score = SftLearner(vision_policy, SftSettings(packing=True)).score(episodes)
    expected = vision_policy.logprobs(episodes).logprobs.sum().item()
    assert score.loss == pytest.approx(-expected / score.tokens, rel=1e-4)
    assert not packable(episodes)
    assert [record.message for record in caplog.records] == [
        "episodes are padded instead of packed: demonstrations hold images"
    ]


def test_a_vision_model_packs_text(vision_policy: Policy):
    assert can_pack(vision_policy)
    assert packable(chats(vision_policy))


REFUSED = {
    "window": lambda: MistralConfig(**SIZES, sliding_window=8),
    "position ids": lambda: MambaConfig(hidden_size=32, num_hidden_layers=2, state_size=4),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_architectures_that_would_mix_are_padded(
    reason: str, model_of: Callable[..., Policy], caplog: pytest.LogCaptureFixture, monkeypatch
):
    monkeypatch.setattr("pixelis.agents.sft.packing._ANNOUNCED", set())
    policy = model_of(REFUSED[reason]())
    with caplog.at_level(logging.WARNING, "pixelis"):
        assert not can_pack(policy)
        assert not can_pack(policy)
    assert len(caplog.records) == 1 and reason in caplog.records[0].message


def test_a_model_that_mixes_neighbours_is_found_out(model_of: Callable[..., Policy]):
    policy = model_of(LlamaConfig(**SIZES))
    assert can_pack(policy)

    def shift(module, arguments, output):  # what token-shift and convolution layers do
        return output + torch.cat([torch.zeros_like(output[:, :1]), output[:, :-1]], dim=1)

    policy.base.get_input_embeddings().register_forward_hook(shift)
    assert not can_pack(policy)
