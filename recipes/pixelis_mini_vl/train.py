"""Learning from shards while they are being written: next-token loss on what was said, for some minutes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import LlavaForConditionalGeneration

from pixelis_mini_vl.patches import PatchHeads

KINDS = 32
"""At most so many kinds of rows."""

FIRST_SEEN = 7
"""From this kind on rows say what is seen."""


@dataclass(frozen=True)
class TrainSettings:
    """How the model is trained.

    Attributes:
        seconds: how long; the learning rate follows a cosine over it.
        learning_rate: peak, after a warm-up of 300 steps.
        batch_tokens: padded tokens of a step.
        most_images: images that are kept in memory; the oldest shards go first.
        weight_decay: AdamW's.
        seed: of the batches.
        report_every: steps between two reports.
    """

    seconds: float
    learning_rate: float = 1.5e-3
    batch_tokens: int = 49_152
    most_images: int = 250_000
    weight_decay: float = 0.01
    seed: int = 0
    report_every: int = 200


class PoolRow(NamedTuple):
    """A row as it is kept: see `rows.Row`; ``shown`` are its images' places in the shard."""

    tokens: np.ndarray
    learned: np.ndarray
    shard: int
    shown: np.ndarray
    kind: int
    patches: np.ndarray


@dataclass
class Pool:
    """The rows that were read so far, images on the device.

    Attributes:
        folder: where shards appear.
        device: where images are kept.
    """

    folder: Path
    device: torch.device
    most_images: int
    episodes: list[PoolRow] = field(default_factory=list)
    views: list[PoolRow] = field(default_factory=list)
    shards: dict[int, Tensor] = field(default_factory=dict)
    _read: set[str] = field(default_factory=set)
    _next: int = 0

    def refresh(self) -> None:
        """Read the shards that are new."""
        for path in sorted(self.folder.glob("*.npz")):
            if path.name not in self._read:
                self._read.add(path.name)
                self._add(np.load(path))

    def _add(self, shard: np.lib.npyio.NpzFile) -> None:
        number, self._next = self._next, self._next + 1
        self.shards[number] = torch.from_numpy(shard["images"]).to(self.device)
        lengths, counts = shard["lengths"], shard["image_counts"]
        tokens, learned = shard["tokens"], shard["learned"]
        ends, image_ends = np.cumsum(lengths), np.cumsum(counts)
        kinds, patches = shard["kinds"].tolist(), shard["patches"]
        for end, length, image_end, count, kind, told in zip(
            ends, lengths, image_ends, counts, kinds, patches, strict=True
        ):
            shown = shard["shown"][image_end - count : image_end] if count else np.zeros(0, np.int64)
            span = slice(end - length, end)
            row = PoolRow(tokens[span], learned[span], number, shown, kind, told)
            (self.views if kind >= FIRST_SEEN else self.episodes).append(row)
        while sum(map(len, self.shards.values())) > self.most_images:
            oldest = min(self.shards)
            del self.shards[oldest]
            self.episodes = [row for row in self.episodes if row.shard != oldest]
            self.views = [row for row in self.views if row.shard != oldest]


VIEW_SHARE = 1 / 3
"""Of a step's tokens: each step sees first views, for what is rarely asked is not learned."""

READ_WEIGHT = 0.1
"""Of a token that is read in an episode; one that is said weighs 1. It is reading that teaches to copy."""


