"""KL estimators: by hand, and against the exact divergence."""

from __future__ import annotations

import math

import pytest
import torch

from pixelis.agents.losses.kl import KL_ESTIMATORS, episode_kl


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


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        ("k1", [0.5 - 0.2, -1.0]),
        ("k2", [0.125 + 0.02, 0.5]),
        # e^-0.5 - 1 + 0.5 = 0.106531 and e^0.2 - 1 - 0.2 = 0.021403; e - 2 = 0.718282
        ("k3", [0.106531 + 0.021403, 0.718282]),
    ],
)
def test_the_kl_of_an_episode_by_hand(estimator, expected):
    # log pi - log ref: 0.5, -0.2 and not sampled; -1 alone
    policy = torch.tensor([[-1.0, -1.2, 77.0], [-3.0, 77.0, 77.0]])
    reference = torch.tensor([[-1.5, -1.0, -99.0], [-2.0, -99.0, -99.0]])
    inside = torch.tensor([[True, True, False], [True, False, False]])
    got = episode_kl(policy, reference, inside, estimator)
    torch.testing.assert_close(got, torch.tensor(expected), rtol=1e-5, atol=1e-6)


def test_k1_of_episodes_is_unbiased_for_whole_sequences():
    # two tokens in turn from pi = (0.7, 0.3) against (0.5, 0.5): twice the divergence of one
    policy, reference = torch.tensor([0.7, 0.3]).double().log(), torch.tensor([0.5, 0.5]).double().log()
    exact = 2 * (policy.exp() * (policy - reference)).sum()
    pairs = torch.tensor([[0, 0], [0, 1], [1, 0], [1, 1]])
    inside = torch.ones(4, 2, dtype=torch.bool)
    got = episode_kl(policy[pairs], reference[pairs], inside, "k1")
    assert (policy[pairs].sum(1).exp() * got).sum().item() == pytest.approx(exact.item(), rel=1e-12)
