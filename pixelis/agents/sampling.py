"""Batched multi-turn decoding with a K/V cache that lives as long as the episodes.

Rows of a batch differ in length. Instead of moving keys about, a shorter row gets holes: columns of the cache
that its attention mask hides. Position ids are given explicitly, so a hole shifts nothing. Where an
architecture does not allow that (sliding windows, recurrent layers, no position ids), every turn reads its
whole history again, left-padded.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer

from pixelis.agents.episode import Segment, join_images
from pixelis.agents.policy import Policy
from pixelis.errors import ConfigError

_LOG = logging.getLogger(__name__)
_ROOM = 64  # spare cache columns: tokens that can be added before keys and values are copied


@dataclass(frozen=True)
class SamplingSettings:
    """How tokens are drawn.

    Attributes:
        temperature: > 0; logits are divided by it.
        top_p: in (0, 1]; only the smallest set of tokens with this much probability can be drawn. The
            recorded log-probability stays that of the *untruncated* distribution at ``temperature``, which is
            the one a trainer can score; with ``top_p`` < 1 the importance ratio is therefore biased.
        max_new_tokens: per turn, at least 1; a turn that reaches it is cut off and handed to the env as it
            is.
        greedy: take the most probable token; ``temperature`` then only matters for the recorded
            log-probabilities.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    max_new_tokens: int = 128
    greedy: bool = False

    def __post_init__(self) -> None:
        """Check the ranges."""
        if not self.temperature > 0:
            raise ConfigError(
                f"temperature must be > 0, got {self.temperature}; use greedy for the most probable token"
            )
        if not 0 < self.top_p <= 1:
            raise ConfigError(f"top_p must be in (0, 1], got {self.top_p}")
        if self.max_new_tokens < 1:
            raise ConfigError(f"max_new_tokens must be at least 1, got {self.max_new_tokens}")


@dataclass
class RolloutStats:
    """Counters of one collection.

    Attributes:
        episodes: how many were asked for.
        failed_episodes: those that are not valid for training.
        timeouts: those of them whose env did not answer in time.
        turns: env steps.
        prefilled_tokens: tokens the model read (prompts once per group, observations, re-reading if it cannot
            cache).
        generated_tokens: tokens the policy sampled.
        forks: observations appended although the chat template would have rewritten what came before.
        generation_seconds: wall time in the model, tokenising included.
        env_seconds: wall time in env resets and steps.
    """

    episodes: int = 0
    failed_episodes: int = 0
    timeouts: int = 0
    turns: int = 0
    prefilled_tokens: int = 0
    generated_tokens: int = 0
    forks: int = 0
    generation_seconds: float = 0.0
    env_seconds: float = 0.0


