"""Log-probability and entropy of sampled tokens.

From hidden states, a chunk of positions at a time; and of episodes that share prefixes, each read once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.scoring.packing import Packing
from pixelis.agents.scoring.trial import trial

if TYPE_CHECKING:
    from pixelis.agents.models.policy import Policy

CHUNK_ELEMENTS = 2**24
"""Largest number of logits that exist at the same time (64 MiB in float32), if more than one row."""


class TokenLogprobs(NamedTuple):
    """What `Policy.logprobs` returns; B episodes, T tokens in the longest.

    Attributes:
        logprobs: float32 [B, T], log-probability of each sampled token given all before it; 0 elsewhere.
        mask: bool [B, T], True where the policy sampled the token.
        entropy: float32 [B, T], entropy in nats of the distribution it was drawn from; 0 elsewhere, no
            gradient.
    """

    logprobs: Tensor
    mask: Tensor
    entropy: Tensor

    @classmethod
    def placed(cls, mask: Tensor, logprobs: Tensor, entropy: Tensor) -> TokenLogprobs:
        """Put values [M] of the sampled tokens, row by row, where ``mask`` says they stand."""
        zeros = torch.zeros(mask.shape, dtype=torch.float32, device=mask.device)
        return cls(zeros.masked_scatter(mask, logprobs), mask, zeros.masked_scatter(mask, entropy))


def score(
    logits_of: Callable[[Tensor], Tensor], vocabulary: int, hidden: Tensor, targets: Tensor
) -> tuple[Tensor, Tensor]:
    """Return ``log softmax(logits)[target]`` and the entropy of the softmax, in nats.

    The logits of a chunk are forgotten when it has been scored and made again for the gradient, so the memory
    does not grow with positions x vocabulary.

    Args:
        logits_of: hidden [c, E] → float32 logits [c, V].
        vocabulary: V.
        hidden: [M, E].
        targets: int64 [M].

    Returns:
        float32 [M] with gradient, float32 [M] without.
    """
    if len(targets) == 0:
        return hidden.new_zeros(0, dtype=torch.float32), hidden.new_zeros(0, dtype=torch.float32)
    rows = max(1, CHUNK_ELEMENTS // vocabulary)
    if len(targets) <= rows:
        return _score_chunk(logits_of, hidden, targets)
    chunks = [
        checkpoint(_score_chunk, logits_of, part, wanted, use_reentrant=False)
        for part, wanted in zip(hidden.split(rows), targets.split(rows), strict=True)
    ]
    logprobs, entropies = zip(*chunks, strict=True)
    return torch.cat(logprobs), torch.cat(entropies)


def _score_chunk(
    logits_of: Callable[[Tensor], Tensor], hidden: Tensor, targets: Tensor
) -> tuple[Tensor, Tensor]:
    everything = torch.log_softmax(logits_of(hidden), dim=-1)
    with torch.no_grad():
        entropy = -(everything.exp() * everything).sum(-1)
    return everything.gather(-1, targets[:, None])[:, 0], entropy


@torch.no_grad()
def takes_positions(policy: Any) -> bool:
    """Return whether an architecture's ``logits_to_keep`` takes a mask; found by trying it on two tokens."""
    if "logits_to_keep" not in policy.forward_keywords:
        return False
    ids = torch.full((1, 2), policy.chat.pad_id, device=policy.device)
    keep = torch.tensor([[False, True]], device=policy.device)
    positions = torch.arange(2, device=policy.device)[None, None]
    options = {"use_cache": False, "logits_to_keep": keep}
    try:
        with trial(policy):
            logits = policy.forward(ids, torch.ones_like(ids), positions, {}, **options).logits
    except (IndexError, RuntimeError, TypeError):
        return False
    return tuple(logits.shape[:-1]) == (1,)


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
