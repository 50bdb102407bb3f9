"""The update phase: reference log-probabilities, micro-batched epochs, and what is logged of them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.losses.aggregation import StepCounts
from pixelis.agents.losses.correction import Importance
from pixelis.agents.losses.loss import LossInputs, LossOutputs, LossSettings, grpo_loss
from pixelis.agents.models.policy import Policy
from pixelis.agents.optimisation.micro_batch import MicroBatchSize, explain_out_of_memory
from pixelis.agents.optimisation.noise_scale import Contributions, NoiseScale
from pixelis.agents.optimisation.optimiser import Optimiser
from pixelis.agents.optimisation.step_size import StepSizer
from pixelis.agents.rl.batch import StepBatch, sampled_logprobs
from pixelis.agents.runs.metrics import Row
from pixelis.agents.settings.step_size import StepSize


@dataclass(frozen=True)
class UpdateSettings:
    """How a batch becomes optimiser steps.

    Attributes:
        loss: the loss.
        temperature: the one the episodes were sampled at.
        epochs: optimiser steps on each batch.
        micro_batch_size: episodes per forward pass, to begin with; the gradient does not depend on it.
        dropout: whether gradient passes are in train mode. Then the old log-probabilities are those of the
            pass itself, so that every ratio is 1 and the gradient is that of REINFORCE with units dropped;
            what sampled and the reference are without dropout.
        step_size: how the learning rate finds itself; None: it is what the optimiser has.
    """

    loss: LossSettings
    temperature: float = 1.0
    epochs: int = 1
    micro_batch_size: int = 8
    dropout: bool = False
    step_size: StepSize | None = None


@dataclass(frozen=True)
class _MicroBatch:
    episodes: Sequence[Episode]
    advantages: Tensor  # float32 [b] or [b, T]
    old_logprobs: Tensor  # float32 [b, T]
    reference: Tensor | None  # float32 [b, T]


@dataclass
class _Totals:
    """Sums over the sampled tokens of an epoch or more."""

    loss: float = 0.0
    kl: float = 0.0
    clipped_low: float = 0.0
    clipped_high: float = 0.0
    mismatch: float = 0.0
    entropy: float = 0.0
    tokens: int = 0
    corrected: float = 0.0
    importance: Importance = field(default_factory=Importance)
    read: int = 0  # tokens that forward passes were given
    unshared: int = 0  # tokens of their episodes, each read by itself and without padding
    parts: list[tuple[float, int]] = field(default_factory=list)  # see `NoiseScale.note`
    squares: float = 0.0

    def add(self, outputs: LossOutputs, entropy: float) -> None:
        """Add the sums of one micro-batch."""
        self.loss += outputs.loss.item()
        self.kl += outputs.kl
        self.clipped_low += outputs.clipped_low
        self.clipped_high += outputs.clipped_high
        self.mismatch += outputs.mismatch
        self.entropy += entropy
        self.tokens += outputs.tokens
        self.corrected += outputs.corrected
        self.importance += outputs.importance


class Updater:
    """Trains a policy on batches.

    Args:
        policy: with trainable parameters, and an adapter if there is a KL penalty.
        optimiser: of the policy's parameters.
        settings: see `UpdateSettings`.

    Attributes:
        micro_batch: episodes per forward pass now; halved for good whenever memory runs out.
    """

    def __init__(self, policy: Policy, optimiser: Optimiser, settings: UpdateSettings) -> None:
        self.policy, self.optimiser, self.settings = policy, optimiser, settings
        self.micro_batch = MicroBatchSize(settings.micro_batch_size)
        self.sizer = None
        if settings.step_size is not None:
            self.sizer = StepSizer(
                policy, optimiser, settings.step_size, settings.temperature, self.micro_batch
            )
        self._noise = NoiseScale()
        self._began: dict[int, Tensor] = {}  # episode's id() → its log-probabilities when the update began

    def update(self, batch: StepBatch, all_episodes: Sequence[Episode]) -> Row:
        """Train on a batch and return the metrics of it.

        Args:
            batch: what is trained on; when it is empty the weights stay as they are.
            all_episodes: of the step; some of them are scored when the batch is empty, so that the mismatch
                between sampler and trainer, and the entropy, are always known.

        Raises:
            TrainingError: the loss or its gradient was not finite three times in a row, or memory ran out
                with one episode at a time.
        """
        start = time.perf_counter()
        self._began.clear()
        work = _Prepared(self, batch)
        self.micro_batch.fit(work.micro_batches, len(batch.episodes))
        reference_seconds = time.perf_counter() - start
        first = last = None
        norms: list[float] = []
        if batch.counts is not None:
            if self.sizer is not None:
                self.sizer.begin(all_episodes, batch.episodes)
            for _ in range(self.settings.epochs):
                last, norm = self._epoch(work, batch.counts)
                first = first or last
                norms.append(norm)
        if first is None or last is None:
            first = last = self.micro_batch.fit(
                lambda size: self._measure(all_episodes, size), len(all_episodes)
            )
        times: Row = {
            "time/reference": reference_seconds,
            "time/update": time.perf_counter() - start - reference_seconds,
        }
        step_size = self.sizer.end() if self.sizer is not None else Row()
        return self._row(first, last, norms) | step_size | times

    def lower_rate(self, factor: float) -> None:
        """Multiply the learning rate by a factor below 1; where it is steered, nothing raises it again."""
        if self.sizer is not None:
            self.sizer.lower_ceiling(factor)
        else:
            self.optimiser.steer(factor * self.optimiser.rate)

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed run needs besides policy and optimiser, as JSON-able values."""
        sizer = {"step_size": self.sizer.state_dict()} if self.sizer is not None else {}
        return {"noise": self._noise.state_dict(), **sizer}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        self._noise.load_state_dict(state["noise"])
        if self.sizer is not None:
            self.sizer.load_state_dict(state["step_size"])

    # ------------------------------------------------------------------ phases

    def _prepare(self, episodes: Sequence[Episode], advantages: np.ndarray, size: int) -> list[_MicroBatch]:
        device = self.policy.device
        prepared = []
        for start in range(0, len(episodes), size):
            rows = episodes[start : start + size]
            weights = torch.from_numpy(advantages[start : start + size]).float().to(device)
            if weights.ndim == 2:  # padded for the longest episode of the step, not of these rows
                weights = weights[:, : max(map(len, rows))]
            prepared.append(
                _MicroBatch(rows, weights, sampled_logprobs(rows).to(device), self._reference(rows))
            )
        return prepared

    def _reference(self, episodes: Sequence[Episode]) -> Tensor | None:
        if self.settings.loss.beta == 0:
            return None
        with torch.no_grad(), self.policy.reference():
            return self.policy.logprobs(episodes, self.settings.temperature).logprobs

    def _epoch(self, work: _Prepared, counts: StepCounts) -> tuple[_Totals, float]:
        """Take one optimiser step over the whole batch; return its sums and the gradient's norm."""
        totals = self.micro_batch.fit(
            lambda size: self._gradient(work.micro_batches(size), counts), len(work.batch.episodes)
        )
        with explain_out_of_memory(
            "taking an optimiser step", "use a larger device, or a smaller --lora.rank or model"
        ):
            return totals, (self.sizer or self.optimiser).step(totals.loss)

    def _gradient(self, micro_batches: Sequence[_MicroBatch], counts: StepCounts) -> _Totals:
        """Leave the gradient of the whole batch in the parameters, whatever was there before."""
        self.optimiser.zero_grad()
        self.policy.model.eval()
        totals = _Totals()
        split = Contributions(self.policy.trainable_parameters()) if len(micro_batches) > 1 else None
        for micro_batch in micro_batches:
            before = self.policy.tokens_read
            outputs, entropy = self._forward(micro_batch, counts, self.settings.dropout)
            totals.read += self.policy.tokens_read - before
            totals.unshared += sum(map(len, micro_batch.episodes))
            outputs.loss.backward()
            totals.add(outputs, entropy)
            if split is not None:
                split.add(len(micro_batch.episodes))
        if split is not None:
            totals.parts, totals.squares = split.parts, split.whole
        return totals

    def _forward(
        self, micro_batch: _MicroBatch, counts: StepCounts, dropout: bool = False
    ) -> tuple[LossOutputs, float]:
        if dropout:  # a walk over all modules costs as much as a small model's forward pass
            self.policy.model.train()
        try:
            scored = self.policy.logprobs(micro_batch.episodes, self.settings.temperature)
        finally:
            if dropout:
                self.policy.model.eval()
        inputs = LossInputs(
            scored.logprobs,
            scored.logprobs.detach() if dropout else micro_batch.old_logprobs,
            micro_batch.advantages,
            scored.mask,
            micro_batch.reference,
            self._began_logprobs(micro_batch.episodes, scored.logprobs),
        )
        return grpo_loss(inputs, self.settings.loss, counts), float(scored.entropy.sum())

    def _began_logprobs(self, episodes: Sequence[Episode], logprobs: Tensor) -> Tensor | None:
        """Return what the first epoch found for these episodes, float32 [b, T]; None without a correction.

        Until the optimiser steps that is ``logprobs`` itself. It is kept by episode: later epochs may be
        split into other micro-batches.
        """
        if not self.settings.loss.corrects:
            return None
        for episode, row in zip(episodes, logprobs.detach(), strict=True):
            self._began.setdefault(id(episode), row[: len(episode)].clone())
        return torch.nn.utils.rnn.pad_sequence([self._began[id(each)] for each in episodes], batch_first=True)

    @torch.no_grad()
    def _measure(self, episodes: Sequence[Episode], size: int) -> _Totals:
        """Score one micro-batch without training on it."""
        self.policy.model.eval()
        totals = _Totals()
        rows = [each for each in episodes if each.valid_for_training and each.completion_length > 0]
        rows = rows[: self.settings.micro_batch_size]
        for micro_batch in self._prepare(rows, np.zeros(len(rows)), size):
            totals.add(*self._forward(micro_batch, StepCounts(1, 1, 1)))
        return totals

    def _row(self, first: _Totals, last: _Totals, norms: Sequence[float]) -> Row:
        kl = "policy/kl_reference" if self.settings.loss.beta else "policy/kl_sampler"
        updated = bool(norms)

        def per_token(value: float, tokens: int) -> float | None:
            return value / tokens if tokens else None

        return {
            kl: per_token(last.kl, last.tokens),
            "policy/loss": first.loss if updated else None,
            "policy/entropy": per_token(first.entropy, first.tokens),
            "policy/mismatch": None
            if self.settings.dropout and updated
            else per_token(first.mismatch, first.tokens),
            "policy/effective_tokens": first.importance.effective_tokens,
            "policy/effective_sequences": first.importance.effective_sequences,
            "policy/chi_squared": first.importance.chi_squared,
            "policy/corrected": per_token(last.corrected, last.tokens) if updated else None,
            "policy/clip_low": per_token(last.clipped_low, last.tokens) if updated else None,
            "policy/clip_high": per_token(last.clipped_high, last.tokens) if updated else None,
            "policy/grad_norm": max(norms) if updated else None,
            "policy/lr": self.optimiser.lr,
            "policy/noise_scale": self._noise.note(first.parts, first.squares),
            "tokens/trained": first.read,
            "tokens/trained_unshared": first.unshared,
            "policy/skipped_updates": self.optimiser.skipped,
        }


class _Prepared:
    """A batch in micro-batches of a size; made anew only when the size changes."""

    def __init__(self, updater: Updater, batch: StepBatch) -> None:
        self.batch, self._updater, self._size = batch, updater, 0
        self._micro_batches: list[_MicroBatch] = []

    def micro_batches(self, size: int) -> list[_MicroBatch]:
        """Return them, the reference's log-probabilities computed."""
        if size != self._size:
            self._micro_batches = []  # frees the old ones first
            self._micro_batches = self._updater._prepare(self.batch.episodes, self.batch.advantages, size)
            self._size = size
        return self._micro_batches
