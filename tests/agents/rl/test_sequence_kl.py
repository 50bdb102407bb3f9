"""``kl_ratio`` next to the sequence ratio: the token's own ratio here, the sequence's in TRL.

What TRL does is known to the digit (its numbers are reproduced), and why ours is another: its gradient is
that of the divergence, TRL's falls short of it where an episode has more than one token.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pixelis.agents.losses.aggregation import AGGREGATIONS, StepCounts
from pixelis.agents.losses.loss import LossInputs, LossSettings, grpo_loss

REFERENCE = json.loads(Path(__file__).with_name("trl_reference.json").read_text())
GIVEN = {key: torch.tensor(value).double() for key, value in REFERENCE["given"].items()}
MASK = GIVEN["mask"].bool()
COUNTS = StepCounts(int(MASK.sum()), len(MASK), REFERENCE["max_completion_length"])
GSPO = {"ratio": "sequence", "epsilon_low": 0.02, "epsilon_high": 0.04}


def k3_times_the_sequence_ratio(
    logprobs: torch.Tensor, old: torch.Tensor, reference: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """Return TRL's penalty of each token [B, T], with gradient through the mean log-ratio of its sequence."""
    difference = reference - logprobs
    mean = ((logprobs - old) * mask).sum(1, keepdim=True) / mask.sum(1, keepdim=True)
    return (difference.exp() - difference - 1) * mean.exp()


def ours(logprobs: torch.Tensor, aggregation: str, **settings: Any) -> torch.Tensor:
    inputs = LossInputs(logprobs, GIVEN["old"], GIVEN["advantages"], MASK, GIVEN["reference"])
    return grpo_loss(inputs, LossSettings(aggregation=aggregation, **GSPO, **settings), COUNTS).loss


@pytest.mark.parametrize("case", REFERENCE["sequence_kl"], ids=lambda case: case["loss_type"])
def test_what_trl_does_is_known(case: dict[str, Any]):
    aggregation = {"grpo": "sequence_mean", "dapo": "token_mean"}[case["loss_type"]]
    assert case["use_bias_correction_kl"] and case["importance_sampling_level"] == "sequence"
    logprobs = GIVEN["logprobs"].clone().requires_grad_()
    penalty = k3_times_the_sequence_ratio(logprobs, GIVEN["old"], GIVEN["reference"], MASK)
    loss = ours(logprobs, aggregation) + case["beta"] * AGGREGATIONS[aggregation](penalty, MASK, COUNTS)
    assert loss.item() == pytest.approx(case["loss"], rel=1e-6)
    (gradient,) = torch.autograd.grad(loss, logprobs)
    np.testing.assert_allclose(gradient, case["gradient"], rtol=1e-5, atol=1e-8)

    mine = ours(logprobs, aggregation, beta=case["beta"], kl_ratio=True)
    (own,) = torch.autograd.grad(mine, logprobs)
    assert mine.item() != pytest.approx(case["loss"], rel=1e-5)
    (unpenalised,) = torch.autograd.grad(ours(logprobs, aggregation), logprobs)
    assert (own - gradient).norm() > 0.1 * (gradient - unpenalised).norm()


def test_the_gradient_is_that_of_the_divergence():
    """Two tokens drawn independently from three each: every sequence, by its probability, on-policy."""
    generator = torch.Generator().manual_seed(0)
    theta, reference = (torch.randn(2, 3, generator=generator, dtype=torch.float64) for _ in range(2))
    theta.requires_grad_()
    log_p, log_r = theta.log_softmax(-1), reference.log_softmax(-1)
    divergence = (log_p.exp() * (log_p - log_r)).sum() / 2  # mean over the two tokens
    (expected,) = torch.autograd.grad(divergence, theta, retain_graph=True)

    places = torch.tensor(list(itertools.product(range(3), repeat=2)))
    rows, wanted = torch.arange(2), torch.ones(1, 2, dtype=torch.bool)
    found, trl = torch.zeros_like(theta), torch.zeros_like(theta)
    for place in places:
        logprobs, other = log_p[rows, place][None], log_r[rows, place][None]
        inputs = LossInputs(logprobs, logprobs.detach(), torch.zeros(1), wanted, other)
        settings = LossSettings(aggregation="sequence_mean", beta=1.0, kl_ratio=True, **GSPO)
        loss = grpo_loss(inputs, settings, StepCounts(2, 1, 2)).loss
        theirs = k3_times_the_sequence_ratio(logprobs, logprobs.detach(), other, wanted).mean()
        weight = logprobs.detach().sum().exp()
        found += weight * torch.autograd.grad(loss, theta, retain_graph=True)[0]
        trl += weight * torch.autograd.grad(theirs, theta, retain_graph=True)[0]
    torch.testing.assert_close(found, expected)
    assert (trl - expected).norm() > 0.2 * expected.norm()
