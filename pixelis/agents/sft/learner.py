"""Optimiser steps on demonstrations: the loss, packed or padded, its schedule, and the plain loop `sft`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.models.policy import Policy
from pixelis.agents.sft.packing import RowScores, can_pack, pack, packable, score_rows
from pixelis.errors import ConfigError, TrainingError


@dataclass(frozen=True)
class SftSettings:
    """How to fine-tune.

    Attributes:
        epochs: passes over the demonstrations, at least 1.
        batch_size: demonstrations an optimiser step, at least 1.
        learning_rate: AdamW's, at its peak.
        warmup: share of the steps in which the rate rises linearly, in [0, 1); it then falls as a half
            cosine.
        weight_decay: AdamW's.
        max_grad_norm: the gradient's global norm is clipped to this.
        seed: for the order of the demonstrations and for dropout.
        micro_batch_size: rows a forward pass; changes memory, not the gradient. None: all of them.
        packing: put several demonstrations into one row where the model allows it.
        pack_length: tokens a packed row holds; None: as many as the longest demonstration of the batch.
    """

    epochs: int = 1
    batch_size: int = 16
    learning_rate: float = 3e-4
    warmup: float = 0.05
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0
    seed: int = 0
    micro_batch_size: int | None = None
    packing: bool = False
    pack_length: int | None = None

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.epochs < 1 or self.batch_size < 1 or self.learning_rate <= 0 or not 0 <= self.warmup < 1:
            raise ConfigError(
                f"SFT needs epochs >= 1, batch_size >= 1, learning_rate > 0 and 0 <= warmup < 1, got {self}"
            )
        if min(self.micro_batch_size or 1, self.pack_length or 1) < 1:
            raise ConfigError(f"SFT needs micro_batch_size >= 1 and pack_length >= 1, got {self}")


@dataclass(frozen=True)
class SftStep:
    """One optimiser step.

    Attributes:
        step: from 0.
        loss: mean negative log-likelihood a demonstrated token, in nats.
        learning_rate: the one used.
        grad_norm: before clipping.
        tokens: demonstrated tokens in the batch.
        fill: share of the computed tokens that are tokens of demonstrations and not padding, in (0, 1].
    """

    step: int
    loss: float
    learning_rate: float
    grad_norm: float
    tokens: int
    fill: float = 1.0


@dataclass(frozen=True)
class HeldOutScore:
    """How well a policy predicts demonstrations it does not learn from.

    Attributes:
        loss: mean negative log-likelihood a demonstrated token, in nats.
        accuracy: share of the demonstrated tokens that were the most probable ones, in [0, 1].
        tokens: how many there were.
    """

    loss: float
    accuracy: float
    tokens: int


class SftLearner:
    """A policy with its AdamW (Loshchilov and Hutter 2019, arXiv 1711.05101), one batch at a time.

    The loss is the mean over the demonstrated tokens of the whole batch, each times its weight; prompts and
    observations do not count, and neither the split into micro-batches nor packing changes it. It is divided
    by the number of tokens and not by their weights, so that a weight means the same in every batch.

    Args:
        policy: its trainable parameters are changed in place.
        settings: how; the order of the demonstrations and the schedule are the caller's.
    """

    def __init__(self, policy: Policy, settings: SftSettings) -> None:
        self.policy, self.settings = policy, settings
        self.steps = 0
        self._optimiser = torch.optim.AdamW(
            policy.trainable_parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
        )

    def step(self, batch: Sequence[Episode], rate: float, also: Callable[[], None] | None = None) -> SftStep:
        """Take one optimiser step.

        Args:
            batch: demonstrations, each with a demonstrated token.
            rate: the learning rate.
            also: adds the gradient of what else is to be made small, as `polychromic.DiversityTerm` does.

        Raises:
            TrainingError: the loss or its gradient is not finite; the weights are as they were.
        """
        for group in self._optimiser.param_groups:
            group["lr"] = rate
        self._optimiser.zero_grad(set_to_none=True)
        total = sum(episode.completion_length for episode in batch)
        loss, width = 0.0, 0
        self.policy.model.train()
        try:
            for rows in self._micro_batches(batch):
                scores = score_rows(self.policy, rows)
                part = -(scores.logprobs * _weights(rows, scores.logprobs)).sum() / total
                part.backward()
                loss += part.item()
                width += scores.width
        finally:
            self.policy.model.eval()
        if not math.isfinite(loss):
            raise TrainingError(f"the SFT loss is {loss} at step {self.steps}; lower the learning rate")
        if also is not None:
            also()
        norm = torch.nn.utils.clip_grad_norm_(
            [each for group in self._optimiser.param_groups for each in group["params"]],
            self.settings.max_grad_norm,
        )
        if not torch.isfinite(norm):
            raise TrainingError(
                f"the SFT gradient has a norm of {float(norm)} at step {self.steps}; lower the learning rate"
            )
        self._optimiser.step()
        self.steps += 1
        return SftStep(self.steps - 1, loss, rate, float(norm), total, sum(map(len, batch)) / width)

    @torch.no_grad()
    def score(self, episodes: Sequence[Episode]) -> HeldOutScore:
        """Score demonstrations without learning from them, at least one."""
        loss, right, tokens = 0.0, 0, 0
        size = self.settings.batch_size
        for start in range(0, len(episodes), size):
            for rows in self._micro_batches(episodes[start : start + size]):
                scores: RowScores = score_rows(self.policy, rows)
                loss -= float(scores.logprobs.sum())
                right += int(scores.right.sum())
                tokens += len(scores.right)
        return HeldOutScore(loss / tokens, right / tokens, tokens)

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed run needs besides the weights: tensors and plain data."""
        return {"adamw": self._optimiser.state_dict(), "steps": self.steps}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over the state of another learner whose parameters have the same shapes in the same order."""
        self._optimiser.load_state_dict(state["adamw"])
        self.steps = int(state["steps"])

    # ------------------------------------------------------------------ private

    @cached_property
    def _model_packs(self) -> bool:
        return can_pack(self.policy)

    def _micro_batches(self, batch: Sequence[Episode]) -> Iterator[list[list[Episode]]]:
        rows = self._rows(batch)
        size = self.settings.micro_batch_size or len(rows)
        for start in range(0, len(rows), size):
            yield rows[start : start + size]

    def _rows(self, batch: Sequence[Episode]) -> list[list[Episode]]:
        if not (self.settings.packing and packable(batch) and self._model_packs):
            return [[episode] for episode in sorted(batch, key=len)]  # less padding in a micro-batch
        lengths = [len(episode) for episode in batch]
        capacity = max(self.settings.pack_length or 0, *lengths)
        return [[batch[index] for index in row] for row in pack(lengths, capacity)]


def _weights(rows: Sequence[Sequence[Episode]], like: torch.Tensor) -> torch.Tensor | float:
    """Return what the demonstrated tokens of rows count, in their order, [N]."""
    episodes = [episode for row in rows for episode in row]
    if all(segment.weight == 1 for episode in episodes for segment in episode.segments):
        return 1.0
    parts = [episode.weights[episode.loss_mask] for episode in episodes]
    return torch.from_numpy(np.concatenate(parts)).to(like)


def sft(
    policy: Policy,
    episodes: Sequence[Episode],
    settings: SftSettings,
    on_step: Callable[[SftStep], None] | None = None,
) -> list[SftStep]:
    """Fine-tune a policy's trainable parameters (the adapter, or all weights without one) on demonstrations.

    Args:
        policy: changed in place.
        episodes: demonstrations; those without a demonstrated token are left out.
        settings: how.
        on_step: called after each optimiser step.

    Returns:
        The steps in order; the same inputs and settings give the same ones.

    Raises:
        ConfigError: nothing to learn from.
        TrainingError: the loss is not finite.
    """
    useful = [episode for episode in episodes if episode.completion_length]
    if not useful:
        raise ConfigError("SFT needs at least one demonstration with a turn in it whose weight is above 0")
    learner = SftLearner(policy, settings)
    total = settings.epochs * math.ceil(len(useful) / settings.batch_size)
    torch.manual_seed(settings.seed)
    steps: list[SftStep] = []
    for index, batch in enumerate(epochs(useful, settings)):
        rate = settings.learning_rate * rate_factor(index, total, settings.warmup)
        steps.append(learner.step(batch, rate))
        if on_step is not None:
            on_step(steps[-1])
    return steps


def rate_factor(step: int, total: int, warmup: float) -> float:
    """Return the share of the peak rate: linear up over ``warmup`` of ``total`` steps, then a half cosine."""
    rising = math.ceil(warmup * total)
    if step < rising:
        return (step + 1) / (rising + 1)
    return 0.5 * (1 + math.cos(math.pi * (step - rising) / max(1, total - rising)))


def epochs(episodes: Sequence[Episode], settings: SftSettings) -> Iterator[list[Episode]]:
    """Yield the batches of ``settings.epochs`` passes, each pass in an order of its own."""
    for epoch in range(settings.epochs):
        order = np.random.default_rng([settings.seed, epoch]).permutation(len(episodes))
        for start in range(0, len(order), settings.batch_size):
            yield [episodes[i] for i in order[start : start + settings.batch_size]]
