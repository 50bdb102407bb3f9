"""The adapter's own forward against PEFT's, and what sampling does to the weights."""

from __future__ import annotations

import types
from pathlib import Path

import pytest
import torch
from peft.tuners.lora import Linear

from pixelis.agents.models.lora import _rounded_at_random
from pixelis.agents.models.policy import LoraSettings, Policy


@pytest.fixture
def adapted(text_folder: Path) -> Policy:
    policy = Policy.load(text_folder, device="cpu", lora=LoraSettings(rank=2, alpha=4))
    torch.manual_seed(5)
    with torch.no_grad():
        for parameter in policy.trainable_parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return policy


def outcome(policy: Policy) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Logits of some tokens, and the adapter's gradients of their mean square."""
    ids = torch.arange(10, 22)[None]
    logits = policy.base(input_ids=ids).logits
    parameters = policy.trainable_parameters()
    return logits.detach(), list(torch.autograd.grad(logits.pow(2).mean(), parameters))


def test_values_and_gradients_are_those_of_peft(adapted: Policy):
    found = outcome(adapted)
    for module in adapted.model.modules():
        if isinstance(module, Linear):
            module.forward = types.MethodType(Linear.forward, module)
    expected = outcome(adapted)
    torch.testing.assert_close(found[0], expected[0], atol=1e-5, rtol=1e-5)
    assert any(gradient.abs().max() > 1e-4 for gradient in expected[1])
    for mine, theirs in zip(found[1], expected[1], strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=1e-4)


def test_in_half_precision_gradients_stay_float32(text_folder: Path):
    policy = Policy.load(text_folder, device="cpu", dtype="bfloat16", lora=LoraSettings(rank=2, alpha=4))
    parameters = policy.trainable_parameters()
    assert {parameter.dtype for parameter in parameters} == {torch.float32}
    assert {gradient.dtype for gradient in outcome(policy)[1]} == {torch.float32}


def test_random_rounding_is_right_on_average():
    # 1 + 2**-9 lies a quarter of the way from 1 to the next bfloat16, 1 + 2**-7
    values = torch.full((40_000,), 1 + 2**-9)
    for sign in (1.0, -1.0):
        rounded = _rounded_at_random(sign * values, torch.Generator().manual_seed(0)).float()
        assert sorted(set((sign * rounded).tolist())) == [1.0, 1 + 2**-7]
        assert (sign * rounded).mean().item() == pytest.approx(1 + 2**-9, abs=2**-7 * 0.01)


def test_what_fits_is_not_rounded():
    values = torch.tensor([0.0, 1.0, -2.5, 2.0**-20])
    assert torch.equal(_rounded_at_random(values, None).float(), values)


def test_folding_in_half_precision_depends_on_the_seed_alone_and_leaves_no_trace(text_folder: Path):
    policy = Policy.load(text_folder, device="cpu", dtype="bfloat16", lora=LoraSettings(rank=2, alpha=4))
    with torch.no_grad():
        for parameter in policy.trainable_parameters():
            parameter.add_(0.01)
    ids = torch.arange(10, 22)[None]

    def logits(seed: int) -> torch.Tensor:
        with policy.folded(seed), torch.no_grad():
            return policy.base(input_ids=ids).logits

    before = policy.base(input_ids=ids).logits
    assert torch.equal(logits(1), logits(1))
    assert not torch.equal(logits(1), logits(2))
    assert torch.equal(policy.base(input_ids=ids).logits, before)
