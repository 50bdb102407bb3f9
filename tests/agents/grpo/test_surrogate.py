"""The clipped surrogate, case by case."""

from __future__ import annotations

import math

import pytest
import torch

from pixelis.agents.grpo.surrogate import clip

# ratio, advantage -> loss, gradient of the loss with respect to the log-ratio (low 0.2, high 0.3)
CASES = [
    pytest.param(1.0, 2.0, -2.0, -2.0, id="on policy, good"),
    pytest.param(1.0, -2.0, 2.0, 2.0, id="on policy, bad"),
    pytest.param(1.5, 2.0, -2.6, 0.0, id="good and already far up: held at 1.3"),
    pytest.param(0.5, 2.0, -1.0, -1.0, id="good but less likely than before: pulled back"),
    pytest.param(0.5, -2.0, 1.6, 0.0, id="bad and already far down: held at 0.8"),
    pytest.param(1.5, -2.0, 3.0, 3.0, id="bad but more likely than before: pushed down"),
]


@pytest.mark.parametrize(("ratio", "advantage", "loss", "gradient"), CASES)
def test_clip_by_hand(ratio, advantage, loss, gradient):
    log_ratio = torch.tensor([[math.log(ratio)]], dtype=torch.float64, requires_grad=True)
    result = clip(log_ratio, torch.tensor([[advantage]], dtype=torch.float64), 0.2, 0.3)
    result.loss.sum().backward()
    assert log_ratio.grad is not None
    assert result.loss.item() == pytest.approx(loss)
    assert log_ratio.grad.item() == pytest.approx(gradient)
    assert result.clipped_low.item() == (ratio < 0.8 and advantage < 0)
    assert result.clipped_high.item() == (ratio > 1.3 and advantage > 0)


def test_shapes_are_checked():
    with pytest.raises(ValueError, match=r"\[B, T\]"):
        clip(torch.zeros(2, 3), torch.zeros(2), 0.2, 0.2)
