"""Batched multi-turn decoding: rows that read prompts, write turns and read what follows.

Where the architecture allows it the keys and values of what was read stay as long as the episodes: a prompt's
once for its group, an episode's own apart. Elsewhere (sliding windows, no position ids) every turn reads its
whole history again, left-padded, by transformers' own forward; without a usable cache every token does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor
from transformers.cache_utils import DynamicCache

from pixelis.agents.episodes.episode import Segment, join_images
from pixelis.agents.models.policy import Policy
from pixelis.agents.rollout.graphed import BEFORE, FixedSteps, graphed
from pixelis.agents.rollout.sampling import RolloutStats, SamplingSettings, draw
from pixelis.agents.rollout.uncached import UncachedMemory, caches
from pixelis.agents.scoring.packing import SHORTEST_HEAD, common_head
from pixelis.agents.scoring.store import PrefixReader, PrefixStore

_NARROW = 0.75  # rows that have finished leave the batch when at most this share is still writing


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
        self._memory: Memory = memory_of(policy)(policy, self.stats)

    @torch.inference_mode()
    def start(self, prompts: Sequence[Segment], copies: Sequence[int] | None = None) -> None:
        """Read each prompt once, then make ``copies`` rows of it (1 each if not given)."""
        self._logits = self._memory.start(prompts, copies or [1] * len(prompts))

    @torch.inference_mode()
    def read(self, segments: Sequence[Segment], written: Sequence[Segment]) -> None:
        """Let every row read what follows the turn it has just written."""
        self._logits = self._memory.read(segments, written)

    def keep(self, rows: Sequence[int]) -> None:
        """Keep these rows, which must be increasing."""
        if list(rows) != list(range(len(self._logits))):
            self._memory.keep(rows)
            self._logits = self._logits[torch.as_tensor(rows, device=self._logits.device)]

    @torch.inference_mode()
    def write(
        self, uniforms: np.ndarray, settings: SamplingSettings, limits: Sequence[int] | None = None
    ) -> list[Segment]:
        """Sample one turn for every row.

        Args:
            uniforms: float64 [rows, max_new_tokens] in [0, 1), each row from its episode's own generator.
            settings: how to draw.
            limits: most tokens a row may write, at least 1; ``max_new_tokens`` if not given.
        """
        device, count = self._logits.device, len(uniforms)
        stops = torch.tensor(sorted(self.policy.chat.stop_ids), dtype=torch.long, device=device)
        numbers = torch.from_numpy(uniforms).to(device)
        most = torch.as_tensor(limits or [settings.max_new_tokens] * count, device=device)
        drawn = torch.zeros(count, int(most.max()), dtype=torch.long, device=device)
        scores = torch.zeros(drawn.shape, dtype=torch.float32, device=device)
        spreads = torch.zeros_like(scores)
        lengths = torch.zeros(count, dtype=torch.long, device=device)
        rows, alive, logits = torch.arange(count, device=device), lengths == 0, self._logits
        for step in range(drawn.shape[1]):
            scaled = self.policy.scaled(logits, settings.temperature)
            tokens, logprobs, entropies = draw(
                scaled,
                numbers[rows, step],
                top_p=settings.top_p,
                greedy=settings.greedy,
                record_kept=settings.record_kept,
            )
            drawn[rows, step], scores[rows, step], spreads[rows, step] = tokens, logprobs, entropies
            lengths[rows] += alive
            alive = alive & ~torch.isin(tokens, stops) & (lengths[rows] < most[rows])
            writing = int(alive.sum())
            if not writing:
                break
            if writing <= _NARROW * len(rows) and self._memory.narrow(alive.nonzero()[:, 0]):
                rows, tokens, alive = rows[alive], tokens[alive], alive[alive]
            logits = self._memory.step(tokens, alive)
        self._memory.widen()
        return self._turns(drawn, scores, spreads, lengths)

    def _turns(self, drawn: Tensor, scores: Tensor, spreads: Tensor, lengths: Tensor) -> list[Segment]:
        counts, chat = lengths.tolist(), self.policy.chat
        self.stats.generated_tokens += sum(counts)
        arrays = [each.cpu().numpy() for each in (drawn, scores, spreads)]
        return [
            Segment.sampled_turn(
                ids[:n],
                logs[:n],
                chat.decode(ids[:n]),
                finish_reason="stop" if int(ids[n - 1]) in chat.stop_ids else "length",
                weights_version=self.policy.weights_version,
                entropies=spread[:n],
            )
            for ids, logs, spread, n in zip(*arrays, counts, strict=True)
        ]


class Memory(Protocol):
    """What the rows have read; each reading returns the logits [rows, V] after its last tokens."""

    def __init__(self, policy: Policy, stats: RolloutStats) -> None: ...

    def start(self, prompts: Sequence[Segment], copies: Sequence[int]) -> Tensor:
        """Read prompts; make copies."""
        ...

    def read(self, segments: Sequence[Segment], written: Sequence[Segment]) -> Tensor:
        """Read what follows the turns."""
        ...

    def step(self, tokens: Tensor, alive: Tensor) -> Tensor:
        """Read one token a row; those of rows that are not alive are forgotten."""
        ...

    def keep(self, rows: Sequence[int]) -> None:
        """Keep these rows."""
        ...

    def narrow(self, rows: Tensor) -> bool:
        """Go on with these of the present rows until `widen`; say whether that was done."""
        ...

    def widen(self) -> None:
        """Go back to all rows."""
        ...


class SharedMemory:
    """Keys and values that stay, those of a prompt once for all its rows.

    Where every row has a prompt of its own and they begin alike, with the same list of tools say, what they
    have in common is the one prefix of all rows, and the rest of a prompt is the row's.
    """

    def __init__(self, policy: Policy, stats: RolloutStats) -> None:
        self._policy, self._stats = policy, stats
        self._wider: list[tuple[PrefixStore, Tensor, Tensor]] = []  # store, next positions, rows gone on with
        self._fixed: FixedSteps | None = None
        self._until_fixed = BEFORE if self._graphs() else -1  # steps; -1: never

    def _graphs(self) -> bool:
        return self._policy.device.type == "cuda" and self._policy.shards is None

    def start(self, prompts: Sequence[Segment], copies: Sequence[int]) -> Tensor:
        """Read each prompt once, or what all have in common once."""
        reader, device = PrefixReader(), self._policy.device
        tokens = [prompt.tokens for prompt in prompts]
        head = 0 if max(copies) > 1 or any(each.images for each in prompts) else common_head(tokens)
        if head >= SHORTEST_HEAD:
            return self._start_behind(head, tokens)
        images = [prompt.images for prompt in prompts]
        logits, spans = self._call(tokens, images, reader, torch.zeros(len(tokens), dtype=torch.long))
        owners = torch.arange(len(prompts)).repeat_interleave(torch.as_tensor(copies)).to(device)
        lengths = torch.as_tensor([len(each) for each in tokens], device=device)
        self._store = PrefixStore(reader.layers, lengths, owners)
        self._next = spans[owners]
        return logits[owners]

    def _start_behind(self, head: int, tokens: Sequence[np.ndarray]) -> Tensor:
        """Read the common head of prompts, then the rest of each."""
        reader, device = PrefixReader(), self._policy.device
        _, spans = self._call([tokens[0][:head]], [{}], reader, torch.zeros(1, dtype=torch.long))
        owners = torch.zeros(len(tokens), dtype=torch.long, device=device)
        self._store = PrefixStore(reader.layers, torch.as_tensor([head], device=device), owners)
        self._next = spans[owners]
        return self._go_on([each[head:] for each in tokens], [{} for _ in tokens])

    def read(self, segments: Sequence[Segment], written: Sequence[Segment]) -> Tensor:
        """Read the last token of each turn and what follows it."""
        tokens = [np.append(t.tokens[-1:], s.tokens) for t, s in zip(written, segments, strict=True)]
        return self._go_on(tokens, [segment.images for segment in segments])

    def _go_on(self, tokens: Sequence[np.ndarray], images: Sequence[Mapping[str, Tensor]]) -> Tensor:
        """Read a stretch of tokens a row."""
        self._store.expect([len(each) for each in tokens])
        logits, spans = self._call(tokens, images, self._store, self._next)
        self._store.accept()
        self._next = self._next + spans
        return logits

    def step(self, tokens: Tensor, alive: Tensor) -> Tensor:
        """Read one token a row."""
        if self._fixed is not None and self._fixed.is_full:
            self._end_fixed()
        if self._fixed is None and self._until_fixed == 0:
            self._fixed = graphed(self._policy, self._store, self._next)
            self._until_fixed = -1 if self._fixed is None else 0
        if self._fixed is not None:
            return self._fixed(tokens, alive)
        self._until_fixed -= self._until_fixed > 0
        self._store.expect(alive.long())
        positions = self._next[None, :, None].expand(self._policy.position_axes, -1, -1)
        hidden = self._policy.hidden(tokens[:, None], positions, (), self._store)
        self._store.accept()
        self._next = self._next + alive
        return self._policy.head(hidden[:, -1])

    def keep(self, rows: Sequence[int]) -> None:
        """Drop the other rows."""
        index = torch.as_tensor(rows, device=self._next.device)
        self._store, self._next = self._store.select(index), self._next[index]

    def narrow(self, rows: Tensor) -> bool:
        """Go on with a smaller store."""
        if self._fixed is not None:
            return False
        self._wider.append((self._store, self._next, rows))
        self._store, self._next = self._store.select(rows), self._next[rows]
        return True

    def widen(self) -> None:
        """Put what the smaller stores have read back into the larger ones."""
        self._end_fixed()
        self._until_fixed = min(self._until_fixed, 0) or BEFORE
        while self._wider:
            store, following, rows = self._wider.pop()
            store.take_back(rows, self._store)
            following[rows] = self._next
            self._store, self._next = store, following

    def _end_fixed(self) -> None:
        if self._fixed is not None:
            self._fixed.end()
            self._fixed = None

    def _call(
        self,
        rows: Sequence[np.ndarray],
        images: Sequence[Mapping[str, Tensor]],
        layout: PrefixReader | PrefixStore,
        offsets: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Read a stretch of tokens per row; return logits [rows, V] and how far positions went, [rows]."""
        policy, device = self._policy, self._policy.device
        tokens, positions, spans = laid_out(policy, rows, images, left=False)
        offset = torch.from_numpy(positions).to(device) + offsets.to(device)[:, None]
        seen = [each for each in images if each]
        hidden = policy.hidden(torch.from_numpy(tokens).to(device), offset, seen, layout)
        last = torch.as_tensor([len(row) - 1 for row in rows], device=device)
        self._stats.prefilled_tokens += sum(map(len, rows))
        logits = policy.head(hidden[torch.arange(len(rows), device=device), last])
        return logits, torch.from_numpy(spans).to(device)


