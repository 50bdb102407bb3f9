"""Surrogate objectives: what is minimised in place of the expected return, and how far one update may go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Surrogate:
    """A surrogate's value at each token.

    Attributes:
        loss: float [B, T], to be minimised, with gradient.
        clipped_low: bool [B, T], the ratio fell below the range and the advantage is negative: no gradient.
        clipped_high: bool [B, T], the ratio rose above the range and the advantage is positive: no gradient.
    """

    loss: Tensor
    clipped_low: Tensor
    clipped_high: Tensor


def clip(log_ratio: Tensor, advantages: Tensor, epsilon_low: float, epsilon_high: float) -> Surrogate:
    """Return PPO's pessimistic clipped surrogate.

        loss = -min(w A, clip(w, 1 - epsilon_low, 1 + epsilon_high) A),   w = exp(log_ratio)

    Args:
        log_ratio: float [B, T], see `pixelis.agents.grpo.ratio`.
        advantages: float [B, T] or [B, 1].
        epsilon_low: how far the ratio may fall, in (0, 1).
        epsilon_high: how far it may rise, > 0; above ``epsilon_low`` this is DAPO's clip-higher.

    Source: Schulman et al. 2017, PPO (arXiv 1707.06347), eq. 7; Yu et al. 2025, DAPO (arXiv 2503.14476), eq.
    10.
    """
    if log_ratio.ndim != 2 or advantages.ndim != 2 or advantages.shape[0] != log_ratio.shape[0]:
        raise ValueError(
            f"log_ratio must be [B, T] and advantages [B, T] or [B, 1], got {tuple(log_ratio.shape)}, "
            f"{tuple(advantages.shape)}"
        )
    ratio = torch.exp(log_ratio)
    clipped = torch.clamp(ratio, 1 - epsilon_low, 1 + epsilon_high)
    return Surrogate(
        loss=-torch.minimum(ratio * advantages, clipped * advantages),
        clipped_low=(ratio < 1 - epsilon_low) & (advantages < 0),
        clipped_high=(ratio > 1 + epsilon_high) & (advantages > 0),
    )


SurrogateFunction = Callable[[Tensor, Tensor, float, float], Surrogate]
SURROGATES: dict[str, SurrogateFunction] = {"clip": clip}
