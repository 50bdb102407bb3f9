"""Demonstrations that begin alike, with the same list of tools say: what they have in common is read once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from pixelis.agents.episodes.episode import Episode, Segment
from pixelis.agents.models.policy import Policy
from pixelis.agents.scoring.packing import SHORTEST_HEAD, Packing, common_head


def shared_scores(policy: Policy, episodes: Sequence[Episode]) -> tuple[Tensor, Tensor] | None:
    """Score demonstrated tokens in one forward that reads the common head of the prompts once.

    The gradient is that of separate rows: through attention every episode reaches the head.

    Returns:
        Logits float32 [N, V] with gradient and targets int64 [N] of the N demonstrated tokens, episode by
        episode; None where the head is short, the model does not take shared prefixes, or dropout would
        have to differ between episodes.
    """
    if any(each.images for each in episodes):
        return None
    head = common_head([each.tokens[: each.prompt_length] for each in episodes])
    if head < SHORTEST_HEAD or _drops_out(policy) or not policy.shares_prefixes:
        return None
    packing = Packing.of([_split(each, head) for each in episodes])
    if packing is None:
        return None
    device = policy.device
    ids = torch.from_numpy(packing.tokens).to(device)[None]
    places = [np.arange(head), *(np.arange(head, head + len(rest)) for rest in packing.rests)]
    positions = torch.from_numpy(np.concatenate(places)).to(device).expand(policy.position_axes, 1, -1)
    hidden = policy.hidden(ids, positions, (), packing.attention(device))
    sources, targets = (torch.from_numpy(each).to(device) for each in packing.sources())
    return policy.logits(hidden[0, sources]), targets


def _split(episode: Episode, head: int) -> Episode:
    """Return the same tokens with the head as the first segment."""
    tokens, mask = episode.tokens[head:], episode.loss_mask[head:]
    rest = Segment(tokens, mask, np.zeros(len(tokens), np.float32), {}, "")
    return replace(episode, segments=[Segment.given(episode.tokens[:head]), rest])


def _drops_out(policy: Policy) -> bool:
    """Whether the model is in training mode and drops something out."""
    if not policy.model.training:
        return False
    config = policy.base.config.get_text_config(decoder=True)
    layers = (each for each in policy.model.modules() if isinstance(each, torch.nn.Dropout))
    return bool(getattr(config, "attention_dropout", 0.0)) or any(each.p > 0 for each in layers)
