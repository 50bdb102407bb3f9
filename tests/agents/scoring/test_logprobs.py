"""Scoring in chunks is scoring at once."""

from __future__ import annotations

import math

import pytest
import torch

from pixelis.agents.scoring import logprobs as scoring


def test_by_hand():
    # logits 0 and ln 3: probabilities 1/4 and 3/4
    states = torch.tensor([[0.0, math.log(3.0)]])
    logprobs, entropy = scoring.score(lambda h: h, 2, states, torch.tensor([1]))
    assert logprobs.item() == pytest.approx(math.log(0.75))
    assert entropy.item() == pytest.approx(-(0.25 * math.log(0.25) + 0.75 * math.log(0.75)))


def test_chunks_change_neither_value_nor_gradient(monkeypatch: pytest.MonkeyPatch):
    torch.manual_seed(0)
    weight = torch.randn(11, 6)
    targets = torch.randint(11, (10,))
    results = []
    for elements in (10**6, 33):  # all at once; three rows at a time
        monkeypatch.setattr(scoring, "CHUNK_ELEMENTS", elements)
        states = torch.linspace(-1, 1, 60).view(10, 6).requires_grad_()
        largest = []

        def logits_of(hidden: torch.Tensor, largest: list[int] = largest) -> torch.Tensor:
            largest.append(len(hidden))
            return hidden @ weight.t()

        logprobs, entropy = scoring.score(logits_of, 11, states, targets)
        (logprobs * torch.arange(10)).sum().backward()
        results.append((logprobs.detach(), entropy, states.grad, max(largest)))
    assert [result[3] for result in results] == [10, 3]
    for whole, parts in zip(results[0][:3], results[1][:3], strict=True):
        torch.testing.assert_close(parts, whole, atol=1e-6, rtol=1e-6)


def test_nothing_to_score():
    logprobs, entropy = scoring.score(lambda h: h, 3, torch.zeros(0, 3), torch.zeros(0, dtype=torch.long))
    assert logprobs.shape == entropy.shape == (0,)
