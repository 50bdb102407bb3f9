"""KL estimators: by hand, and against the exact divergence."""

from __future__ import annotations

import math

import pytest
import torch

from pixelis.agents.grpo.kl import KL_ESTIMATORS


@pytest.mark.parametrize(
    ("name", "expected"), [("k1", -0.5), ("k2", 0.125), ("k3", math.exp(0.5) - 1.5)], ids=["k1", "k2", "k3"]
)
def test_by_hand(name, expected):
    # the reference makes the token e^0.5 times as likely
    got = KL_ESTIMATORS[name](torch.tensor([[-1.0]]), torch.tensor([[-0.5]]))
    assert got.item() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", ["k1", "k3"])
def test_unbiased(name):
    policy = torch.tensor([0.7, 0.2, 0.1], dtype=torch.float64)
    reference = torch.tensor([0.5, 0.25, 0.25], dtype=torch.float64)
    exact = (policy * (policy / reference).log()).sum()
    values = KL_ESTIMATORS[name](policy.log()[None], reference.log()[None])[0]
    assert (policy * values).sum().item() == pytest.approx(exact.item(), rel=1e-12)


@pytest.mark.parametrize("name", sorted(KL_ESTIMATORS))
def test_zero_where_the_policies_agree(name):
    logprobs = torch.tensor([[-0.1, -3.0]])
    assert KL_ESTIMATORS[name](logprobs, logprobs).tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize("name", sorted(KL_ESTIMATORS))
def test_shapes_are_checked(name):
    with pytest.raises(ValueError, match="share a shape"):
        KL_ESTIMATORS[name](torch.zeros(1, 2), torch.zeros(1, 3))
