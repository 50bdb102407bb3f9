"""Models that do not fit together are one clear error each; odd ones that can work do."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch

from pixelis.agents.losses.loss import LossSettings
from pixelis.agents.models.chat import vocabulary_size
from pixelis.agents.models.loading import frozen_fingerprint
from pixelis.agents.models.policy import LoraSettings, Policy
from pixelis.agents.optimisation.optimiser import Optimiser
from pixelis.agents.rl.batch import make_batch
from pixelis.agents.rl.gradient import BatchGradient, UpdateSettings
from pixelis.agents.rl.update import Updater
from pixelis.agents.rollout.collector import EpisodeRequest, collect
from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.errors import ModelLoadError, TrainingError

REQUESTS = [EpisodeRequest(seed, 0, seed, {"turns": 1 + seed % 3}) for seed in range(6)]
SETTINGS = SamplingSettings(max_new_tokens=40, temperature=1.5)


def changed_tokenizer(folder: Path, target: Path, **changes: object) -> Path:
    """Copy a model folder and change entries of its tokenizer_config.json; None removes one."""
    shutil.copytree(folder, target)
    path = target / "tokenizer_config.json"
    values = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({key: value for key, value in values.items() if value is not None}))
    return target


def gradient(policy: Policy, episodes: list) -> torch.Tensor:
    batch = make_batch(episodes, groups=1, group_size=len(episodes), max_completion_length=120)
    optimiser = Optimiser(policy.trainable_parameters(), lr=1e-30, max_grad_norm=1e9)
    Updater(optimiser, BatchGradient(policy, UpdateSettings(LossSettings(), SETTINGS.temperature))).update(
        batch, episodes
    )
    return torch.cat([p.grad.flatten() for p in policy.trainable_parameters() if p.grad is not None])


def one_line(caught: pytest.ExceptionInfo[BaseException]) -> str:
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_a_model_without_a_chat_template(text_folder: Path, tmp_path: Path):
    folder = changed_tokenizer(text_folder, tmp_path / "model", chat_template=None)
    (folder / "chat_template.jinja").unlink()
    with pytest.raises(ModelLoadError, match="no chat template; use an instruct or chat version") as caught:
        Policy.load(folder, device="cpu")
    one_line(caught)


def test_padding_may_be_the_end_token(
    text_folder: Path, tmp_path: Path, counting_env: Callable[..., gym.Env]
):
    folder = changed_tokenizer(text_folder, tmp_path / "model", pad_token="<|end|>")
    found = []
    for path in (text_folder, folder):
        torch.manual_seed(0)
        policy = Policy.load(path, device="cpu", lora=LoraSettings(rank=2))
        found.append((policy, collect(policy, counting_env, REQUESTS, SETTINGS, 1)))
    (plain, expected), (policy, episodes) = found
    end = policy.tokenizer.eos_token_id
    assert policy.chat.pad_id == end != plain.chat.pad_id
    ended = 0
    for one, other in zip(episodes, expected, strict=True):
        assert one.tokens.tolist() == other.tokens.tolist()
        assert one.loss_mask.tolist() == other.loss_mask.tolist()
        ended += int((one.tokens[one.loss_mask] == end).sum())
    assert ended > 0  # sampled end tokens are trained on, though they look like padding
    assert len({len(episode) for episode in episodes}) > 1  # so some rows are padded
    for index, episode in enumerate(episodes):
        episode.reward = expected[index].reward = float(index % 2)
    scored = policy.logprobs(episodes, SETTINGS.temperature)
    recorded = np.zeros(scored.mask.shape, np.float32)
    for row, episode in enumerate(episodes):
        recorded[row, : len(episode)] = episode.logprobs
        assert scored.mask[row].sum() == episode.completion_length
    assert np.abs(scored.logprobs.detach().numpy() - recorded).max() < 1e-4
    change = gradient(policy, episodes)
    assert change.abs().max() > 1e-4
    torch.testing.assert_close(change, gradient(plain, expected), rtol=0, atol=1e-6)


def test_a_vocabulary_smaller_than_the_tokenizers(make_text_policy: Callable[..., Policy]):
    with pytest.raises(
        ModelLoadError, match=r"vocabulary of 100 tokens and its tokenizer needs 26\d"
    ) as caught:
        make_text_policy(vocab_size=100, eos_token_id=5, pad_token_id=5)
    assert "give the tokenizer that belongs to it" in one_line(caught)


def test_template_tokens_outside_the_vocabulary_are_found_too(make_text_policy: Callable[..., Policy]):
    # 256 bytes, then <|pad|> 256, <|end|> 257, <|user|> 258, <|assistant|> 259
    with pytest.raises(ModelLoadError, match="vocabulary of 259 tokens and its tokenizer needs 260"):
        make_text_policy(vocab_size=259, eos_token_id=257, pad_token_id=256)
    assert make_text_policy(vocab_size=260, eos_token_id=257, pad_token_id=256).vocabulary_size == 260


def test_a_text_with_a_token_that_the_model_lacks_loses_its_own_episode(
    make_text_policy: Callable[..., Policy], counting_env: Callable[..., gym.Env]
):
    class Odd(counting_env):  # type: ignore[misc, valid-type]
        """Shows a control token that the template does not use, in its first or a later observation."""

        def _observation(self, text: str) -> dict[str, object]:
            odd = (self.turn, self.length) in ((0, 1), (1, 2))
            return super()._observation(f"<|endoftext|>{text}" if odd else text)

    policy = make_text_policy(vocab_size=262, eos_token_id=257, pad_token_id=256)  # <image> is 261
    assert policy.tokenizer.convert_tokens_to_ids("<|endoftext|>") == 262  # added on loading
    requests = [EpisodeRequest(turns, turns, 0, {"turns": turns}) for turns in (1, 2, 3)]
    first, later, good = collect(policy, Odd, requests, SETTINGS, 0)
    assert [first.valid_for_training, later.valid_for_training, good.valid_for_training] == [
        False,
        False,
        True,
    ]
    assert [first.turns, later.turns, good.turns] == [0, 1, 3]
    for episode in (first, later):
        assert "token '<|endoftext|>' (id 262), which is outside the model's vocabulary of 262" in str(
            episode.failure_reason
        )


def test_a_larger_vocabulary_is_ordinary(text_policy: Policy, vision_policy: Policy):
    for policy in (text_policy, vision_policy):
        assert vocabulary_size(policy.base) == policy.vocabulary_size == 264 > len(policy.tokenizer)


def test_weights_that_are_not_finite_are_one_clear_error_when_sampling(
    make_text_policy: Callable[..., Policy], counting_env: Callable[..., gym.Env]
):
    policy = make_text_policy()
    with torch.no_grad():
        policy.base.model.norm.weight[0] = torch.nan
    with pytest.raises(TrainingError, match=r"logits are not finite.*--dtype") as caught:
        collect(policy, counting_env, REQUESTS[:1], SETTINGS, 0)
    one_line(caught)


# ---------------------------------------------------------------------- adapters


@pytest.fixture
def adapter(text_folder: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "adapter"
    Policy.load(text_folder, device="cpu", lora=LoraSettings(rank=2)).save_adapter(folder)
    return folder


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"hidden_size": 16, "intermediate_size": 32}, "size mismatch for"),
        ({"num_hidden_layers": 1}, r"no place for 14 of its weights, the first is .*layers\.1\."),
        ({"num_hidden_layers": 3}, "Found missing adapter keys"),
    ],
)
def test_an_adapter_for_another_base(
    adapter: Path, make_text_policy: Callable[..., Policy], overrides: dict[str, int], message: str
):
    other = make_text_policy(**overrides)
    config = adapter / "adapter_config.json"
    values = json.loads(config.read_text()) | {"base_model_name_or_path": other.base_name}
    config.write_text(json.dumps(values))
    with pytest.raises(ModelLoadError, match=message) as caught:
        Policy.load(adapter, device="cpu")
    assert "does not fit" in one_line(caught) and other.base_name in one_line(caught)


def test_an_adapter_for_another_architecture(adapter: Path, tmp_path: Path, text_folder: Path):
    from transformers import GPT2Config, GPT2LMHeadModel

    other = shutil.copytree(text_folder, tmp_path / "gpt2")
    (other / "model.safetensors").unlink()
    GPT2LMHeadModel(GPT2Config(vocab_size=264, n_embd=16, n_layer=1, n_head=2)).save_pretrained(other)
    config = adapter / "adapter_config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"base_model_name_or_path": str(other)}))
    with pytest.raises(ModelLoadError, match=r"does not fit.*not found in the base model") as caught:
        Policy.load(adapter, device="cpu")
    one_line(caught)


def test_the_fingerprint_is_of_the_frozen_weights_alone(
    text_folder: Path, adapter: Path, make_text_policy: Callable[..., Policy]
):
    fresh = Policy.load(text_folder, device="cpu", lora=LoraSettings(rank=2))
    before = frozen_fingerprint(fresh.model)
    with torch.no_grad():
        for parameter in fresh.trainable_parameters():
            parameter.add_(1.0)
    assert frozen_fingerprint(fresh.model) == before
    assert frozen_fingerprint(Policy.load(adapter, device="cpu").model) == before
    with fresh.folded():
        pass
    assert frozen_fingerprint(fresh.model) == before
    with torch.no_grad():
        fresh.base.model.embed_tokens.weight += 1e-3
    assert frozen_fingerprint(fresh.model) != before
    smaller = make_text_policy(lora=LoraSettings(rank=2), num_hidden_layers=1)
    assert frozen_fingerprint(smaller.model) != before
