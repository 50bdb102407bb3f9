"""The composed loss: by hand, by finite differences, and independent of the micro-batch split."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from pixelis.agents.grpo.aggregation import AGGREGATIONS, StepCounts
from pixelis.agents.grpo.loss import LossInputs, LossSettings, grpo_loss

MASK = torch.tensor([[0, 1, 1, 1, 1], [0, 1, 0, 1, 0], [0, 0, 0, 1, 1], [0, 1, 1, 0, 0]], dtype=torch.bool)
COUNTS = StepCounts(tokens=10, sequences=4, max_completion_length=6)
EVERY_SETTING = [
    pytest.param(
        LossSettings(aggregation=name, kl=kl, beta=beta, epsilon_high=0.28), id=f"{name}-{kl}-{beta}"
    )
    for name in sorted(AGGREGATIONS)
    for kl, beta in (("k3", 0.0), ("k3", 0.1), ("k2", 0.1), ("k1", 0.1))
]


def make_inputs(logprobs=None):
    generator = torch.Generator().manual_seed(0)
    draw = torch.randn(3, 4, 5, generator=generator, dtype=torch.float64)
    base = -draw[0].abs() - 0.1
    return LossInputs(
        logprobs=(base if logprobs is None else logprobs),
        old_logprobs=base + 0.3 * draw[1],
        reference_logprobs=base + 0.3 * draw[2],
        advantages=torch.tensor([1.0, -1.5, 0.5, -0.2], dtype=torch.float64),
        mask=MASK,
    )


def rows(inputs, chosen):
    return LossInputs(
        inputs.logprobs[chosen],
        inputs.old_logprobs[chosen],
        inputs.advantages[chosen],
        inputs.mask[chosen],
        inputs.reference_logprobs[chosen],
    )


def test_by_hand_on_policy():
    # ratio 1 everywhere: the loss is -(2 tokens x 1.5 - 1 token x 0.5) / 3 tokens, plus beta x k2 of d = 0.2
    logprobs = torch.tensor([[-1.0, -1.0], [-2.0, 0.0]])
    inputs = LossInputs(
        logprobs,
        logprobs,
        torch.tensor([1.5, -0.5]),
        torch.tensor([[True, True], [True, False]]),
        reference_logprobs=logprobs + 0.2,
    )
    settings = LossSettings(kl="k2", beta=0.5)
    result = grpo_loss(inputs, settings, StepCounts(tokens=3, sequences=2, max_completion_length=2))
    assert result.loss.item() == pytest.approx(-2.5 / 3 + 0.5 * 0.02, rel=1e-5)
    assert (result.tokens, result.mismatch, result.clipped_low, result.clipped_high) == (3, 0, 0, 0)
    assert result.kl == pytest.approx(3 * 0.02, rel=1e-5)


def test_clipping_is_counted():
    mask = torch.tensor([[True, True, True, False]])
    new = torch.log(torch.tensor([[1.5, 1.1, 0.5, 9.0]]))
    up = grpo_loss(LossInputs(new, torch.zeros(1, 4), torch.tensor([1.0]), mask), LossSettings(), COUNTS)
    down = grpo_loss(LossInputs(new, torch.zeros(1, 4), torch.tensor([-1.0]), mask), LossSettings(), COUNTS)
    assert (up.clipped_low, up.clipped_high) == (0, 1)
    assert (down.clipped_low, down.clipped_high) == (1, 0)


def test_without_beta_the_logged_kl_is_to_the_sampler():
    inputs = LossInputs(
        torch.tensor([[-1.0]]), torch.tensor([[-0.5]]), torch.tensor([0.0]), torch.tensor([[True]])
    )
    assert grpo_loss(inputs, LossSettings(), COUNTS).kl == pytest.approx(0.1487213, rel=1e-5)  # e^0.5 - 1.5


@pytest.mark.parametrize("settings", EVERY_SETTING)
@pytest.mark.parametrize("split", [(1, 3), (2, 2), (1, 1, 1, 1)])
def test_the_micro_batch_split_cannot_change_the_gradient(settings, split):
    def gradient(parts):
        leaf = make_inputs().logprobs.clone().requires_grad_()
        inputs, start = make_inputs(leaf), 0
        for size in parts:
            grpo_loss(rows(inputs, slice(start, start + size)), settings, COUNTS).loss.backward(
                retain_graph=True
            )
            start += size
        return leaf.grad

    torch.testing.assert_close(gradient(split), gradient((4,)), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("settings", EVERY_SETTING)
def test_the_gradient_agrees_with_finite_differences(settings):
    leaf = make_inputs().logprobs.clone().requires_grad_()

    def loss_of(logprobs):
        return grpo_loss(make_inputs(logprobs), settings, COUNTS).loss

    assert torch.autograd.gradcheck(loss_of, (leaf,), eps=1e-7, atol=1e-7)


def test_no_gradient_outside_the_mask():
    leaf = make_inputs().logprobs.clone().requires_grad_()
    grpo_loss(make_inputs(leaf), LossSettings(beta=0.1), COUNTS).loss.backward()
    assert leaf.grad is not None
    assert (leaf.grad[~MASK] == 0).all()
    assert (leaf.grad[MASK] != 0).any()


def test_leaving_out_an_episode_without_advantage_does_not_change_the_gradient():
    leaf = make_inputs().logprobs.clone().requires_grad_()
    inputs = replace(make_inputs(leaf), advantages=torch.tensor([1.0, 0.0, 0.5, -0.2], dtype=torch.float64))
    (all_rows,) = torch.autograd.grad(grpo_loss(inputs, LossSettings(), COUNTS).loss, leaf)
    (kept,) = torch.autograd.grad(grpo_loss(rows(inputs, [0, 2, 3]), LossSettings(), COUNTS).loss, leaf)
    torch.testing.assert_close(kept, all_rows, rtol=0, atol=0)


def test_advantages_by_token_equal_advantages_by_episode_when_repeated():
    inputs = make_inputs()
    by_token = replace(inputs, advantages=inputs.advantages[:, None].expand(4, 5))
    one, other = (grpo_loss(each, LossSettings(), COUNTS).loss.item() for each in (inputs, by_token))
    assert one == other


def test_beta_without_a_reference_is_refused():
    with pytest.raises(ValueError, match="needs reference_logprobs"):
        grpo_loss(replace(make_inputs(), reference_logprobs=None), LossSettings(beta=0.1), COUNTS)


@pytest.mark.parametrize(
    "change",
    [
        {"old_logprobs": torch.zeros(4, 4)},
        {"mask": MASK[:2]},
        {"advantages": torch.zeros(3)},
        {"reference_logprobs": torch.zeros(1, 5)},
    ],
)
def test_shapes_are_checked(change):
    with pytest.raises(ValueError, match="must"):
        replace(make_inputs(), **change)