class RereadMemory:
    """Nothing is kept from turn to turn; within a turn, transformers' own cache."""

    def __init__(self, policy: Policy, stats: RolloutStats) -> None:
        self._policy, self._stats = policy, stats

    def start(self, prompts: Sequence[Segment], copies: Sequence[int]) -> Tensor:
        """Read every copy."""
        rows = zip(prompts, copies, strict=True)
        self._histories = [[prompt] for prompt, count in rows for _ in range(count)]
        return self._reread()

    def read(self, segments: Sequence[Segment], written: Sequence[Segment]) -> Tensor:
        """Read every history from its start."""
        for history, turn, segment in zip(self._histories, written, segments, strict=True):
            history += [turn, segment]
        return self._reread()

    def step(self, tokens: Tensor, alive: Tensor) -> Tensor:
        """Read one token a row; a row that has finished its turn leaves a hole that nobody looks at."""
        self._mask = torch.cat([self._mask, alive[:, None].long()], dim=1)
        positions = self._next[None, :, None].expand(self._policy.position_axes, -1, -1)
        self._next = self._next + alive
        options = {"past_key_values": self._cache, "use_cache": True}
        return self._policy.forward(tokens[:, None], self._mask, positions, {}, **options).logits[:, -1]

    def keep(self, rows: Sequence[int]) -> None:
        """Drop the other histories."""
        self._histories = [self._histories[row] for row in rows]

    def narrow(self, rows: Tensor) -> bool:
        """Stay as it is."""
        return False

    def widen(self) -> None:
        """Stay as it is."""

    def _reread(self) -> Tensor:
        policy, device = self._policy, self._policy.device
        rows = [np.concatenate([segment.tokens for segment in history]) for history in self._histories]
        images = [join_images([segment.images for segment in history]) for history in self._histories]
        tokens, positions, spans = laid_out(policy, rows, images, left=True)
        real = np.stack([np.arange(tokens.shape[1]) >= tokens.shape[1] - len(row) for row in rows])
        last = torch.zeros(tokens.shape, dtype=torch.bool, device=device)
        last[:, -1] = True
        self._cache = DynamicCache(config=policy.base.config)
        self._mask = torch.from_numpy(real.astype(np.int64)).to(device)
        self._next = torch.from_numpy(spans).to(device)
        self._stats.prefilled_tokens += sum(map(len, rows))
        inputs = [torch.from_numpy(each).to(device) for each in (tokens, positions)]
        options = {"past_key_values": self._cache, "use_cache": True}
        return policy.logits_at(last, inputs[0], self._mask, inputs[1], join_images(images), **options)


def memory_of(policy: Policy) -> type[Memory]:
    """Return the fastest memory with which a policy's model computes what it should."""
    if policy.shares_prefixes:
        return SharedMemory
    return RereadMemory if caches(policy, RereadMemory) else UncachedMemory


def laid_out(
    policy: Policy, rows: Sequence[np.ndarray], images: Sequence[Mapping[str, Tensor]], *, left: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return tokens [R, w] padded on one side, positions [axes, R, w] from 0, next positions [R]."""
    width = max(map(len, rows))
    places = [policy.positions(row, pictures) for row, pictures in zip(rows, images, strict=True)]
    tokens = np.full((len(rows), width), policy.chat.pad_id, np.int64)
    positions = np.zeros((len(places[0]), *tokens.shape), np.int64)
    for index, (row, place) in enumerate(zip(rows, places, strict=True)):
        span = slice(width - len(row), width) if left else slice(0, len(row))
        tokens[index, span], positions[:, index, span] = row, place
    return tokens, positions, np.array([int(place.max()) + 1 for place in places])
