"""The update phase: epochs of optimiser steps on a step's batch, and what is logged of them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.losses.aggregation import StepCounts
from pixelis.agents.optimisation.micro_batch import explain_out_of_memory
from pixelis.agents.optimisation.noise_scale import NoiseScale
from pixelis.agents.optimisation.optimiser import Optimiser
from pixelis.agents.optimisation.step_size import StepSizer
from pixelis.agents.rl.batch import StepBatch
from pixelis.agents.rl.gradient import Gradient, Totals
from pixelis.agents.runs.metrics import Row


class Updater:
    """Trains a policy on batches.

    Args:
        optimiser: of the policy's parameters.
        gradient: where gradients come from; its policy and settings are the updater's.

    Attributes:
        optimiser: see there.
        gradient: see there.
        settings: of the gradient.
        micro_batch: episodes per forward pass now; halved for good whenever memory runs out.
    """

    def __init__(self, optimiser: Optimiser, gradient: Gradient) -> None:
        self.optimiser, self.gradient, self.settings = optimiser, gradient, gradient.settings
        self.micro_batch = gradient.micro_batch
        self.sizer = None
        if self.settings.step_size is not None:
            self.sizer = StepSizer(
                gradient.policy,
                optimiser,
                self.settings.step_size,
                self.settings.temperature,
                self.micro_batch,
            )
        self._noise = NoiseScale()

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
        self.gradient.begin(batch.episodes, batch.advantages)
        reference_seconds = time.perf_counter() - start
        first = last = None
        norms: list[float] = []
        if batch.counts is not None:
            if self.sizer is not None:
                self.sizer.begin(all_episodes, batch.episodes)
            for _ in range(self.settings.epochs):
                last, norm = self._epoch(batch.counts)
                first = first or last
                norms.append(norm)
        if first is None or last is None:
            first = last = self.gradient.measure(all_episodes)
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

    def _epoch(self, counts: StepCounts) -> tuple[Totals, float]:
        """Take one optimiser step over the whole batch; return its sums and the gradient's norm."""
        totals = self.gradient.compute(counts)
        with explain_out_of_memory(
            "taking an optimiser step", "use a larger device, or a smaller --lora.rank or model"
        ):
            return totals, (self.sizer or self.optimiser).step(totals.loss)

    def _row(self, first: Totals, last: Totals, norms: Sequence[float]) -> Row:
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
