"""Aggregations by hand, and that the micro-batch split cannot change them."""

from __future__ import annotations

import pytest
import torch

from pixelis.agents.losses.aggregation import AGGREGATIONS, StepCounts

VALUES = torch.tensor([[1.0, 2.0, 3.0, 4.0], [10.0, 99.0, 20.0, 99.0], [5.0, 99.0, 99.0, 99.0]])
MASK = torch.tensor([[1, 1, 1, 1], [1, 0, 1, 0], [1, 0, 0, 0]], dtype=torch.bool)
COUNTS = StepCounts(tokens=7, sequences=3, max_completion_length=8)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("token_mean", 45 / 7),  # (10 + 30 + 5) / 7 tokens
        ("sequence_mean", (2.5 + 15 + 5) / 3),
        ("constant", 45 / 24),  # 3 sequences of at most 8 tokens
    ],
)
def test_by_hand(name, expected):
    assert AGGREGATIONS[name](VALUES, MASK, COUNTS).item() == pytest.approx(expected)


@pytest.mark.parametrize("name", sorted(AGGREGATIONS))
@pytest.mark.parametrize("split", [(1, 2), (2, 1), (1, 1, 1)])
def test_micro_batches_add_up_to_the_step(name, split):
    parts = zip(VALUES.split(list(split)), MASK.split(list(split)), strict=True)
    total = sum(AGGREGATIONS[name](values, mask, COUNTS).item() for values, mask in parts)
    assert total == pytest.approx(AGGREGATIONS[name](VALUES, MASK, COUNTS).item(), rel=1e-6)


@pytest.mark.parametrize("name", sorted(AGGREGATIONS))
def test_an_episode_without_sampled_tokens_adds_nothing(name):
    empty = AGGREGATIONS[name](VALUES[:1], torch.zeros(1, 4, dtype=torch.bool), COUNTS)
    assert empty.item() == 0.0


@pytest.mark.parametrize("name", sorted(AGGREGATIONS))
def test_shapes_are_checked(name):
    with pytest.raises(ValueError, match="share a shape"):
        AGGREGATIONS[name](VALUES, MASK[:, :2], COUNTS)


def test_counts_must_be_positive():
    with pytest.raises(ValueError, match="at least 1"):
        StepCounts(tokens=0, sequences=1, max_completion_length=1)
