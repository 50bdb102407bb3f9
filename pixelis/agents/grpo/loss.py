"""The GRPO loss of one micro-batch: ratio, surrogate, KL penalty and aggregation put together."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from pixelis.agents.grpo.aggregation import AGGREGATIONS, StepCounts
from pixelis.agents.grpo.kl import KL_ESTIMATORS
from pixelis.agents.grpo.ratio import RATIOS
from pixelis.agents.grpo.surrogate import SURROGATES


@dataclass(frozen=True)
class LossSettings:
    """Which functions make up the loss, by their registered names, and their constants.

    Attributes:
        ratio: a key of ``RATIOS``.
        surrogate: a key of ``SURROGATES``.
        aggregation: a key of ``AGGREGATIONS``.
        kl: a key of ``KL_ESTIMATORS``.
        epsilon_low: how far the ratio may fall, in (0, 1).
        epsilon_high: how far the ratio may rise, > 0.
        beta: weight of the KL penalty to the reference, >= 0.
    """

    ratio: str = "token"
    surrogate: str = "clip"
    aggregation: str = "token_mean"
    kl: str = "k3"
    epsilon_low: float = 0.2
    epsilon_high: float = 0.2
    beta: float = 0.0


@dataclass(frozen=True)
class LossInputs:
    """One micro-batch of b episodes, right padded to T tokens.

    Attributes:
        logprobs: of the policy being trained, float [b, T], with gradient.
        old_logprobs: recorded when sampling, float [b, T].
        advantages: float [b], or [b, T] for credit by token.
        mask: bool [b, T], True where the policy sampled the token.
        reference_logprobs: of the reference policy, float [b, T]; needed when ``beta`` > 0.
    """

    logprobs: Tensor
    old_logprobs: Tensor
    advantages: Tensor
    mask: Tensor
    reference_logprobs: Tensor | None = None

    def __post_init__(self) -> None:
        """Check that the shapes agree."""
        shape = self.logprobs.shape
        if self.logprobs.ndim != 2 or self.old_logprobs.shape != shape or self.mask.shape != shape:
            raise ValueError(
                f"logprobs, old_logprobs and mask must share a shape [b, T], got {tuple(shape)}, "
                f"{tuple(self.old_logprobs.shape)}, {tuple(self.mask.shape)}"
            )
        if self.advantages.shape not in (shape, shape[:1]):
            raise ValueError(
                f"advantages must be [b] or [b, T] for [b, T] = {tuple(shape)}, got {self.advantages.shape}"
            )
        if self.reference_logprobs is not None and self.reference_logprobs.shape != shape:
            raise ValueError(
                f"reference_logprobs must be {tuple(shape)}, got {tuple(self.reference_logprobs.shape)}"
            )


@dataclass(frozen=True)
class LossOutputs:
    """The loss of one micro-batch and sums over its sampled tokens, to be added up over the step.

    Attributes:
        loss: scalar with gradient; the sum over a step's micro-batches is the loss of the step.
        kl: sum of the KL estimate: to the reference where there is one, else k3 to the sampling policy.
        clipped_low: number of tokens held back at the lower bound.
        clipped_high: number of tokens held back at the upper bound.
        mismatch: sum of |logprob - old logprob|.
        tokens: number of sampled tokens.
    """

    loss: Tensor
    kl: float
    clipped_low: float
    clipped_high: float
    mismatch: float
    tokens: int


def grpo_loss(inputs: LossInputs, settings: LossSettings, counts: StepCounts) -> LossOutputs:
    """Return the loss ``aggregate(surrogate(ratio, A) + beta KL)`` of one micro-batch.

    Args:
        inputs: the micro-batch.
        settings: which functions to put together.
        counts: what the whole optimiser step covers; it normalises, see `pixelis.agents.grpo.aggregation`.

    Raises:
        ValueError: ``beta`` > 0 without reference log-probabilities.
    """
    mask = inputs.mask
    advantages = inputs.advantages if inputs.advantages.ndim == 2 else inputs.advantages[:, None]
    log_ratio = RATIOS[settings.ratio](inputs.logprobs, inputs.old_logprobs, mask)
    surrogate = SURROGATES[settings.surrogate](
        log_ratio, advantages, settings.epsilon_low, settings.epsilon_high
    )
    values, kl = _with_penalty(surrogate.loss, inputs, settings)
    return LossOutputs(
        loss=AGGREGATIONS[settings.aggregation](values, mask, counts),
        kl=_masked_sum(kl, mask),
        clipped_low=_masked_sum(surrogate.clipped_low, mask),
        clipped_high=_masked_sum(surrogate.clipped_high, mask),
        mismatch=_masked_sum((inputs.logprobs - inputs.old_logprobs).abs(), mask),
        tokens=int(mask.sum()),
    )


def _with_penalty(values: Tensor, inputs: LossInputs, settings: LossSettings) -> tuple[Tensor, Tensor]:
    """Return the values with the KL penalty added, and the KL that is to be logged (both [b, T])."""
    estimate = KL_ESTIMATORS[settings.kl]
    if settings.beta == 0:
        anchor = inputs.old_logprobs if inputs.reference_logprobs is None else inputs.reference_logprobs
        return values, KL_ESTIMATORS["k3"](
            _inside(inputs.logprobs, inputs.mask), _inside(anchor, inputs.mask)
        )
    if inputs.reference_logprobs is None:
        raise ValueError("beta > 0 needs reference_logprobs")
    kl = estimate(_inside(inputs.logprobs, inputs.mask), _inside(inputs.reference_logprobs, inputs.mask))
    return values + settings.beta * kl, kl


def _inside(logprobs: Tensor, mask: Tensor) -> Tensor:
    """Zero what is outside the mask, so that no exponential of padding can overflow."""
    return torch.where(mask, logprobs, 0.0)


def _masked_sum(values: Tensor, mask: Tensor) -> float:
    return float((values.detach() * mask).sum())