def draw(
    logits: torch.Tensor, uniforms: torch.Tensor, *, top_p: float = 1.0, greedy: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw one token a row by inverting the cumulative distribution.

    token = min{k : F(k) > u F(V-1)} with F the cumulative probability over token ids, so a row's token
    depends on its own logits and its own uniform number alone, and a token of probability 0 is never drawn.

    Args:
        logits: float32 [R, V], already divided by the temperature.
        uniforms: float64 [R] in [0, 1); not read when ``greedy``.
        top_p: see `SamplingSettings`.
        greedy: take the most probable token.

    Returns:
        Tokens int64 [R] and their log-probabilities float32 [R] under softmax(logits), not truncated by
        ``top_p``.
    """
    logprobs = torch.log_softmax(logits, dim=-1)
    if greedy:
        tokens = logprobs.argmax(-1, keepdim=True)
    else:
        weights = logprobs.exp()
        if top_p < 1.0:
            weights = _nucleus(weights, top_p)
        cumulative = weights.cumsum(-1, dtype=torch.float64)
        target = uniforms[:, None] * cumulative[:, -1:]
        # u * total can round up to the total itself; the last token that adds probability is then the answer.
        target = torch.minimum(target, torch.nextafter(cumulative[:, -1:], torch.zeros_like(target)))
        # NaN logits point behind the last token; the caller sees their NaN log-probability.
        tokens = torch.searchsorted(cumulative, target, right=True).clamp_(max=logits.shape[-1] - 1)
    return tokens[:, 0], logprobs.gather(-1, tokens)[:, 0]


def _nucleus(weights: torch.Tensor, top_p: float) -> torch.Tensor:
    """Zero all but the most probable tokens, which together reach ``top_p``."""
    ordered, order = weights.sort(dim=-1, descending=True, stable=True)
    before = ordered.cumsum(-1) - ordered
    kept = torch.where(before < top_p, ordered, torch.zeros_like(ordered))
    return torch.zeros_like(weights).scatter(-1, order, kept)


class _RoomyLayer(DynamicLayer):
    """A cache layer with spare columns, so that one more token does not copy all that came before."""

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write the new columns [R, heads, n, width] behind the old ones and return all of them."""
        start = self.get_seq_length()
        end = start + key_states.shape[-2]
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
            self._room = (_empty(key_states, end + _ROOM), _empty(value_states, end + _ROOM))
        elif end > self._room[0].shape[-2]:
            self._move(slice(None), end + max(_ROOM, end // 2))
        keys, values = self._room
        keys[:, :, start:end] = key_states
        values[:, :, start:end] = value_states
        self.keys, self.values = keys[:, :, :end], values[:, :, :end]
        return self.keys, self.values

    def select(self, rows: torch.Tensor) -> None:
        """Keep these rows, in this order; a row may be repeated."""
        self._move(rows, self.get_seq_length() + _ROOM)

    def _move(self, rows: torch.Tensor | slice, capacity: int) -> None:
        length = self.get_seq_length()
        keys, values = (part[rows, :, :length] for part in self._room)
        self._room = (_empty(keys, capacity), _empty(values, capacity))
        self._room[0][:, :, :length] = keys
        self._room[1][:, :, :length] = values
        self.keys, self.values = (part[:, :, :length] for part in self._room)


def _empty(like: torch.Tensor, columns: int) -> torch.Tensor:
    rows, heads, _, width = like.shape
    return torch.empty(rows, heads, columns, width, dtype=like.dtype, device=like.device)


def can_keep_cache(policy: Policy) -> bool:
    """Whether a row may have holes in its cache: plain attention layers and explicit position ids."""
    if "position_ids" not in policy.forward_keywords:
        return False
    try:
        layers = DynamicCache(config=policy.base.config).layers
    except (AttributeError, KeyError, ValueError):  # a cache structure of its own
        return False
    return all(type(layer) is DynamicLayer for layer in layers)


class Decoder:
    """The rows of a batch while they read and write.

    ``start`` reads the prompts, then ``write`` and ``read`` alternate; ``keep`` drops the rows that have
    ended. The last token a turn sampled is fed together with what follows it.

    Args:
        policy: whose model to call.
        stats: where to count.
    """

    def __init__(self, policy: Policy, stats: RolloutStats | None = None) -> None:
        self.policy = policy
        self.stats = stats if stats is not None else RolloutStats()
        self.keeps_cache = can_keep_cache(policy)
        if not self.keeps_cache:
            _announce_rereading(type(policy.base).__name__)

    @torch.no_grad()
    def start(self, prompts: Sequence[Segment], copies: Sequence[int] | None = None) -> None:
        """Read each prompt once, then make ``copies`` rows of it (1 each if not given)."""
        self._histories = [[prompt] for prompt in prompts]
        self._restart()
        if self.keeps_cache:
            self._feed([prompt.tokens for prompt in prompts], [prompt.images for prompt in prompts])
        if copies is not None:
            self.keep([row for row, count in enumerate(copies) for _ in range(count)])
        if not self.keeps_cache:
            self._reread()

    @torch.no_grad()
    def read(self, segments: Sequence[Segment], written: Sequence[Segment]) -> None:
        """Let every row read what follows the turn it has just written."""
        for history, turn, segment in zip(self._histories, written, segments, strict=True):
            history += [turn, segment]
        if not self.keeps_cache:
            return self._reread()
        pairs = zip(written, segments, strict=True)
        self._feed([np.append(t.tokens[-1:], s.tokens) for t, s in pairs], [s.images for s in segments])

    def keep(self, rows: Sequence[int]) -> None:
        """Keep these rows, in this order; a row may be repeated."""
        self._histories = [list(self._histories[row]) for row in rows]
        if not self.keeps_cache or list(rows) == list(range(len(self._mask))):
            return
        index = torch.as_tensor(rows, dtype=torch.long, device=self._mask.device)
        for layer in self._cache.layers:
            layer.select(index)  # pyright: ignore[reportAttributeAccessIssue]
        self._mask, self._next = self._mask[index], self._next[index]
        self._logits = self._logits[index]

    @torch.no_grad()
    def write(
        self, uniforms: np.ndarray, settings: SamplingSettings, limits: Sequence[int] | None = None
    ) -> list[Segment]:
        """Sample one turn for every row.

        Args:
            uniforms: float64 [rows, max_new_tokens] in [0, 1), each row from its episode's own generator.
            settings: how to draw.
            limits: most tokens a row may write, at least 1; ``max_new_tokens`` if not given.
        """
        device, stop = self._mask.device, sorted(self.policy.chat.stop_ids)
        stops = torch.tensor(stop, dtype=torch.long, device=device)
        numbers = torch.from_numpy(uniforms).to(device)
        most = torch.as_tensor(
            limits if limits is not None else [settings.max_new_tokens] * len(numbers), device=device
        )
        alive = torch.ones(len(numbers), dtype=torch.bool, device=device)
        lengths = torch.zeros(len(numbers), dtype=torch.long, device=device)
        drawn: list[torch.Tensor] = []
        scores: list[torch.Tensor] = []
        logits = self._logits
        for step in range(int(most.max())):
            scaled = self.policy.scaled(logits, settings.temperature)
            tokens, logprobs = draw(scaled, numbers[:, step], top_p=settings.top_p, greedy=settings.greedy)
            drawn.append(tokens)
            scores.append(logprobs)
            lengths += alive
            alive = alive & ~torch.isin(tokens, stops) & (lengths < most)
            if not alive.any():
                break
            logits = self._step(tokens, alive)
        counts = lengths.tolist()
        self.stats.generated_tokens += sum(counts)
        ids, logs = torch.stack(drawn, 1).cpu().numpy(), torch.stack(scores, 1).cpu().numpy()
        decode = self.policy.chat.decode
        return [
            Segment.written(i[:n], s[:n], decode(i[:n])) for i, s, n in zip(ids, logs, counts, strict=True)
        ]

    # ------------------------------------------------------------------ one call of the model

    def _restart(self) -> None:
        rows, device = len(self._histories), self.policy.device
        plain = self.keeps_cache
        self._cache = (
            Cache(layer_class_to_replicate=_RoomyLayer)
            if plain
            else DynamicCache(config=self.policy.base.config)
        )
        self._mask = torch.zeros(rows, 0, dtype=torch.bool, device=device)
        self._next = torch.zeros(rows, dtype=torch.long, device=device)

    def _reread(self) -> None:
        self._restart()
        rows = [np.concatenate([segment.tokens for segment in history]) for history in self._histories]
        self._feed(
            rows, [join_images([segment.images for segment in history]) for history in self._histories]
        )

    def _feed(self, rows: Sequence[np.ndarray], images: Sequence[Mapping[str, torch.Tensor]]) -> None:
        """Read one stretch of tokens per row; leaves the logits after each row's last token."""
        width, device = max(map(len, rows)), self._mask.device
        places = [self.policy.positions(row, pictures) for row, pictures in zip(rows, images, strict=True)]
        tokens = np.full((len(rows), width), self.policy.chat.pad_id, np.int64)
        real, last = np.zeros(tokens.shape, bool), np.zeros(tokens.shape, bool)
        positions = np.zeros((len(places[0]), *tokens.shape), np.int64)
        for index, (row, place) in enumerate(zip(rows, places, strict=True)):
            span = slice(0, len(row)) if self.keeps_cache else slice(width - len(row), width)
            tokens[index, span], real[index, span], last[index, span.stop - 1] = row, True, True
            positions[:, index, span] = place
        self.stats.prefilled_tokens += sum(map(len, rows))
        spans = torch.as_tensor([int(place.max()) + 1 for place in places], device=device)
        offset = torch.from_numpy(positions).to(device) + self._next[:, None]
        self._next = self._next + spans
        self._mask = torch.cat([self._mask, torch.from_numpy(real).to(device)], dim=1)
        self._logits = self.policy.logits_at(
            torch.from_numpy(last).to(device),
            torch.from_numpy(tokens).to(device),
            self._mask,
            offset,
            join_images(images),
            past_key_values=self._cache,
            use_cache=True,
        )

    def _step(self, tokens: torch.Tensor, alive: torch.Tensor) -> torch.Tensor:
        """Feed one token a row (a hole where the row has finished its turn); return logits [R, V]."""
        self._mask = torch.cat([self._mask, alive[:, None]], dim=1)
        positions = self._next[None, :, None].expand(self.policy.position_axes, -1, -1)
        self._next = self._next + alive
        out = self.policy.forward(
            tokens[:, None], self._mask, positions, {}, past_key_values=self._cache, use_cache=True
        )
        return out.logits[:, -1]


_ANNOUNCED: set[str] = set()


def _announce_rereading(name: str) -> None:
    if name not in _ANNOUNCED:
        _ANNOUNCED.add(name)
        _LOG.warning(
            "%s does not allow a cache with holes: every turn reads its whole history again (slower)", name
        )
