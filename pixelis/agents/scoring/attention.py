"""Attention of rows that share prefixes, as pure functions.

m prefixes of at most P tokens, n rows of at most C tokens behind them; H query heads, K key heads (H is a
multiple of K), D numbers a head. Both are padded on the right, which causal order hides: nothing real looks
to its right.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

__all__ = ["BLOCK", "Grid", "attend_last", "attend_prefixes", "attend_rows", "attend_step", "row_mask"]

BLOCK = 256
"""Queries that `attend_last` hands to the kernel at a time; the fewer, the less of the hidden it looks at."""


def attend_prefixes(query: Tensor, key: Tensor, value: Tensor, scaling: float) -> Tensor:
    """Return causal attention inside each prefix.

    Args:
        query: [m, H, P, D].
        key: [m, K, P, D].
        value: [m, K, P, D].
        scaling: factor of the scores, usually ``D ** -0.5``.

    Returns:
        [m, H, P, D].
    """
    heads = query.shape[1]
    key, value = _spread(key, heads), _spread(value, heads)
    return scaled_dot_product_attention(query, key, value, is_causal=True, scale=scaling)


def attend_last(query: Tensor, key: Tensor, value: Tensor, scaling: float) -> Tensor:
    """Return causal attention of the last tokens of one sequence to all of it, without padding.

    PyTorch's kernel for CPUs takes as long for what a mask hides as for what it shows, so the keys that a
    block of queries cannot see are not handed to it.

    Args:
        query: [H, c, D] of the last c of k tokens.
        key: [K, k, D].
        value: [K, k, D].
        scaling: factor of the scores.

    Returns:
        [H, c, D].
    """
    (heads, count, _), (kept, length, _) = query.shape, key.shape
    blocks = []
    for start in range(0, count, BLOCK):
        end = min(start + BLOCK, count)
        seen = length - count + end
        mask = torch.ones(end - start, seen, dtype=torch.bool, device=query.device).tril(seen - end + start)
        parts = query[None, :, start:end], key[None, :, :seen], value[None, :, :seen]
        block = scaled_dot_product_attention(*parts, attn_mask=mask, scale=scaling, enable_gqa=heads != kept)
        blocks.append(block[0])
    return blocks[0] if len(blocks) == 1 else torch.cat(blocks, 1)


def row_mask(prefix_lengths: Tensor, prefix_width: int, seen: Tensor, width: int, columns: int) -> Tensor:
    """Return what the tokens of rows may look at.

    Token j of a row sees the real columns of its prefix and the row's own columns up to ``seen + j``.

    Args:
        prefix_lengths: int64 [n], real columns of each row's prefix.
        prefix_width: P.
        seen: int64 [n], own columns a row had before these tokens.
        width: C, new tokens.
        columns: own columns in all.

    Returns:
        bool [n, 1, C, P + columns]; its first axis is 1 when all rows agree.
    """
    device = seen.device
    if bool((prefix_lengths == prefix_lengths[0]).all() & (seen == seen[0]).all()):
        prefix_lengths, seen = prefix_lengths[:1], seen[:1]
    prefix = torch.arange(prefix_width, device=device) < prefix_lengths[:, None, None]
    last = seen[:, None] + torch.arange(width, device=device)
    own = torch.arange(columns, device=device) <= last[..., None]
    return torch.cat([prefix.expand(-1, width, -1), own], dim=-1)[:, None]


def attend_rows(
    query: Tensor, prefix: tuple[Tensor, Tensor], own: tuple[Tensor, Tensor], mask: Tensor, scaling: float
) -> Tensor:
    """Return attention of rows to their prefix and to themselves, through one fused kernel.

    Args:
        query: [n, H, C, D].
        prefix: keys and values [n, K, P, D] (views of m prefixes may be handed in).
        own: keys and values [n, K, columns, D].
        mask: see `row_mask`.
        scaling: factor of the scores.

    Returns:
        [n, H, C, D].
    """
    heads = query.shape[1]
    key, value = (
        torch.cat([_spread(a, heads), _spread(b, heads)], 2) for a, b in zip(prefix, own, strict=True)
    )
    return scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scaling)


@dataclass(frozen=True)
class Grid:
    """How n rows stand to their m prefixes, g places for each.

    Attributes:
        prefixes: m.
        rows: int64 [m * g], the row in each place; None when the rows fill the places in order.
        places: int64 [n], each row's place; None then too.
    """

    prefixes: int
    rows: Tensor | None = None
    places: Tensor | None = None

    def spread(self, states: Tensor) -> Tensor:
        """Return [m, K, g * r, X] of [n, K, r, X]; an empty place holds some row."""
        states = states if self.rows is None else states[self.rows]
        rows, kept, repeats, width = states.shape
        by_prefix = states.reshape(self.prefixes, rows // self.prefixes, kept, repeats, width)
        return by_prefix.transpose(1, 2).reshape(self.prefixes, kept, -1, width)

    def gather(self, states: Tensor, repeats: int) -> Tensor:
        """Return [n, K, r, X] of [m, K, g * r, X]."""
        prefixes, kept, _, width = states.shape
        states = states.view(prefixes, kept, -1, repeats, width).transpose(1, 2)
        states = states.reshape(-1, kept, repeats, width)
        return states if self.places is None else states[self.places]


def attend_step(
    query: Tensor,
    prefix: tuple[Tensor, Tensor],
    own: tuple[Tensor, Tensor],
    hidden: tuple[Tensor | None, Tensor | None],
    scaling: float,
    grid: Grid,
) -> Tensor:
    """Return attention of one new token a row, the keys of a prefix read once for all its rows.

    The rows of a prefix stand side by side as its queries, so no key is copied.

    Args:
        query: [n, H, D].
        prefix: keys and values [m, K, P, D].
        own: keys and values [n, K, columns, D]; they may be wider (float32) than the rest.
        hidden: bool masks of columns that must not be seen, [m, 1, 1, P] and [n, 1, 1, columns]; None where
            every column may be.
        scaling: factor of the scores.
        grid: which rows belong to which prefix.

    Returns:
        [n, H, D].
    """
    rows, heads, width = query.shape
    kept, narrow, wide = prefix[0].shape[1], query.dtype, own[0].dtype
    query = (query * scaling).view(rows, kept, heads // kept, width)
    first = grid.spread(query) @ prefix[0].transpose(2, 3)
    second = query.to(wide) @ own[0].transpose(2, 3)
    for scores, forbidden in zip((first, second), hidden, strict=True):
        if forbidden is not None:
            scores.masked_fill_(forbidden, -torch.inf)
    columns = first.shape[-1]
    scores = torch.cat([grid.gather(first, heads // kept).to(wide), second], -1)
    weights = torch.softmax(scores, -1, dtype=torch.float32).to(wide)
    shared = grid.spread(weights[..., :columns].to(narrow)) @ prefix[1]
    out = (weights[..., columns:] @ own[1]).add_(grid.gather(shared, heads // kept))
    return out.to(narrow).reshape(rows, heads, width)


def _spread(states: Tensor, heads: int) -> Tensor:
    """Repeat key heads so that there is one for each query head."""
    kept = states.shape[1]
    if kept == heads:
        return states
    expanded = states[:, :, None].expand(-1, -1, heads // kept, -1, -1)
    return expanded.flatten(1, 2)
