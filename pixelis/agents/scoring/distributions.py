"""What a policy would say next at places of its episodes: whole distributions, for exact divergences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from pixelis.agents.episodes.episode import Episode, join_images
from pixelis.agents.scoring.collation import collate
from pixelis.agents.scoring.logprobs import packed_states
from pixelis.agents.scoring.packing import Packing

if TYPE_CHECKING:
    from pixelis.agents.models.policy import Policy


@torch.no_grad()
def distributions(policy: Policy, episodes: Sequence[Episode], most: int, temperature: float) -> Tensor:
    """Return the log-probabilities of the whole vocabulary where sampled tokens were drawn, float32 [M, V].

    Args:
        policy: in the mode in which it samples.
        episodes: at least one; M of their sampled tokens are looked at, evenly spread where there are more
            than ``most``.
        most: the largest M.
        temperature: the one the tokens were sampled at.
    """
    packing = Packing.of(episodes) if policy.shares_prefixes else None
    if packing is None:
        batch = collate(policy, episodes)
        keep = torch.zeros_like(batch.sampled)
        keep[:, :-1] = batch.sampled[:, 1:]
        places = keep.nonzero()
        chosen = places[torch.from_numpy(spread(len(places), most)).to(policy.device)]
        keep.zero_()[chosen[:, 0], chosen[:, 1]] = True
        images = join_images([episode.images for episode in episodes])
        inputs = (batch.tokens, batch.valid, batch.positions, images)
        logits = policy.scaled(policy.logits_at(keep, *inputs, use_cache=False), temperature)
    else:
        states, targets = packed_states(policy, episodes, packing)
        logits = policy.logits(
            states[torch.from_numpy(spread(len(targets), most)).to(policy.device)], temperature
        )
    return torch.log_softmax(logits, dim=-1)


def divergence(before: Tensor, after: Tensor) -> float:
    """Return the mean over places of KL(before ‖ after), in nats.

    Args:
        before: log-probabilities [M, V].
        after: log-probabilities [M, V].
    """
    return float((before.exp() * (before - after)).sum(-1).mean())


def entropy(logprobs: Tensor) -> float:
    """Return the mean entropy of distributions, in nats.

    Args:
        logprobs: log-probabilities [M, V].
    """
    return float(-(logprobs.exp() * logprobs).sum(-1).mean())


def spread(count: int, most: int) -> np.ndarray:
    """Return at most ``most`` different places of ``count``, evenly spread, int64."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int64))
