"""Episodes laid out in one row of tokens, what several of them begin with only once.

[prefix 0 | prefix 1 | ... | rest of episode 0 | rest of episode 1 | ...]. An episode's prefix is its first
segment; episodes share it when its tokens and images are the same, as for the members of a group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from pixelis.agents.episodes.episode import Episode, Segment
from pixelis.agents.scoring.attention import attend_last, attend_prefixes, attend_rows, row_mask

SHORTEST_HEAD = 64
"""Tokens that different prompts must have in common before they are read once for all."""


def common_head(rows: Sequence[np.ndarray]) -> int:
    """Return how many tokens two or more rows begin with, one at least of each left over; 0 for one row."""
    if len(rows) < 2:
        return 0
    shortest = min(map(len, rows)) - 1
    same = (np.stack([row[:shortest] for row in rows]) == rows[0][:shortest]).all(axis=0)
    return shortest if same.all() else int(same.argmin())


@dataclass(frozen=True)
class Packing:
    """Which tokens stand where; N tokens in all.

    Attributes:
        prefixes: the m different first segments.
        owners: int64 [n], the prefix of each of the n episodes.
        rests: n arrays of token ids, what follows the prefix.
        masks: n bool arrays, where the policy sampled a token of the rest.
    """

    prefixes: Sequence[Segment]
    owners: np.ndarray
    rests: Sequence[np.ndarray]
    masks: Sequence[np.ndarray]

    @classmethod
    def of(cls, episodes: Sequence[Episode]) -> Packing | None:
        """Lay out episodes; None if one of them begins with a sampled token or ends with its prompt."""
        if any(len(each.segments) < 2 or each.segments[0].sampled for each in episodes):
            return None
        numbers: dict[bytes, int] = {}
        owners = [numbers.setdefault(each.segments[0].content, len(numbers)) for each in episodes]
        prefixes = [episodes[owners.index(index)].segments[0] for index in range(len(numbers))]
        starts = [len(each.segments[0]) for each in episodes]
        rests = [each.tokens[start:] for each, start in zip(episodes, starts, strict=True)]
        masks = [each.loss_mask[start:] for each, start in zip(episodes, starts, strict=True)]
        return cls(prefixes, np.array(owners), rests, masks)

    @property
    def tokens(self) -> np.ndarray:
        """Token ids in order, int64 [N]."""
        return np.concatenate([*(prefix.tokens for prefix in self.prefixes), *self.rests])

    def sources(self) -> tuple[np.ndarray, np.ndarray]:
        """Return where each sampled token is predicted and what it is, int64 [M] each.

        Episode by episode; the first token of a rest is predicted at the end of its prefix, which several
        episodes may have in common.
        """
        ends = np.cumsum([len(prefix) for prefix in self.prefixes])
        start, places, targets = int(ends[-1]), [], []
        for owner, rest, mask in zip(self.owners, self.rests, self.masks, strict=True):
            before = np.concatenate([[ends[owner] - 1], np.arange(start, start + len(rest) - 1)])
            places.append(before[mask])
            targets.append(rest[mask])
            start += len(rest)
        return np.concatenate(places), np.concatenate(targets)

    def attention(self, device: torch.device) -> PackedAttention:
        """Return the attention of this layout."""
        lengths = [len(prefix) for prefix in self.prefixes], [len(rest) for rest in self.rests]
        return PackedAttention(*lengths, self.owners, device)


class PackedAttention:
    """What each token of a `Packing` may look at: its prefix and what came before it in its own episode.

    On a CPU one sequence after the other, as padding costs as much there as tokens; elsewhere in one padded
    batch, as there each call costs.
    """

    def __init__(
        self, prefix_lengths: list[int], row_lengths: list[int], owners: np.ndarray, device: torch.device
    ) -> None:
        self._lengths, self._owner_list = (prefix_lengths, row_lengths), [int(owner) for owner in owners]
        self._padded = None if device.type == "cpu" else _Padded(prefix_lengths, row_lengths, owners, device)

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor, scaling: float) -> Tensor:
        """Return attention [1, N, H, D] of query [1, H, N, D] to key and value [1, K, N, D]."""
        del layer  # every layer sees the same
        if self._padded is not None:
            return self._padded.attend(query, key, value, scaling)
        prefix_lengths, row_lengths = self._lengths
        parts = [states[0].split([*prefix_lengths, *row_lengths], 1) for states in (query, key, value)]
        first = len(prefix_lengths)
        (prefix_q, own_q), (prefix_k, own_k), (prefix_v, own_v) = ((p[:first], p[first:]) for p in parts)
        seen = [attend_last(*one, scaling) for one in zip(prefix_q, prefix_k, prefix_v, strict=True)]
        for owner, q, k, v in zip(self._owner_list, own_q, own_k, own_v, strict=True):
            keys, values = torch.cat([prefix_k[owner], k], 1), torch.cat([prefix_v[owner], v], 1)
            seen.append(attend_last(q, keys, values, scaling))
        return torch.cat(seen, 1).transpose(0, 1)[None]


class _Padded:
    """The same in one call for the prefixes and one for the rows."""

    def __init__(
        self, prefix_lengths: list[int], row_lengths: list[int], owners: np.ndarray, device: torch.device
    ) -> None:
        self._prefixes, self._rows = _Stretch(prefix_lengths, device), _Stretch(row_lengths, device)
        self._owners = torch.from_numpy(owners).to(device)
        self._mask = row_mask(
            torch.tensor(prefix_lengths, device=device)[self._owners],
            self._prefixes.width,
            torch.zeros(len(row_lengths), dtype=torch.long, device=device),
            self._rows.width,
            self._rows.width,
        )

    def attend(self, query: Tensor, key: Tensor, value: Tensor, scaling: float) -> Tensor:
        """Return attention [1, N, H, D] of query [1, H, N, D] to key and value [1, K, N, D]."""
        split = [self._prefixes.total, self._rows.total]
        parts = [states[0].transpose(0, 1).split(split) for states in (query, key, value)]
        q, k, v = (self._prefixes.pad(first) for first, _ in parts)
        seen = self._prefixes.unpad(attend_prefixes(q, k, v, scaling))
        own_q, own_k, own_v = (self._rows.pad(rest) for _, rest in parts)
        prefix = k.index_select(0, self._owners), v.index_select(0, self._owners)
        rest = self._rows.unpad(attend_rows(own_q, prefix, (own_k, own_v), self._mask, scaling))
        return torch.cat([seen, rest])[None]


class _Stretch:
    """Sequences that stand one behind the other, and how they become a padded batch and back."""

    def __init__(self, lengths: list[int], device: torch.device) -> None:
        self.count, self.width, self.total = len(lengths), max(lengths), sum(lengths)
        self._even = min(lengths) == self.width
        columns = torch.arange(self.width, device=device)
        sizes = torch.tensor(lengths, device=device)
        starts = sizes.cumsum(0) - sizes
        real = columns < sizes[:, None]
        self._into = torch.where(real, starts[:, None] + columns, 0).flatten()
        self._back = real.flatten().nonzero()[:, 0]

    def pad(self, states: Tensor) -> Tensor:
        """Return [count, heads, width, D] of [total, heads, D]; what pads is of no meaning."""
        if not self._even:
            states = states.index_select(0, self._into)
        return states.reshape(self.count, self.width, *states.shape[1:]).transpose(1, 2)

    def unpad(self, states: Tensor) -> Tensor:
        """Return [total, heads, D] of [count, heads, width, D]."""
        states = states.transpose(1, 2).flatten(0, 1)
        return states if self._even else states.index_select(0, self._back)
