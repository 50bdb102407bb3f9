"""The training loop of stage 1, and the schedule both stages share."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from transformers import LlavaForConditionalGeneration, LlavaProcessor

from pixelis_tiny.perception import (
    AllSigns,
    PatchHeads,
    PerceptionLoss,
    RowWriter,
    ZoomCalls,
    make_batch,
    perception_loss,
)
from pixelis_tiny.reading import ReadingRows, reading_loss
from pixelis_tiny.scenes import SceneBatch

VALIDATION_SCENES = 500
READING_EVERY = 4


@dataclass(frozen=True)
class PerceptionSettings:
    """How stage 1 trains.

    Attributes:
        steps: optimiser steps.
        call_from: share of the steps after which two of three image batches are of real prompts and calls.
        batch_size: scenes a step.
        learning_rate: peak, after a warm-up of 100 steps; falls to 2 % of it over the last 30 % of the steps.
        patch_weight: weight of the patches' own loss.
        seed: of the batches.
        report_every: steps between two reports.
    """

    steps: int = 4000
    call_from: float = 0.4
    batch_size: int = 32
    learning_rate: float = 1e-3
    patch_weight: float = 0.5
    seed: int = 0
    report_every: int = 50

    def learning_rate_at(self, step: int) -> float:
        """Return the learning rate of a step, counted from 0."""
        left = (self.steps - step) / self.steps
        return self.learning_rate * min(1.0, (step + 1) / 100, max(0.02, left / 0.3))


def train_perception(
    model: LlavaForConditionalGeneration,
    processor: LlavaProcessor,
    data: SceneBatch,
    settings: PerceptionSettings,
    report: Callable[[str], None] = print,
) -> float:
    """Train in place; return the share of places right on scenes that were held out (ZOOM calls)."""
    tokenizer = processor.tokenizer
    writers: list[RowWriter] = [AllSigns(tokenizer), ZoomCalls(processor, model)]
    reading = ReadingRows(processor, model)
    tenths = torch.tensor(AllSigns(tokenizer).tenths)
    heads = PatchHeads(tokenizer, cast(torch.nn.Embedding, model.get_input_embeddings()).embedding_dim)
    parameters = [*model.parameters(), *heads.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=settings.learning_rate, betas=(0.9, 0.98), weight_decay=0.01)
    rng = np.random.default_rng(settings.seed)
    started, seen, copied = time.monotonic(), [], []
    for step in range(settings.steps):
        for group in optimizer.param_groups:
            group["lr"] = settings.learning_rate_at(step)
        with torch.autocast("cpu", torch.bfloat16):
            if step % READING_EVERY == READING_EVERY - 1:
                total, right = reading_loss(model, *reading.batch(settings.batch_size, rng))
                copied.append(float(right))
            else:
                calls = step >= settings.call_from * settings.steps and step % READING_EVERY > 0
                rows = rng.integers(VALIDATION_SCENES, len(data.images), size=settings.batch_size)
                batch = make_batch(data, rows, writers[calls], tokenizer.pad_token_id, rng)
                loss = perception_loss(model, heads, tenths, batch)
                total = loss.rows + settings.patch_weight * loss.patches
                seen.append(_numbers(loss))
        optimizer.zero_grad()
        total.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        if (step + 1) % settings.report_every == 0:
            minutes, means = (
                (time.monotonic() - started) / 60,
                np.mean(seen[-settings.report_every :], axis=0),
            )
            copying = np.mean(copied[-settings.report_every // READING_EVERY :])
            report(f"step {step + 1}, {minutes:.1f} min: {_describe(means)}, copying {copying:.3f}")
    held_out = _held_out(model, heads, tenths, data, writers[1], tokenizer.pad_token_id)
    report(f"held-out scenes: {_describe(held_out)}")
    return float(held_out[2])


@torch.no_grad()
def _held_out(
    model: LlavaForConditionalGeneration,
    heads: PatchHeads,
    tenths: torch.Tensor,
    data: SceneBatch,
    writer: RowWriter,
    pad: int,
) -> np.ndarray:
    rng = np.random.default_rng(0)
    parts = np.array_split(np.arange(min(VALIDATION_SCENES, len(data.images))), 10)
    batches = (make_batch(data, part, writer, pad, rng) for part in parts)
    return np.mean([_numbers(perception_loss(model, heads, tenths, batch)) for batch in batches], axis=0)


def _numbers(loss: PerceptionLoss) -> tuple[float, float, float]:
    return float(loss.rows.detach()), float(loss.patches.detach()), float(loss.places_right)


def _describe(means: np.ndarray) -> str:
    return f"rows {means[0]:.3f}, patches {means[1]:.3f}, places right {means[2]:.3f}"
