"""Gradient checkpointing: the same numbers, less kept, and a clear end where it cannot be had."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf

HERE = Path(__file__).parent
for folder in (HERE, HERE / "rl"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from letter_model import build_letter_model  # noqa: E402
from tiny_models import FAMILIES, VISION_FAMILIES, build  # noqa: E402

from pixelis.agents.episodes.episode import Episode, Segment  # noqa: E402
from pixelis.agents.models.gradient_checkpointing import checkpoint_layers  # noqa: E402
from pixelis.agents.models.policy import LoraSettings, Policy  # noqa: E402
from pixelis.agents.rl.run import TrainingRun  # noqa: E402
from pixelis.agents.runs.metrics import comparable  # noqa: E402
from pixelis.agents.settings.rl import TrainConfig  # noqa: E402
from pixelis.agents.settings.sft import SftConfig  # noqa: E402
from pixelis.agents.sft.run import SftRun  # noqa: E402
from pixelis.errors import ConfigError  # noqa: E402


def adapted(folder: Path, **lora: Any) -> Policy:
    torch.manual_seed(0)
    policy = Policy.load(folder, device="cpu", lora=LoraSettings(rank=2, **lora))
    with torch.no_grad():
        for weight in policy.trainable_parameters():
            weight.add_(0.05 * torch.randn_like(weight))
    return policy


def group_of(policy: Policy, sees: bool) -> list[Episode]:
    """Return four episodes of two turns behind one prompt, with pictures where the model sees."""
    draw = np.random.default_rng(0)
    image = draw.integers(0, 256, (32, 32, 3), dtype=np.uint8) if sees else None
    prompt, episodes = policy.chat.first("Which is it?", image), []
    for member in range(4):
        turn = Segment.written(draw.integers(0, 200, 3 + member))
        later = policy.chat.later("look again", image, int(turn.tokens[-1]))
        last = Segment.written(draw.integers(0, 200, 4))
        episodes.append(Episode("x", 0, 0, member, [prompt, turn, later, last]))
    return episodes


def gradients(policy: Policy, episodes: list[Episode]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the log-probabilities and the gradient of their weighted sum."""
    found = policy.logprobs(episodes).logprobs
    weights = torch.linspace(-1, 1, found.numel()).view(found.shape)
    parameters = policy.trainable_parameters()
    for parameter in parameters:
        parameter.grad = None
    (found * weights).sum().backward()
    return found.detach(), torch.cat([p.grad.flatten() for p in parameters if p.grad is not None])


@contextmanager
def kept_bytes() -> Iterator[list[int]]:
    """Count what the block keeps for its backward pass; each storage once, parameters left out."""
    seen: dict[int, torch.UntypedStorage] = {}
    total = [0]

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in seen and not isinstance(tensor, torch.nn.Parameter):
            seen[storage.data_ptr()] = storage  # kept, so that no other takes its address
            total[0] += storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        yield total


@pytest.mark.parametrize("shared", [True, False], ids=["shared prefixes", "generic"])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_gradient_is_the_same(family: str, shared: bool, tmp_path: Path):
    policy = adapted(build(family, tmp_path / "model"))
    assert policy.shares_prefixes
    policy.__dict__["shares_prefixes"] = shared
    episodes = group_of(policy, family in VISION_FAMILIES)
    expected = gradients(policy, episodes)
    implementation = policy.base.config.get_text_config(decoder=True)._attn_implementation
    assert checkpoint_layers(policy.base) == 2
    found = gradients(policy, episodes)
    assert expected[1].abs().max() > 1e-2
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-6)
    assert policy.base.config.get_text_config(decoder=True)._attn_implementation == implementation


def test_less_is_kept(tmp_path: Path):
    """Eight layers: kept is their input each, and what the head needs."""
    policy = adapted(
        build("qwen2", tmp_path / "model", num_hidden_layers=8, layer_types=8 * ["full_attention"])
    )
    draw = np.random.default_rng(0)
    prompt = Segment.given(draw.integers(0, 200, 200))
    episodes = [Episode("x", 0, 0, m, [prompt, Segment.written(draw.integers(0, 200, 40))]) for m in range(4)]
    assert policy.shares_prefixes
    with kept_bytes() as plain:
        policy.logprobs(episodes)
    checkpoint_layers(policy.base)
    with kept_bytes() as checkpointed:
        policy.logprobs(episodes)
    tokens, width = 200 + 4 * 40, 32
    assert checkpointed[0] > 8 * tokens * width * 4  # the inputs of the layers are kept
    assert checkpointed[0] < 0.2 * plain[0]


def test_dropout_is_drawn_once(tmp_path: Path):
    policy = adapted(build("qwen2", tmp_path / "model"), dropout=0.3)
    episodes = group_of(policy, False)
    policy.model.train()
    policy.logprobs(episodes)  # the trial of shared prefixes is over
    torch.manual_seed(4)
    expected = gradients(policy, episodes)
    checkpoint_layers(policy.base)
    torch.manual_seed(4)
    found = gradients(policy, episodes)
    torch.testing.assert_close(found[1], expected[1], atol=1e-6, rtol=1e-6)
    assert (gradients(policy, episodes)[1] - found[1]).abs().max() > 1e-3  # dropout was on


def run_of(kind: Any, config: Any) -> tuple[list[Any], list[torch.Tensor]]:
    """Train; return metrics without times, and the adapter."""
    rows: list[Any] = []
    with kind.start(config) as run:
        run.train(on_step=rows.append)
        weights = [weight.detach().clone() for weight in run.policy.trainable_parameters()]
    return [comparable(row) for row in rows], weights


def test_a_run_has_the_same_numbers(tmp_path: Path):
    model, found = build_letter_model(tmp_path / "model"), []
    for on in (False, True):
        config = TrainConfig(
            env="toy_env:Toy/Echo-v0",
            model=str(model),
            output=str(tmp_path / f"run{on}"),
            env_kwargs={"turns": 2},
            gradient_checkpointing=on,
            steps=2,
            groups=2,
            group_size=4,
            max_new_tokens=4,
            eval_episodes=0,
        )
        found.append(run_of(TrainingRun, config))
    assert found[0][0] == found[1][0]
    assert all(torch.equal(one, two) for one, two in zip(found[0][1], found[1][1], strict=True))


def test_supervised_runs_have_it_too(tmp_path: Path, chats: Path):
    model, found = build("qwen2", tmp_path / "model"), []
    for on in (False, True):
        output = str(tmp_path / f"run{on}")
        config = SftConfig(
            model=str(model),
            data=str(chats),
            output=output,
            steps=2,
            gradient_checkpointing=on,
            eval_episodes=0,
        )
        found.append(run_of(SftRun, config))
    for one, two in zip(found[0][1], found[1][1], strict=True):
        torch.testing.assert_close(one, two, atol=1e-6, rtol=1e-6)


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    path = tmp_path / "chats.jsonl"
    path.write_text(
        '{"messages": [{"role": "user", "content": "b"}, {"role": "assistant", "content": "d"}]}\n' * 8
    )
    return path


def test_an_architecture_without_it_is_one_clear_error():
    model = hf.CTRLLMHeadModel(hf.CTRLConfig(vocab_size=9, n_embd=16, dff=16, n_layer=1, n_head=2))
    with pytest.raises(ConfigError, match="CTRLLMHeadModel has none; set gradient_checkpointing: false"):
        checkpoint_layers(model)
