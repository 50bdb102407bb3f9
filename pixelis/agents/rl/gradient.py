"""The gradient of a step's batch: reference log-probabilities, micro-batches, and sums of what they say."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from pixelis.agents.distributed.shards import BACKWARD
from pixelis.agents.episodes.episode import Episode
from pixelis.agents.losses.aggregation import StepCounts
from pixelis.agents.losses.correction import Importance
from pixelis.agents.losses.loss import LossInputs, LossOutputs, LossSettings, grpo_loss
from pixelis.agents.models.policy import Policy
from pixelis.agents.optimisation.micro_batch import MicroBatchSize
from pixelis.agents.optimisation.noise_scale import Contributions, squared_norm
from pixelis.agents.rl.batch import sampled_logprobs
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


@dataclass
class Totals:
    """Sums over the sampled tokens of an epoch or more.

    Attributes:
        loss: of the batch.
        kl: to the sampler or the reference, as are the others: see `LossOutputs`.
        clipped_low: tokens.
        clipped_high: tokens.
        mismatch: of what sampled and what is trained.
        entropy: in nats.
        tokens: sampled ones.
        corrected: tokens whose weight was cut.
        importance: weights of an off-policy correction.
        read: tokens that forward passes were given.
        unshared: tokens of their episodes, each read by itself and without padding.
        parts: see `pixelis.agents.optimisation.noise_scale.NoiseScale.note`.
        squares: the squared norm of the whole gradient.
    """

    loss: float = 0.0
    kl: float = 0.0
    clipped_low: float = 0.0
    clipped_high: float = 0.0
    mismatch: float = 0.0
    entropy: float = 0.0
    tokens: int = 0
    corrected: float = 0.0
    importance: Importance = field(default_factory=Importance)
    read: int = 0
    unshared: int = 0
    parts: list[tuple[float, int]] = field(default_factory=list)
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

    def __add__(self, other: Totals) -> Totals:
        """Return the sums of both together; the norm of the sum of their gradients is not known: NaN."""
        names = [each.name for each in fields(self) if each.name != "squares"]
        sums = {name: getattr(self, name) + getattr(other, name) for name in names}
        return Totals(**sums, squares=math.nan)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Totals:
        """Return what `to_json` was called on."""
        parts = [(float(squares), int(episodes)) for squares, episodes in values["parts"]]
        return cls(**{**values, "importance": Importance(**values["importance"]), "parts": parts})


class Gradient(Protocol):
    """Where an update gets its gradients from: this process, or several.

    Attributes:
        policy: what is trained.
        settings: see `UpdateSettings`.
        micro_batch: episodes per forward pass now; halved for good whenever memory runs out.
    """

    policy: Policy
    settings: UpdateSettings
    micro_batch: MicroBatchSize

    def begin(self, episodes: Sequence[Episode], advantages: np.ndarray) -> None:
        """Take a batch, and compute what stays the same over its epochs.

        Args:
            episodes: what is trained on.
            advantages: float64 [B], or [B, T] by token.
        """
        ...

    def compute(self, counts: StepCounts) -> Totals:
        """Leave the gradient of the whole batch in the parameters, whatever was there before."""
        ...

    def measure(self, episodes: Sequence[Episode]) -> Totals:
        """Score some of these episodes without training on them."""
        ...


@dataclass(frozen=True)
class _MicroBatch:
    episodes: Sequence[Episode]
    advantages: Tensor  # float32 [b] or [b, T]
    old_logprobs: Tensor  # float32 [b, T]
    reference: Tensor | None  # float32 [b, T]


class BatchGradient:
    """Computes gradients in this process.

    Args:
        policy: with trainable parameters, and an adapter if there is a KL penalty.
        settings: see `UpdateSettings`.

    Attributes:
        micro_batch: see `Gradient`.
    """

    def __init__(self, policy: Policy, settings: UpdateSettings) -> None:
        self.policy, self.settings = policy, settings
        self.micro_batch = MicroBatchSize(settings.micro_batch_size)
        self._episodes: Sequence[Episode] = ()
        self._advantages = np.zeros(0)
        self._size, self._prepared = 0, list[_MicroBatch]()
        self._began: dict[int, Tensor] = {}  # episode's id() → its log-probabilities when the update began

    def begin(self, episodes: Sequence[Episode], advantages: np.ndarray) -> None:
        """Take a batch, and compute its reference log-probabilities."""
        self._began.clear()
        self._episodes, self._advantages, self._size = episodes, advantages, 0
        self.micro_batch.fit(self._micro_batches, len(episodes))

    def compute(self, counts: StepCounts) -> Totals:
        """Leave the gradient of the whole batch in the parameters, whatever was there before."""
        return self.micro_batch.fit(
            lambda size: self._add_up(self._micro_batches(size), counts), len(self._episodes)
        )

    def measure(self, episodes: Sequence[Episode]) -> Totals:
        """Score one micro-batch without training on it."""
        return self.micro_batch.fit(lambda size: self._measure(episodes, size), len(episodes))

    # ------------------------------------------------------------------ private

    def _micro_batches(self, size: int) -> list[_MicroBatch]:
        """Return the batch in micro-batches; made anew only when the size changes."""
        if size != self._size:
            self._prepared = []  # frees the old ones first
            self._prepared = self._prepare(self._episodes, self._advantages, size)
            self._size = size
        return self._prepared

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

    def _add_up(self, micro_batches: Sequence[_MicroBatch], counts: StepCounts) -> Totals:
        parameters = self.policy.trainable_parameters()
        for parameter in parameters:
            parameter.grad = None
        self.policy.model.eval()
        totals = Totals()
        split = Contributions(parameters) if len(micro_batches) > 1 else None
        for micro_batch in micro_batches:
            before = self.policy.tokens_read
            outputs, entropy = self._forward(micro_batch, counts, self.settings.dropout)
            totals.read += self.policy.tokens_read - before
            totals.unshared += sum(map(len, micro_batch.episodes))
            with self._going_back():
                outputs.loss.backward()
            totals.add(outputs, entropy)
            if split is not None:
                split.add(len(micro_batch.episodes))
        totals.squares = squared_norm(parameters)
        only = [(totals.squares, len(each.episodes)) for each in micro_batches]
        totals.parts = only if split is None else split.parts
        return totals

    def _going_back(self) -> contextlib.AbstractContextManager[None]:
        shards = self.policy.shards
        return contextlib.nullcontext() if shards is None else shards.passing(BACKWARD)

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
    def _measure(self, episodes: Sequence[Episode], size: int) -> Totals:
        self.policy.model.eval()
        totals = Totals()
        rows = [each for each in episodes if each.valid_for_training and each.completion_length > 0]
        rows = rows[: self.settings.micro_batch_size]
        for micro_batch in self._prepare(rows, np.zeros(len(rows)), size):
            totals.add(*self._forward(micro_batch, StepCounts(1, 1, 1)))
        return totals