def batches(
    pool: Pool, rng: np.random.Generator, batch_tokens: int
) -> Iterator[tuple[list[PoolRow], list[PoolRow]]]:
    """Yield episodes of like lengths and first views, with padding ``batch_tokens`` at most together."""
    for_views = int(VIEW_SHARE * batch_tokens)
    while True:
        drawn = [pool.episodes[i] for i in rng.integers(len(pool.episodes), size=2048)]
        drawn.sort(key=lambda row: len(row.tokens))
        found: list[list[PoolRow]] = [[]]
        for row in drawn:  # in rising length
            if found[-1] and (len(found[-1]) + 1) * len(row.tokens) > batch_tokens - for_views:
                found.append([])
            found[-1].append(row)
        longest = max(len(row.tokens) for row in pool.views)
        for place in rng.permutation(len(found)):
            views = rng.integers(len(pool.views), size=max(1, for_views // longest))
            yield found[int(place)], [pool.views[i] for i in views]
        pool.refresh()


@dataclass(frozen=True)
class Losses:
    """Of a batch.

    Attributes:
        tokens: weighted mean cross-entropy of what is said (and, less, read) in episodes, or seen in views.
        patches: the loss of `PatchHeads`; 0 for episodes.
        counted: tokens of each kind of row and how many of them are right, float ``(2, KINDS)``.
        patches_right: shares of words and places that are right, ``(2,)``.
    """

    tokens: Tensor
    patches: Tensor
    counted: Tensor
    patches_right: Tensor

    @property
    def total(self) -> Tensor:
        """What is minimised."""
        return self.tokens + self.patches


def losses_of(
    model: LlavaForConditionalGeneration,
    heads: PatchHeads,
    pool: Pool,
    picked: list[PoolRow],
    pad: int,
    image_token: int,
) -> Losses:
    """Return the losses of a batch of episodes, or of first views."""
    device, longest = pool.device, max(len(row.tokens) for row in picked)
    tokens = np.full((len(picked), longest), pad, np.int64)
    weights = np.zeros((len(picked), longest), np.float32)
    for place, row in enumerate(picked):
        read = 0.0 if row.kind >= FIRST_SEEN else READ_WEIGHT * (row.tokens != image_token)
        tokens[place, : len(row.tokens)] = row.tokens
        weights[place, : len(row.tokens)] = np.where(row.learned, 1.0, read)
    ids, weight = torch.from_numpy(tokens).to(device), torch.from_numpy(weights).to(device)[:, 1:]
    mask = weight > 0
    zero = torch.zeros((), device=device)
    embedding = model.get_input_embeddings()
    inputs, patches, right = embedding(ids), zero, torch.zeros(2, device=device)
    pictures = [
        pool.shards[row.shard][torch.from_numpy(row.shown).to(device)] for row in picked if len(row.shown)
    ]
    if pictures:
        pixels = torch.cat(pictures).permute(0, 3, 1, 2).float().div_(127.5).sub_(1.0)
        found: Any = model.model.get_image_features(pixel_values=pixels)
        features = torch.stack(list(found.pooler_output))
        inputs = inputs.masked_scatter(
            (ids == image_token)[..., None].expand_as(inputs), features.to(inputs.dtype)
        )
        firsts = np.cumsum([0, *(len(row.shown) for row in picked)])[:-1]
        telling = [place for place, row in enumerate(picked) if row.patches[0, 0] >= 0]
        if telling:
            told = torch.from_numpy(
                np.stack([picked[place].patches for place in telling]).astype(np.int64)
            ).to(device)
            patches, right = heads(features[torch.from_numpy(firsts[telling]).to(device)], embedding, told)
    hidden = model.model.language_model(inputs_embeds=inputs).last_hidden_state[:, :-1]
    logits, targets = model.lm_head(hidden[mask]).float(), ids[:, 1:][mask]
    weight, kinds = weight[mask], torch.tensor([row.kind for row in picked], device=device)
    kinds = kinds[:, None].expand_as(mask)[mask]
    loss = (F.cross_entropy(logits, targets, reduction="none") * weight).sum() / weight.sum()
    said = (weight == 1).float()
    correct = (logits.argmax(-1) == targets).float() * said
    counted = torch.stack([torch.bincount(kinds, each, KINDS) for each in (said, correct)])
    return Losses(loss, patches, counted, right)


def train(
    model: LlavaForConditionalGeneration,
    heads: PatchHeads,
    pool: Pool,
    settings: TrainSettings,
    pad: int,
    image_token: int,
    kinds: Sequence[str],
    report: Callable[[str], None] = print,
) -> None:
    """Train in place for ``settings.seconds``, from the first shard on."""
    torch.nn.Module.to(model, pool.device).train()
    parameters = [*model.parameters(), *heads.to(pool.device).parameters()]
    optimizer = torch.optim.AdamW(
        parameters, lr=settings.learning_rate, betas=(0.9, 0.98), weight_decay=settings.weight_decay
    )
    rng = np.random.default_rng(settings.seed)
    while not pool.episodes or not pool.views:
        time.sleep(0.5)
        pool.refresh()
    started, step = time.monotonic(), 0
    seen: list[Tensor] = []
    counts = torch.zeros(2, KINDS, device=pool.device)
    for episodes, views in batches(pool, rng, settings.batch_tokens):
        passed = (time.monotonic() - started) / settings.seconds
        if passed >= 1:
            break
        rate = (
            settings.learning_rate
            * min(1.0, (step + 1) / 300)
            * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * passed)))
        )
        for group in optimizer.param_groups:
            group["lr"] = rate
        with torch.autocast(pool.device.type, torch.bfloat16):
            played, viewed = (
                losses_of(model, heads, pool, rows, pad, image_token) for rows in (episodes, views)
            )
        optimizer.zero_grad(set_to_none=True)
        (played.total + viewed.total).backward()
        norm = torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        step += 1
        if not bool(torch.isfinite(norm)):
            report(f"step {step} left out: the gradient is not finite")
            continue
        optimizer.step()
        parts = [played.tokens, viewed.tokens, viewed.patches, *viewed.patches_right]
        seen.append(torch.stack(parts).detach())
        counts = counts + played.counted + viewed.counted
        if step % settings.report_every == 0:
            minutes, means = (time.monotonic() - started) / 60, torch.stack(seen).nanmean(0).tolist()
            shares = (counts[1] / counts[0].clamp(min=1)).tolist()
            right = ", ".join(
                f"{name} {share:.3f}" for name, share in zip(kinds, shares, strict=False) if share
            )
            names = zip(("played", "seen", "patches", "words right", "places right"), means, strict=True)
            described = ", ".join(f"{name} {mean:.3f}" for name, mean in names)
            report(
                f"step {step}, {minutes:.1f} min, {len(pool.episodes)} episodes: {described}; right: {right}"
            )
            seen.clear()
            counts = torch.zeros_like(counts)
