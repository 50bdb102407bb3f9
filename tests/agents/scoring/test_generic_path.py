"""Architectures that shared prefixes do not fit: announced, and right all the same.

The oracle is transformers' own forward of each episode by itself, whole, without a cache.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as hf
from tiny_models import SMOLLM, build_tokenizer, text_settings
from toy_env import AlbumEnv

from pixelis.agents.models.policy import LoraSettings, Policy
from pixelis.agents.rl.run import TrainingRun
from pixelis.agents.rollout.collector import Collector, EpisodeRequest
from pixelis.agents.rollout.decoding import RereadMemory, SharedMemory, memory_of
from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.agents.rollout.uncached import UncachedMemory
from pixelis.agents.scoring.support import disagreement
from pixelis.agents.settings.rl import TrainConfig
from pixelis.errors import ConfigError

pytestmark = pytest.mark.filterwarnings("ignore:.*use_mamba_kernels")
WINDOW = 8  # shorter than every prompt


def config_of(kind: str) -> Any:
    """Return the config of a tiny model: windows, soft caps, recurrence, or positions of its own."""
    tokenizer = build_tokenizer(SMOLLM)
    full = text_settings(tokenizer)
    names = ("vocab_size", "hidden_size", "num_hidden_layers", "eos_token_id", "pad_token_id", "bos_token_id")
    few = {name: full[name] for name in names}
    small = {**few, "initializer_range": 0.2}
    experts = {"num_experts": 2, "num_experts_per_tok": 1}
    return {
        "mistral": lambda: hf.MistralConfig(**full, sliding_window=WINDOW),
        "gemma2": lambda: hf.Gemma2Config(**full, head_dim=8, sliding_window=WINDOW, query_pre_attn_scalar=8),
        "bloom": lambda: hf.BloomConfig(**small, n_head=4),
        "jamba": lambda: hf.JambaConfig(
            **full, **experts, mamba_d_state=4, attn_layer_period=2, attn_layer_offset=1
        ),
        "mamba": lambda: hf.MambaConfig(**small, state_size=4),
        "rwkv": lambda: hf.RwkvConfig(**few, context_length=256),
    }[kind]()


# architecture, how it is decoded, what the log gives as the reason
KINDS = {
    "mistral": ("MistralForCausalLM", RereadMemory, "sliding_window"),
    "gemma2": ("Gemma2ForCausalLM", RereadMemory, "softcap"),
    "bloom": ("BloomForCausalLM", RereadMemory, "takes no position ids"),
    "jamba": ("JambaForCausalLM", RereadMemory, "log-probabilities differ by"),
    "mamba": ("MambaForCausalLM", UncachedMemory, "takes no position ids"),
    "rwkv": ("RwkvForCausalLM", UncachedMemory, "takes no position ids"),
}


def build(kind: str, folder: Path) -> Path:
    torch.manual_seed(0)
    hf.AutoModelForCausalLM.from_config(config_of(kind)).save_pretrained(folder)
    build_tokenizer(SMOLLM).save_pretrained(folder)
    return folder


def adapted(folder: Path) -> Policy:
    policy = Policy.load(folder, device="cpu", lora=LoraSettings(rank=2))
    with torch.no_grad():
        for name, weight in policy.model.named_parameters():
            # Jamba reads the weight of dt_proj without its adapter, which therefore never gets a gradient
            if weight.requires_grad and "dt_proj" not in name:
                weight.add_(0.05 * torch.randn_like(weight))
    return policy


@pytest.mark.parametrize("kind", KINDS)
def test_the_generic_path_is_announced_and_right(kind: str, tmp_path: Path, caplog: Any):
    name, memory, reason = KINDS[kind]
    policy = adapted(build(kind, tmp_path / "model"))
    requests = [EpisodeRequest(seed, seed, member) for seed in range(3) for member in range(2)]
    with caplog.at_level(logging.WARNING, "pixelis"), Collector(AlbumEnv) as collector:
        episodes = collector.collect(policy, requests, SamplingSettings(max_new_tokens=6), 0)
    assert not policy.shares_prefixes and memory_of(policy) is memory
    (said,) = [each for each in caplog.records if each.name == "pixelis.agents.scoring.support"]
    assert said.levelname == "WARNING" and "\n" not in said.getMessage()
    start = f"{name} does not fit the shared-prefix path; the generic path reads every episode by itself"
    assert said.getMessage().startswith(start) and reason in said.getMessage()
    others = [each for each in caplog.records if each.name == "pixelis.agents.rollout.uncached"]
    assert len(others) == (memory is UncachedMemory)
    assert all(each.getMessage().startswith(f"{name} cannot be decoded with") for each in others)

    assert sorted({each.turns for each in episodes}) == [1, 2, 3]
    assert min(len(each.segments[0]) for each in episodes) > WINDOW
    scored, seen = policy.logprobs(episodes), []
    for row, episode in enumerate(episodes):
        ids, mask = torch.tensor(episode.tokens)[None], torch.tensor(episode.loss_mask)
        with torch.no_grad():
            logits = policy.model(ids, use_cache=False).logits[0, :-1].float()
        truth = torch.log_softmax(logits, -1).gather(-1, ids[0, 1:, None])[:, 0][mask[1:]]
        assert (torch.tensor(episode.logprobs)[mask] - truth).abs().max() < 1e-5
        assert (scored.logprobs[row, : len(episode)][mask] - truth).abs().max() < 1e-5
        seen.append(truth)
    assert torch.cat(seen).std() > 0.1


def test_one_that_fits_is_announced_nowhere(text_policy: Policy, caplog: Any):
    with caplog.at_level(logging.INFO, "pixelis"):
        assert memory_of(text_policy) is SharedMemory
    assert not caplog.records


@pytest.mark.parametrize("kind", ["mistral", "mamba"])
def test_a_run_says_in_its_log_which_path_it_takes(kind: str, tmp_path: Path):
    config = TrainConfig(
        env="toy_env:Toy/Album-v0",
        model=str(build(kind, tmp_path / "model")),
        output=str(tmp_path / "run"),
        steps=1,
        groups=2,
        group_size=2,
        max_new_tokens=3,
        eval_episodes=0,
    )
    rows: list[Any] = []
    with TrainingRun.start(config) as run:
        run.train(on_step=rows.append)
    assert rows[0]["policy/grad_norm"] > 0 and rows[0]["policy/mismatch"] < 1e-5
    assert f"{KINDS[kind][0]} takes the generic path" in (run.folder.path / "log.txt").read_text()


def test_a_model_without_layers_to_adapt_is_one_clear_error(make_folder: Callable[..., Path]):
    with pytest.raises(ConfigError, match=r"GPT2LMHeadModel has no torch.nn.Linear"):
        Policy.load(make_folder(), device="cpu", lora=LoraSettings(rank=2))


@pytest.fixture
def make_folder(tmp_path: Path) -> Callable[..., Path]:
    def make() -> Path:
        tokenizer = build_tokenizer(SMOLLM)
        ends = {"eos_token_id": tokenizer.eos_token_id, "bos_token_id": None}
        config = hf.GPT2Config(vocab_size=len(tokenizer), n_embd=16, n_layer=1, n_head=2, **ends)
        hf.AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path / "gpt2")
        tokenizer.save_pretrained(tmp_path / "gpt2")
        return tmp_path / "gpt2"

    return make


def test_half_precision_is_given_its_rounding_and_no_more():
    # bfloat16 keeps 8 bits: what leads to -12 nats is off by some 0.1, with a wrong mask by whole nats
    expected = torch.tensor([-1.0, -12.8])
    near, far = expected + torch.tensor([0.0, 0.25]), expected + torch.tensor([0.0, 0.35])
    assert disagreement(expected, near, torch.bfloat16) is None  # 0.1 + 12.8 / 64 = 0.3
    assert disagreement(expected, far, torch.bfloat16) == "log-probabilities differ by 0.35"
    assert disagreement(expected, expected + 2e-4, torch.float32) == "log-probabilities differ by 0.0002"
    assert disagreement(expected, expected + 5e-5, torch.float64) is None
