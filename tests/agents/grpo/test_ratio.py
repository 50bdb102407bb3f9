"""Importance ratios."""

from __future__ import annotations

import pytest
import torch

from pixelis.agents.grpo.ratio import RATIOS, token_log_ratio


def test_token_log_ratio_by_hand():
    new = torch.tensor([[-1.0, -2.0, -0.5]])
    old = torch.tensor([[-1.5, -1.0, -9.0]])
    mask = torch.tensor([[True, True, False]])
    torch.testing.assert_close(RATIOS["token"](new, old, mask), torch.tensor([[0.5, -1.0, 0.0]]))


def test_padding_cannot_overflow():
    new = torch.tensor([[0.0, 1e30]], requires_grad=True)
    log_ratio = token_log_ratio(new, torch.zeros(1, 2), torch.tensor([[True, False]]))
    torch.exp(log_ratio).sum().backward()
    assert new.grad is not None and new.grad.tolist() == [[1.0, 0.0]]


def test_shapes_are_checked():
    with pytest.raises(ValueError, match="share a shape"):
        token_log_ratio(torch.zeros(1, 2), torch.zeros(1, 3), torch.ones(1, 2, dtype=torch.bool))
