"""Surrogate objectives: what is minimised in place of the expected return, and how far one update may go.

Throughout, ``w = exp(log_ratio)`` is the importance ratio (see `pixelis.agents.losses.ratio`), ``A`` the
advantage, and ``sg`` stops the gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from pixelis.agents.losses.correction import SAFE_LOG_WEIGHT
from pixelis.registry import Registry


@dataclass(frozen=True)
class SurrogateConstants:
    """The constants of all surrogates; each reads those that it needs.

    Attributes:
        epsilon_low: how far the ratio may fall, in (0, 1).
        epsilon_high: how far the ratio may rise, > 0.
        dual_clip: c of `dual_clip`, > 1 + epsilon_high.
        sapo_positive: temperature of `sapo` where the advantage is positive, > 0.
        sapo_negative: elsewhere, > 0; above ``sapo_positive`` it damps sooner.
    """

    epsilon_low: float = 0.2
    epsilon_high: float = 0.2
    dual_clip: float = 3.0
    sapo_positive: float = 1.0
    sapo_negative: float = 1.05


@dataclass(frozen=True)
class SurrogateInputs:
    """What a surrogate sees of one micro-batch.

    Attributes:
        log_ratio: float [B, T], with gradient, 0 outside the mask.
        advantages: float [B, T] or [B, 1].
        logprobs: of the policy being trained, float [B, T], with gradient, 0 outside the mask.
        mask: bool [B, T], True where the policy sampled the token.
    """

    log_ratio: Tensor
    advantages: Tensor
    logprobs: Tensor
    mask: Tensor

    def __post_init__(self) -> None:
        """Check that the shapes agree."""
        shape = self.log_ratio.shape
        if self.log_ratio.ndim != 2 or self.advantages.shape not in (shape, (shape[0], 1)):
            raise ValueError(
                f"log_ratio must be [B, T] and advantages [B, T] or [B, 1], got {tuple(shape)}, "
                f"{tuple(self.advantages.shape)}"
            )
        if self.logprobs.shape != shape or self.mask.shape != shape:
            raise ValueError(
                f"logprobs and mask must be {tuple(shape)}, got {tuple(self.logprobs.shape)}, "
                f"{tuple(self.mask.shape)}"
            )


@dataclass(frozen=True)
class Surrogate:
    """A surrogate's value at each token.

    Attributes:
        loss: float [B, T], to be minimised, with gradient.
        clipped_low: bool [B, T], where the lower bound acts; None when there is no such bound.
        clipped_high: bool [B, T], where the upper bound acts; None when there is no such bound.
    """

    loss: Tensor
    clipped_low: Tensor | None = None
    clipped_high: Tensor | None = None


SurrogateFunction = Callable[[SurrogateInputs, SurrogateConstants], Surrogate]
SURROGATES: Registry[SurrogateFunction] = Registry("surrogate")


def _ratio(given: SurrogateInputs) -> Tensor:
    """Return the ratios; far beyond every bound they stay where an exponential does not overflow."""
    return torch.exp(given.log_ratio.clamp(max=SAFE_LOG_WEIGHT))


@SURROGATES.register("clip")
def clip(given: SurrogateInputs, constants: SurrogateConstants) -> Surrogate:
    """Return PPO's pessimistic clipped surrogate; where it clips there is no gradient.

        loss = -min(w A, clip(w, 1 - epsilon_low, 1 + epsilon_high) A)

    With ``epsilon_high`` above ``epsilon_low`` this is DAPO's clip-higher.

    Source: Schulman et al. 2017, PPO (arXiv 1707.06347), eq. 7; Yu et al. 2025, DAPO (arXiv 2503.14476), eq.
    10.
    """
    ratio, advantages = _ratio(given), given.advantages
    low, high = 1 - constants.epsilon_low, 1 + constants.epsilon_high
    return Surrogate(
        loss=-torch.minimum(ratio * advantages, torch.clamp(ratio, low, high) * advantages),
        clipped_low=(ratio < low) & (advantages < 0),
        clipped_high=(ratio > high) & (advantages > 0),
    )


@SURROGATES.register("dual_clip")
def dual_clip(given: SurrogateInputs, constants: SurrogateConstants) -> Surrogate:
    """Return `clip` with a second bound on what a bad token can cost.

        loss = min(clip loss, -c A) where A < 0, else the clip loss

    A token that is bad and became much likelier, w > c, has no gradient any more: with `clip` alone its
    weight is unbounded. ``clipped_high`` counts those tokens too.

    Source: Ye et al. 2020, Mastering Complex Control in MOBA Games (arXiv 1912.09729), dual-clip PPO.
    """
    inner, advantages = clip(given, constants), given.advantages
    ratio, bad = _ratio(given), advantages < 0
    high = torch.where(bad, ratio > constants.dual_clip, ratio > 1 + constants.epsilon_high)
    return Surrogate(
        loss=torch.where(bad, torch.minimum(inner.loss, -constants.dual_clip * advantages), inner.loss),
        clipped_low=inner.clipped_low,
        clipped_high=high & (advantages != 0),
    )


@SURROGATES.register("cispo")
def cispo(given: SurrogateInputs, constants: SurrogateConstants) -> Surrogate:
    """Return REINFORCE with a capped importance weight: every token keeps a gradient, however far it moved.

        loss = -sg(min(w, 1 + epsilon_high)) A log pi

    There is no lower bound on the weight, as in the paper's experiments. The value means little; the gradient
    is what counts.

    Source: MiniMax 2025, MiniMax-M1 (arXiv 2506.13585), section 3.1.
    """
    cap = 1 + constants.epsilon_high
    ratio = _ratio(given).detach()
    return Surrogate(
        loss=-torch.clamp(ratio, max=cap) * given.advantages * given.logprobs,
        clipped_high=(ratio > cap) & (given.advantages != 0),
    )


@SURROGATES.register("sapo")
def sapo(given: SurrogateInputs, constants: SurrogateConstants) -> Surrogate:
    """Return the soft gate: instead of a range with hard ends, weight falls smoothly as the ratio leaves 1.

        loss = -(4 / t) sigmoid(t (w - 1)) A,   t = sapo_positive where A > 0, else sapo_negative

    The factor makes its slope at w = 1 that of w A.

    Source: Gao et al. 2025, Soft Adaptive Policy Optimization (arXiv 2511.20347).
    """
    temperature = torch.where(given.advantages > 0, constants.sapo_positive, constants.sapo_negative)
    gate = torch.sigmoid(temperature * (_ratio(given) - 1)) * 4 / temperature
    return Surrogate(loss=-gate * given.advantages)
