"""Episodes as the rows of one batch, padded on the right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from pixelis.agents.episodes.episode import Episode

if TYPE_CHECKING:
    from pixelis.agents.models.policy import Policy


class PaddedBatch(NamedTuple):
    """What a forward pass of whole episodes takes, and where their sampled tokens are.

    Attributes:
        tokens: int64 [B, n].
        valid: int64 [B, n], 1 where a token is not padding.
        positions: int64 [axes, B, n], see `Policy.positions`.
        sampled: bool [B, n].
    """

    tokens: Tensor
    valid: Tensor
    positions: Tensor
    sampled: Tensor


def collate(policy: Policy, episodes: Sequence[Episode]) -> PaddedBatch:
    """Return episodes as a batch on the policy's device.

    Raises:
        ValueError: the first token of an episode is a sampled one.
    """
    rows = [episode.tokens for episode in episodes]
    shape = (len(rows), max(map(len, rows)))
    places = [policy.positions(row, episode.images) for row, episode in zip(rows, episodes, strict=True)]
    tokens = np.full(shape, policy.chat.pad_id, np.int64)
    valid, sampled = np.zeros(shape, np.int64), np.zeros(shape, bool)
    positions = np.zeros((len(places[0]), *shape), np.int64)
    for index, (row, episode) in enumerate(zip(rows, episodes, strict=True)):
        n = len(row)
        tokens[index, :n], valid[index, :n], sampled[index, :n] = row, 1, episode.loss_mask
        positions[:, index, :n] = places[index]
    if sampled[:, 0].any():
        raise ValueError("the first token of an episode cannot be a sampled one: nothing precedes it")
    return PaddedBatch(*(torch.from_numpy(x).to(policy.device) for x in (tokens, valid, positions, sampled)))
