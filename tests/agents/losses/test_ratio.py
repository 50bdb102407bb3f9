"""Importance ratios."""

from __future__ import annotations

import math

import pytest
import torch

from pixelis.agents.losses.ratio import RATIOS, token_log_ratio

NEW = [[-1.0, -2.0, -0.5, -3.0], [-1.0, -1.0, -1.0, -1.0]]
OLD = [[-1.5, -1.0, -9.0, -3.5], [-2.0, -9.0, -9.0, -9.0]]
MASK = [[True, True, False, True], [True, False, False, False]]


def test_token_log_ratio_by_hand():
    got = RATIOS["token"](torch.tensor(NEW), torch.tensor(OLD), torch.tensor(MASK))
    torch.testing.assert_close(got, torch.tensor([[0.5, -1.0, 0.0, 0.5], [1.0, 0.0, 0.0, 0.0]]))


def test_sequence_log_ratio_by_hand():
    # (0.5 - 1 + 0.5) / 3 tokens = 0, and 1 / 1 token
    got = RATIOS["sequence"](torch.tensor(NEW), torch.tensor(OLD), torch.tensor(MASK))
    torch.testing.assert_close(got, torch.tensor([[0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]))


def test_every_sampled_token_of_a_sequence_has_exactly_the_same_ratio():
    generator = torch.Generator().manual_seed(0)
    new, old = torch.randn(2, 3, 50, generator=generator)
    mask = torch.rand(3, 50, generator=generator) < 0.6
    got = RATIOS["sequence"](new, old, mask)
    assert all(len(row[inside].unique()) == 1 for row, inside in zip(got, mask, strict=True))


def test_the_gradient_of_a_sequence_ratio_is_the_tokens_own():
    new = torch.tensor(NEW, requires_grad=True)
    log_ratio = RATIOS["sequence"](new, torch.tensor(OLD), torch.tensor(MASK))
    (gradient,) = torch.autograd.grad(log_ratio.exp().sum(), new)
    e = math.e
    torch.testing.assert_close(gradient, torch.tensor([[1.0, 1.0, 0.0, 1.0], [e, 0.0, 0.0, 0.0]]))


@pytest.mark.parametrize("name", ["token", "sequence"])
def test_padding_cannot_overflow(name):
    new = torch.tensor([[0.0, 1e30]], requires_grad=True)
    log_ratio = RATIOS[name](new, torch.zeros(1, 2), torch.tensor([[True, False]]))
    torch.exp(log_ratio).sum().backward()
    assert new.grad is not None and new.grad.tolist() == [[1.0, 0.0]]


def test_a_row_without_sampled_tokens_has_ratio_1():
    nothing = torch.zeros(1, 2, dtype=torch.bool)
    got = RATIOS["sequence"](torch.ones(1, 2), torch.zeros(1, 2), nothing)
    assert got.tolist() == [[0.0, 0.0]]


def test_shapes_are_checked():
    with pytest.raises(ValueError, match="share a shape"):
        token_log_ratio(torch.zeros(1, 2), torch.zeros(1, 3), torch.ones(1, 2, dtype=torch.bool))
