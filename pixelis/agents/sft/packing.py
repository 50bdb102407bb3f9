"""Several demonstrations in one row, none of which sees another.

A row of packed episodes is read with position ids that start again at 0 with each episode and a 4-D
attention mask that is causal inside an episode and shut between episodes. That is all a model of plain
attention layers needs to compute the same as for each episode alone. Where it is not enough (sliding windows,
recurrent layers, attention kernels that take no mask, images) episodes are padded instead; a trial on the
model itself decides, see `can_pack`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from transformers.cache_utils import DynamicCache, DynamicLayer

from pixelis.agents.episodes.episode import Episode, join_images
from pixelis.agents.models.policy import Policy
from pixelis.agents.scoring.trial import trial
from pixelis.agents.sft.shared_head import shared_scores
from pixelis.errors import ConfigError

_LOG = logging.getLogger(__name__)
_MASKED_KERNELS = ("eager", "sdpa")  # attention implementations that read a 4-D mask
_TRIAL_LENGTHS = (4, 5)
_TRIAL_TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-4}  # of the largest logit; 0.05 in half precision

Row = Sequence[Episode]


class RowScores(NamedTuple):
    """What `score_rows` returns; N demonstrated tokens in all, in the order of the rows.

    Attributes:
        logprobs: float32 [N], natural log-probability of each demonstrated token given all before it, with
            gradient.
        right: bool [N], whether it was the most probable token.
        width: tokens that the model computed, padding included; a head that was read once counts for each.
    """

    logprobs: torch.Tensor
    right: torch.Tensor
    width: int


def pack(lengths: Sequence[int], capacity: int) -> list[list[int]]:
    """Return rows of indices whose lengths add up to at most ``capacity`` each, by first-fit decreasing.

    Each item goes, longest first, into the first row with room (Johnson 1973: at most 11/9 of the fewest rows
    plus a constant). Equal lengths keep their order, so the result depends on nothing else.

    Args:
        lengths: tokens of each item, at least 1.
        capacity: tokens a row may hold.

    Raises:
        ConfigError: an item is longer than a row.
    """
    if lengths and max(lengths) > capacity:
        raise ConfigError(
            f"a packed row holds {capacity} tokens, an episode has {max(lengths)}; raise pack_length"
        )
    rows: list[list[int]] = []
    room: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda item: -lengths[item]):
        fits = next((row for row, left in enumerate(room) if left >= lengths[index]), None)
        if fits is None:
            rows.append([])
            room.append(capacity)
            fits = len(rows) - 1
        rows[fits].append(index)
        room[fits] -= lengths[index]
    return rows


def score_rows(policy: Policy, rows: Sequence[Row]) -> RowScores:
    """Score the demonstrated tokens of rows of episodes in one forward of the model, with gradient.

    Rows of one episode each that begin alike are read by `shared_head`, which pads nothing.

    Args:
        policy: whose model to call.
        rows: episodes to read in each row; more than one in a row only where `can_pack` says so.
    """
    lengths = [[len(episode) for episode in row] for row in rows]
    if all(len(row) == 1 for row in rows):
        shared = shared_scores(policy, [row[0] for row in rows])
        if shared is not None:
            return _scores(*shared, sum(map(sum, lengths)))
    width = max(map(sum, lengths))
    tokens = np.full((len(rows), width), policy.chat.pad_id, np.int64)
    mask = np.zeros((len(rows), width), bool)
    axes = policy.position_axes
    positions = np.zeros((axes, len(rows), width), np.int64)
    for index, row in enumerate(rows):
        n = sum(lengths[index])
        tokens[index, :n] = np.concatenate([episode.tokens for episode in row])
        mask[index, :n] = np.concatenate([episode.loss_mask for episode in row])
        places = [policy.positions(episode.tokens, episode.images) for episode in row]
        positions[:, index, :n] = np.concatenate(places, axis=-1)
    target = torch.from_numpy(mask).to(policy.device)
    ids = torch.from_numpy(tokens).to(policy.device)
    keep = torch.zeros_like(target)
    keep[:, :-1] = target[:, 1:]  # no episode begins with a demonstrated token, so none is asked of another
    logits = policy.logits_at(
        keep,
        ids,
        _attention(policy, lengths, width),
        torch.from_numpy(positions).to(policy.device),
        join_images([episode.images for row in rows for episode in row]),
        use_cache=False,
    )
    return _scores(policy.scaled(logits, 1.0), ids[target], tokens.size)


def block_mask(lengths: Sequence[Sequence[int]], width: int) -> np.ndarray:
    """Return where attention is allowed in packed rows, bool [B, 1, width, width].

    Entry (b, 0, q, k) is True where k <= q and both belong to the same episode of row b. Padding belongs to
    itself, so that no query is without a key.

    Args:
        lengths: tokens of each episode, row by row.
        width: columns.
    """
    owner = np.stack(
        [np.repeat(np.arange(len(row) + 1), [*row, width - sum(row)]) for row in lengths]
    )  # [B, width]
    same = owner[:, None, :, None] == owner[:, None, None, :]
    return same & np.tri(width, dtype=bool)


def can_pack(policy: Policy) -> bool:
    """Return whether packed rows are the same function as padded ones for this model; told once if not.

    The structure must allow it (position ids, plain attention layers, a kernel that takes a mask), and two
    short sequences, packed and apart, must give the same logits.
    """
    reason = _structural_obstacle(policy) or _failed_trial(policy)
    if reason is not None:
        _announce(f"{type(policy.base).__name__}: {reason}")
    return reason is None


def packable(episodes: Sequence[Episode]) -> bool:
    """Return whether these episodes may be packed: none has an image; told once if not."""
    if any(episode.images for episode in episodes):
        _announce("demonstrations hold images")
        return False
    return True


# ---------------------------------------------------------------------- private


def _scores(logits: torch.Tensor, targets: torch.Tensor, width: int) -> RowScores:
    everything = torch.log_softmax(logits, dim=-1)
    right = everything.argmax(-1) == targets
    return RowScores(everything.gather(-1, targets[:, None])[:, 0], right, width)


def _attention(policy: Policy, lengths: Sequence[Sequence[int]], width: int) -> torch.Tensor:
    """Return the usual 2-D mask where every row is one episode, else the 4-D one, added to the scores."""
    if all(len(row) == 1 for row in lengths):
        valid = np.arange(width) < np.array([sum(row) for row in lengths])[:, None]
        return torch.from_numpy(valid.astype(np.int64)).to(policy.device)
    allowed = torch.from_numpy(block_mask(lengths, width)).to(policy.device)
    dtype = policy.base.dtype
    shut = torch.tensor(torch.finfo(dtype).min, dtype=dtype, device=policy.device)
    return torch.where(allowed, torch.zeros_like(shut), shut)


def _structural_obstacle(policy: Policy) -> str | None:
    if "position_ids" not in policy.forward_keywords or policy.position_axes != 1:
        return "it has no plain position ids"
    try:
        layers = DynamicCache(config=policy.base.config).layers
    except (AttributeError, KeyError, ValueError):  # a cache structure of its own
        return "its layers are not plain attention"
    if not all(type(layer) is DynamicLayer for layer in layers):
        return "some layers have a window or a recurrent state"
    kernel = getattr(policy.base.config.get_text_config(decoder=True), "_attn_implementation", None)
    return None if kernel in _MASKED_KERNELS else f"the attention kernel {kernel!r} takes no 4-D mask"


@torch.no_grad()
def _failed_trial(policy: Policy) -> str | None:
    """Compare two short sequences in one row with the same two in rows of their own."""
    vocabulary = policy.base.get_input_embeddings().weight.shape[0]
    known = [index for index in range(vocabulary) if index not in policy.chat.placeholder_ids]
    # Different tokens, or what leaks from one sequence into another could go unseen.
    words = np.array(known)[np.linspace(0, len(known) - 1, sum(_TRIAL_LENGTHS)).astype(int)]
    pieces = np.split(words, np.cumsum(_TRIAL_LENGTHS)[:-1])
    try:
        with trial(policy):
            apart = [_trial_logits(policy, [[piece]]) for piece in pieces]
            together = _trial_logits(policy, [pieces])
    except (IndexError, RuntimeError, TypeError, ValueError) as error:
        return f"it does not take a 4-D mask ({type(error).__name__})"
    expected = torch.cat(apart, dim=1)
    allowed = _TRIAL_TOLERANCE.get(policy.base.dtype, 0.05) * float(expected.abs().max())
    if float((expected - together).abs().max()) <= allowed:
        return None
    return "packed sequences see each other"


def _trial_logits(policy: Policy, rows: Sequence[Sequence[np.ndarray]]) -> torch.Tensor:
    lengths = [[len(piece) for piece in row] for row in rows]
    ids = torch.from_numpy(np.stack([np.concatenate(row) for row in rows])).to(policy.device)
    places = np.stack([np.concatenate([np.arange(n) for n in row]) for row in lengths])
    positions: Any = torch.from_numpy(places).to(policy.device)[None]
    mask = _attention(policy, lengths, ids.shape[1])
    return policy.forward(ids, mask, positions, {}, use_cache=False).logits.float()


_ANNOUNCED: set[str] = set()


def _announce(reason: str) -> None:
    if reason not in _ANNOUNCED:
        _ANNOUNCED.add(reason)
        _LOG.warning("episodes are padded instead of packed: %s", reason)
