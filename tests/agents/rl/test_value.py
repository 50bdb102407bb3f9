"""The value head."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pixelis.agents.episodes.episode import Episode, Segment
from pixelis.agents.models.policy import LoraSettings, Policy
from pixelis.agents.rl.value import ValueHead, clipped_value_loss, token_states


def test_the_clipped_loss_by_hand():
    values = torch.tensor([1.0, 0.1, 2.0], requires_grad=True)
    old, returns = torch.tensor([0.0, 0.0, 0.0]), torch.tensor([0.5, 1.0, 1.0])
    # 1.0 counts as 0.2 or 1.0: errors 0.3 and 0.5; 0.1 counts as 0.1; 2.0 as 0.2 or 2.0: errors 0.8 and 1
    loss = clipped_value_loss(values, old, returns, 0.2)
    torch.testing.assert_close(loss, torch.tensor([0.125, 0.405, 0.5]))
    loss.sum().backward()
    torch.testing.assert_close(values.grad, torch.tensor([0.5, -0.9, 1.0]))


def test_a_value_that_has_gone_the_right_way_far_enough_is_let_be():
    values = torch.tensor([0.5], requires_grad=True)
    clipped_value_loss(values, torch.tensor([0.0]), torch.tensor([1.0]), 0.2).sum().backward()
    assert values.grad is not None and values.grad.item() == 0


def test_shapes_are_checked():
    with pytest.raises(ValueError, match="share a shape"):
        clipped_value_loss(torch.zeros(2), torch.zeros(2), torch.zeros(3), 0.2)


def test_the_head_begins_at_zero_and_can_fit():
    head, states = ValueHead(3), torch.randn(8, 3)
    assert head(states).tolist() == [0.0] * 8
    target = states @ torch.tensor([1.0, -2.0, 0.5]) + 3
    optimiser = torch.optim.Adam(head.parameters(), lr=0.1)
    for _ in range(300):
        optimiser.zero_grad()
        ((head(states) - target) ** 2).mean().backward()
        optimiser.step()
    torch.testing.assert_close(head(states).detach(), target, atol=0.05, rtol=0)


def test_states_are_those_the_tokens_were_drawn_from(letter_model):
    policy = Policy.load(letter_model, device="cpu", lora=LoraSettings(rank=2))
    short = Episode("Toy-v0", 0, 0, 0, [Segment.given([1, 2]), Segment.written([3])])
    segments = [Segment.given([4]), Segment.written([5, 6]), Segment.given([7, 1]), Segment.written([2])]
    long = Episode("Toy-v0", 0, 0, 1, segments)
    states = token_states(policy, [short, long], micro_batch_size=2)
    assert [tuple(each.shape) for each in states] == [(1, 32), (3, 32)]
    head = policy.base.get_output_embeddings()
    for episode, state in zip((short, long), states, strict=True):
        scores = torch.log_softmax(head(state), -1).detach()
        chosen = scores.gather(-1, torch.from_numpy(episode.tokens[episode.loss_mask])[:, None])[:, 0]
        expected = policy.logprobs([episode]).logprobs[0].detach()[torch.from_numpy(episode.loss_mask)]
        torch.testing.assert_close(chosen, expected, atol=1e-5, rtol=0)
    (alone,) = token_states(policy, [long], micro_batch_size=1)
    np.testing.assert_allclose(alone.numpy(), states[1].numpy(), atol=1e-5)
