"""Supervised fine-tuning: demonstrations as tokens, the loss it lowers, and a policy that learns to act."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch
from PIL import Image

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.models.policy import LoraSettings, Policy
from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.agents.runs.evaluate import evaluate
from pixelis.agents.sft import SftSettings, SftStep, demonstrations, load_chats, rate_factor, sft
from pixelis.errors import ConfigError, TrainingError


def test_a_demonstration_is_tokenised_as_if_it_had_been_sampled(
    text_policy: Policy, letter_env: Callable[..., gym.Env]
):
    chat = text_policy.chat
    (episode,) = demonstrations(chat, letter_env, "oracle", [5], options={"split": "test"})
    spoken = [chat.action(segment.tokens) for segment in episode.segments if segment.sampled]
    assert spoken[0] == '<tool_call>{"name": "LOOK", "arguments": {}}</tool_call>'
    assert spoken[1] in ("<answer>c</answer>", "<answer>d</answer>")
    assert [segment.sampled for segment in episode.segments] == [False, True, False, True]
    assert all(segment.tokens[-1] == chat.end_of_turn_id for segment in episode.segments if segment.sampled)
    assert int(episode.segments[2].tokens[0]) != chat.end_of_turn_id  # not closed twice
    assert episode.success and episode.completion_length == sum(map(len, episode.segments[1::2]))


def test_pictures_stay_with_their_turn(vision_policy: Policy, letter_env: Callable[..., gym.Env]):
    episodes = demonstrations(vision_policy.chat, lambda: letter_env(pictures=True), "oracle", range(3))
    for episode in episodes:
        assert [len(segment.images.get("pixel_values", ())) for segment in episode.segments] == [1, 0, 1, 0]
        assert torch.isfinite(vision_policy.logprobs([episode]).logprobs).all()


def test_a_mix_draws_each_policy_in_proportion(text_policy: Policy, letter_env: Callable[..., gym.Env]):
    mix = {"oracle": 3.0, "guess": 1.0, "nothing": 0.0}
    episodes = demonstrations(text_policy.chat, letter_env, mix, range(200))
    turns = [episode.turns for episode in episodes]
    assert set(turns) == {1, 2}
    assert turns.count(2) / 200 == pytest.approx(0.75, abs=0.1)
    again = demonstrations(text_policy.chat, letter_env, mix, range(200))
    assert [episode.turns for episode in again] == turns


@pytest.mark.parametrize("mix", [{}, {"oracle": 0.0}, {"oracle": -1.0, "guess": 2.0}])
def test_a_mix_without_weight_is_refused(
    mix: dict[str, float], text_policy: Policy, letter_env: Callable[..., gym.Env]
):
    with pytest.raises(ConfigError, match="weights >= 0"):
        demonstrations(text_policy.chat, letter_env, mix, [0])


def test_the_rate_rises_then_falls_as_a_half_cosine():
    rates = [rate_factor(step, 10, 0.2) for step in range(10)]
    assert rates[:3] == pytest.approx([1 / 3, 2 / 3, 1.0])
    assert rates[6] == pytest.approx(0.5)  # half way through the 8 steps that fall
    assert rates[9] == pytest.approx((1 + math.cos(math.pi * 7 / 8)) / 2)
    assert [rate_factor(step, 1, 0.0) for step in range(1)] == [1.0]


def test_the_loss_is_the_mean_over_what_was_said(make_text_policy, letter_env: Callable[..., gym.Env]):
    policy = make_text_policy()
    episodes = demonstrations(policy.chat, letter_env, "oracle", range(3))
    total = policy.logprobs(episodes).logprobs.detach().sum().item()
    expected = -total / sum(episode.completion_length for episode in episodes)
    (step,) = sft(policy, episodes, SftSettings(batch_size=3))
    assert step.loss == pytest.approx(expected, rel=1e-5)
    assert step.tokens == sum(episode.completion_length for episode in episodes)


@pytest.mark.parametrize("packing", [False, True])
def test_weights_multiply_the_loss_and_do_not_divide_it(make_text_policy, letter_env, packing: bool):
    policy = make_text_policy()
    episodes = demonstrations(policy.chat, letter_env, "oracle", range(3))
    for episode, weight in zip(episodes, (2.0, 0.5, 1.0), strict=True):
        episode.segments = [replace(segment, weight=weight) for segment in episode.segments]
    sums = [policy.logprobs([episode]).logprobs.detach().sum().item() for episode in episodes]
    tokens = sum(episode.completion_length for episode in episodes)
    (step,) = sft(policy, episodes, SftSettings(batch_size=3, packing=packing, micro_batch_size=2))
    assert step.loss == pytest.approx(-(2 * sums[0] + 0.5 * sums[1] + sums[2]) / tokens, rel=1e-5)


def test_a_random_model_learns_the_demonstrated_behaviour(
    make_terse_policy: Callable[..., Policy], letter_env: Callable[..., gym.Env]
):
    policy = make_terse_policy()
    chat, greedy = policy.chat, SamplingSettings(greedy=True, max_new_tokens=60)
    before = evaluate(policy, letter_env, range(8), settings=greedy, options={"split": "train"})
    episodes = demonstrations(chat, letter_env, "oracle", range(16), options={"split": "train"})
    seen: list[SftStep] = []
    settings = SftSettings(epochs=30, batch_size=8, learning_rate=1e-2, warmup=0.1)
    steps = sft(policy, episodes, settings, on_step=seen.append)
    after = evaluate(policy, letter_env, range(8), settings=greedy, options={"split": "train"})
    assert seen == steps and len(steps) == 60
    assert steps[0].loss > 4 and steps[-1].loss < 0.1
    assert not before.tool_calls.get("LOOK") and after.tool_calls["LOOK"] >= 1.0
    assert (before.success_rate, after.success_rate) == (0.0, pytest.approx(1.0, abs=0.5))
    assert after.success_rate >= 0.5
    assert not policy.model.training


def test_an_adapter_learns_and_the_base_stays(
    make_terse_policy: Callable[..., Policy], letter_env: Callable[..., gym.Env]
):
    policy = make_terse_policy(lora=LoraSettings(rank=8))
    frozen = {name: p.clone() for name, p in policy.model.named_parameters() if not p.requires_grad}
    episodes = demonstrations(policy.chat, letter_env, "guess", range(16))
    steps = sft(policy, episodes, SftSettings(epochs=12, batch_size=8, learning_rate=2e-2))
    assert steps[-1].loss < steps[0].loss - 1
    assert all(
        torch.equal(p, frozen[name]) for name, p in policy.model.named_parameters() if not p.requires_grad
    )


def test_the_same_seed_gives_the_same_steps(
    make_terse_policy: Callable[..., Policy], letter_env: Callable[..., gym.Env]
):
    def run(seed: int) -> list[SftStep]:
        policy = make_terse_policy(lora=LoraSettings(rank=2, dropout=0.2))
        episodes = demonstrations(policy.chat, letter_env, {"oracle": 1, "guess": 1}, range(8))
        return sft(policy, episodes, SftSettings(batch_size=4, epochs=2, seed=seed))

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_nothing_to_learn_from_is_refused(text_policy: Policy):
    with pytest.raises(ConfigError, match="at least one demonstration"):
        sft(text_policy, [Episode("E-v0", 0, 0, 0)], SftSettings())


def test_a_loss_that_is_not_finite_stops(make_text_policy, letter_env: Callable[..., gym.Env]):
    policy = make_text_policy()
    with torch.no_grad():
        policy.model.get_input_embeddings().weight.fill_(torch.nan)
    with pytest.raises(TrainingError, match="lower the learning rate"):
        sft(policy, demonstrations(policy.chat, letter_env, "guess", [0]), SftSettings())


def test_a_gradient_that_is_not_finite_changes_nothing(make_text_policy, letter_env: Callable[..., gym.Env]):
    policy = make_text_policy()
    first = policy.trainable_parameters()[0]
    first.register_hook(lambda gradient: torch.full_like(gradient, torch.inf))
    before = [each.detach().clone() for each in policy.trainable_parameters()]
    with pytest.raises(TrainingError, match=r"gradient has a norm of (inf|nan) at step 0"):
        sft(policy, demonstrations(policy.chat, letter_env, "guess", [0]), SftSettings())
    assert all(map(torch.equal, before, policy.trainable_parameters()))


@pytest.mark.parametrize("wrong", [{"epochs": 0}, {"batch_size": 0}, {"learning_rate": 0.0}, {"warmup": 1.0}])
def test_settings_out_of_range_are_refused(wrong: dict[str, float]):
    with pytest.raises(ConfigError, match="SFT needs"):
        SftSettings(**wrong)


# ---------------------------------------------------------------------- JSONL


def test_chats_are_read_from_jsonl(vision_policy: Policy, tmp_path: Path):
    Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(tmp_path / "a.png")
    rows = [
        {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]},
        {
            "messages": [
                {"role": "user", "content": "what?", "image": "a.png"},
                {"role": "assistant", "content": "black"},
                {"role": "user", "content": "sure?"},
                {"role": "assistant", "content": "yes"},
            ]
        },
    ]
    file = tmp_path / "chats.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    first, second = load_chats(file, vision_policy.chat)
    assert first.text == "<|user|>hi<|end|><|assistant|>hello<|end|>"
    assert second.text.endswith("black<|end|><|user|>sure?<|end|><|assistant|>yes<|end|>")
    assert second.images["pixel_values"].shape == (1, 3, 32, 32)
    decode = vision_policy.chat.decode
    assert decode(second.tokens[second.loss_mask]) == "black<|end|>yes<|end|>"


@pytest.mark.parametrize(
    "line",
    [
        "not json",
        "[]",
        '{"messages": []}',
        '{"messages": [{"role": "assistant", "content": "x"}]}',
        '{"a": 1}',
    ],
)
def test_a_bad_line_is_named(line: str, text_policy: Policy, tmp_path: Path):
    file = tmp_path / "chats.jsonl"
    good = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]}
    file.write_text(f"{json.dumps(good)}\n{line}\n")
    with pytest.raises(ConfigError, match="line 2: expected"):
        load_chats(file, text_policy.chat)


def test_a_missing_file_is_one_clear_error(text_policy: Policy, tmp_path: Path):
    with pytest.raises(ConfigError, match="cannot read demonstrations"):
        load_chats(tmp_path / "none.jsonl", text_policy.chat)
