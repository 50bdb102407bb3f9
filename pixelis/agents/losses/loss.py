"""The GRPO loss of one micro-batch: ratio, surrogate, correction, KL penalty and aggregation put together."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from pixelis.agents.losses.aggregation import AGGREGATIONS, StepCounts
from pixelis.agents.losses.correction import CORRECTIONS, LEVELS, Importance, log_weights
from pixelis.agents.losses.kl import KL_ESTIMATORS
from pixelis.agents.losses.ratio import RATIOS, token_log_ratio
from pixelis.agents.losses.surrogate import SURROGATES, Surrogate, SurrogateConstants, SurrogateInputs
from pixelis.errors import ConfigError


@dataclass(frozen=True)
class LossSettings(SurrogateConstants):
    """Which functions make up the loss, by their registered names, and their constants.

    Attributes:
        ratio: a name in ``RATIOS``.
        surrogate: a name in ``SURROGATES``; its constants are the inherited attributes.
        aggregation: a name in ``AGGREGATIONS``.
        kl: a name in ``KL_ESTIMATORS``.
        beta: weight of the KL penalty to the reference, >= 0.
        kl_ratio: multiply the KL estimate of a token by its importance ratio, see `grpo_loss`.
        correction: a name in ``CORRECTIONS``, or ``none``, see `pixelis.agents.losses.correction`.
        correction_level: ``token`` or ``sequence``.
        correction_cap: largest weight of the correction, >= 1.

    Raises:
        ConfigError: nothing is registered under one of the names.
    """

    ratio: str = "token"
    surrogate: str = "clip"
    aggregation: str = "token_mean"
    kl: str = "k3"
    beta: float = 0.0
    kl_ratio: bool = False
    correction: str = "none"
    correction_level: str = "token"
    correction_cap: float = 3.0

    def __post_init__(self) -> None:
        """Look every name up."""
        RATIOS.find(self.ratio)
        SURROGATES.find(self.surrogate)
        AGGREGATIONS.find(self.aggregation)
        KL_ESTIMATORS.find(self.kl)
        if self.corrects:
            CORRECTIONS.find(self.correction)
        if self.correction_level not in LEVELS:
            raise ConfigError(f"correction_level must be one of {LEVELS}, got {self.correction_level!r}")

    @property
    def corrects(self) -> bool:
        """Whether there is an off-policy correction."""
        return self.correction != "none"


@dataclass(frozen=True)
class LossInputs:
    """One micro-batch of b episodes, right padded to T tokens.

    Attributes:
        logprobs: of the policy being trained, float [b, T], with gradient.
        old_logprobs: recorded when sampling, float [b, T].
        advantages: float [b], or [b, T] for credit by token.
        mask: bool [b, T], True where the policy sampled the token.
        reference_logprobs: of the reference policy, float [b, T]; needed when ``beta`` > 0.
        proximal_logprobs: of the policy with which the update began, float [b, T]; read by an off-policy
            correction. None while nothing has changed since: ``logprobs`` themselves.
    """

    logprobs: Tensor
    old_logprobs: Tensor
    advantages: Tensor
    mask: Tensor
    reference_logprobs: Tensor | None = None
    proximal_logprobs: Tensor | None = None

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
        for name in ("reference_logprobs", "proximal_logprobs"):
            given = getattr(self, name)
            if given is not None and given.shape != shape:
                raise ValueError(f"{name} must be {tuple(shape)}, got {tuple(given.shape)}")

    @property
    def began(self) -> Tensor:
        """Log-probabilities under the policy with which the update began, float [b, T], no gradient."""
        return (self.logprobs if self.proximal_logprobs is None else self.proximal_logprobs).detach()


@dataclass(frozen=True)
class LossOutputs:
    """The loss of one micro-batch and sums over its sampled tokens, to be added up over the step.

    Attributes:
        loss: scalar with gradient; the sum over a step's micro-batches is the loss of the step.
        kl: sum of the KL estimate: to the reference where there is one, else k3 to the sampling policy.
        clipped_low: number of tokens at which the surrogate's lower bound acts.
        clipped_high: number of tokens at which its upper bound acts.
        mismatch: sum of ``|log-probability now - log-probability recorded when sampling|``.
        tokens: number of sampled tokens.
        corrected: number of tokens whose correction weight was cut.
        importance: sums over the weights of this policy against the sampler.
    """

    loss: Tensor
    kl: float
    clipped_low: float
    clipped_high: float
    mismatch: float
    tokens: int
    corrected: float
    importance: Importance


def grpo_loss(inputs: LossInputs, settings: LossSettings, counts: StepCounts) -> LossOutputs:
    """Return the loss of one micro-batch.

        aggregate(c(v) surrogate(w, A) + beta KL [w])

    Without a correction c(v) = 1 and the importance ratio w compares with the sampler; with one it compares
    with the policy at the beginning of the update, and c(v) is the cut weight of that policy against the
    sampler. ``kl_ratio`` multiplies the KL estimate by the token's own ratio, not clipped and with gradient,
    whatever ratio the surrogate uses: that makes the penalty's gradient unbiased (DeepSeek-AI 2025,
    DeepSeek-V3.2, arXiv 2512.02556, section 3.1) where the ratio compares with the sampler, so without a
    correction.

    Args:
        inputs: the micro-batch.
        settings: which functions to put together.
        counts: what the whole optimiser step covers; it normalises, see `pixelis.agents.losses.aggregation`.

    Raises:
        ValueError: ``beta`` > 0 without reference log-probabilities.
    """
    mask = inputs.mask
    anchor = inputs.began if settings.corrects else inputs.old_logprobs
    surrogate = _surrogate(inputs, settings, anchor)
    weights, cut = _correction(inputs, settings)
    values, kl = _with_penalty(weights * surrogate.loss, inputs, settings, anchor)
    sums = _masked_sums(
        mask,
        kl,
        surrogate.clipped_low,
        surrogate.clipped_high,
        (inputs.logprobs - inputs.old_logprobs).abs(),
        cut,
    )
    return LossOutputs(
        AGGREGATIONS.find(settings.aggregation)(values, mask, counts),
        *sums[:4],
        tokens=int(mask.sum()),
        corrected=sums[4],
        importance=Importance.of(inputs.logprobs, inputs.old_logprobs, mask),
    )


def _surrogate(inputs: LossInputs, settings: LossSettings, anchor: Tensor) -> Surrogate:
    given = SurrogateInputs(
        RATIOS.find(settings.ratio)(inputs.logprobs, anchor, inputs.mask),
        inputs.advantages if inputs.advantages.ndim == 2 else inputs.advantages[:, None],
        _inside(inputs.logprobs, inputs.mask),
        inputs.mask,
    )
    return SURROGATES.find(settings.surrogate)(given, settings)


def _correction(inputs: LossInputs, settings: LossSettings) -> tuple[Tensor | float, Tensor | None]:
    """Return the weights of the tokens and where they were cut (both [b, T])."""
    if not settings.corrects:
        return 1.0, None
    weights = log_weights(inputs.began, inputs.old_logprobs, inputs.mask, settings.correction_level).exp()
    cut = CORRECTIONS.find(settings.correction)(weights, settings.correction_cap)
    return cut, cut != weights


def _with_penalty(
    values: Tensor, inputs: LossInputs, settings: LossSettings, anchor: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the values with the KL penalty added, and the KL that is to be logged (both [b, T]).

    The tokens are the sampler's. From the second update on them they are no longer the policy's, and the
    estimates, made for tokens of the policy, are off by as much as the two differ.
    """
    mask = inputs.mask
    logprobs = _inside(inputs.logprobs, mask)
    if settings.beta == 0:
        other = inputs.old_logprobs if inputs.reference_logprobs is None else inputs.reference_logprobs
        return values, KL_ESTIMATORS["k3"](logprobs, _inside(other, mask))
    if inputs.reference_logprobs is None:
        raise ValueError("beta > 0 needs reference_logprobs")
    kl = KL_ESTIMATORS.find(settings.kl)(logprobs, _inside(inputs.reference_logprobs, mask))
    if settings.kl_ratio:
        kl = kl * token_log_ratio(inputs.logprobs, anchor, mask).exp()
    return values + settings.beta * kl, kl


def _inside(logprobs: Tensor, mask: Tensor) -> Tensor:
    """Zero what is outside the mask, so that no exponential of padding can overflow."""
    return torch.where(mask, logprobs, 0.0)


def _masked_sums(mask: Tensor, *values: Tensor | None) -> list[float]:
    """Return each one's sum over the mask, 0 for None; one transfer from the device for all."""
    nothing = torch.zeros((), device=mask.device)
    sums = [nothing if each is None else (each.detach() * mask).sum().to(nothing.dtype) for each in values]
    return torch.stack(sums).tolist()
