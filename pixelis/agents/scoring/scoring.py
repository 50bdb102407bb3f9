"""Log-probabilities of episodes that share prefixes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.scoring.head import score
from pixelis.agents.scoring.packing import Packing

if TYPE_CHECKING:
    from pixelis.agents.models.policy import Policy


def packed_logprobs(
    policy: Policy, episodes: Sequence[Episode], packing: Packing, temperature: float
) -> tuple[Tensor, Tensor]:
    """Score every sampled token in one forward of the model, each prefix read once.

    Args:
        policy: whose model shares prefixes.
        episodes: what is scored.
        packing: of these episodes.
        temperature: the one the tokens were sampled at.

    Returns:
        Log-probabilities with gradient and entropies, float32 [M], episode by episode.
    """
    states, targets = packed_states(policy, episodes, packing)
    vocabulary = policy.head.weight.shape[0]
    return score(lambda states: policy.logits(states, temperature), vocabulary, states, targets)


def packed_states(policy: Policy, episodes: Sequence[Episode], packing: Packing) -> tuple[Tensor, Tensor]:
    """Return what the output head makes the sampled tokens of, [M, E], and these tokens, int64 [M]."""
    device = policy.device
    tokens = torch.from_numpy(packing.tokens).to(device)[None]
    positions = torch.from_numpy(_positions(policy, episodes, packing)).to(device)[:, None]
    images = [prefix.images for prefix in packing.prefixes]
    images += [segment.images for each in episodes for segment in each.segments[1:]]
    hidden = policy.hidden(tokens, positions, [each for each in images if each], packing.attention(device))
    places, targets = (torch.from_numpy(each).to(device) for each in packing.sources())
    return hidden[0, places], targets


def _positions(policy: Policy, episodes: Sequence[Episode], packing: Packing) -> np.ndarray:
    """Return position ids in the order of the packing, int64 [axes, N]."""
    rows = [policy.positions(each.tokens, each.images) for each in episodes]
    owners = packing.owners.tolist()
    lengths = [len(prefix) for prefix in packing.prefixes]
    starts = [rows[owners.index(index)][:, :length] for index, length in enumerate(lengths)]
    return np.concatenate([*starts, *(row[:, lengths[o] :] for row, o in zip(rows, owners, strict=True))], 1)
