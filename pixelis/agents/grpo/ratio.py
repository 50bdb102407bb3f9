"""Importance ratios: how much more likely the policy makes a token now than when it was sampled."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def token_log_ratio(logprobs: Tensor, old_logprobs: Tensor, mask: Tensor) -> Tensor:
    """Return the log of the importance ratio of each token.

        log w[b, t] = log pi(y[b, t] | ...) - log pi_old(y[b, t] | ...)

    Args:
        logprobs: of the policy being trained, float [B, T], with gradient.
        old_logprobs: of the policy that sampled, float [B, T].
        mask: bool [B, T], True where the policy sampled the token.

    Returns:
        float [B, T], 0 outside the mask (so that padding can never overflow in the exponential).

    Source: Schulman et al. 2017, PPO (arXiv 1707.06347), section 3, for tokens as actions.
    """
    if not logprobs.shape == old_logprobs.shape == mask.shape or logprobs.ndim != 2:
        raise ValueError(
            f"logprobs, old_logprobs and mask must share a shape [B, T], got {tuple(logprobs.shape)}, "
            f"{tuple(old_logprobs.shape)}, {tuple(mask.shape)}"
        )
    return torch.where(mask, logprobs - old_logprobs, 0.0)


RatioFunction = Callable[[Tensor, Tensor, Tensor], Tensor]
RATIOS: dict[str, RatioFunction] = {"token": token_log_ratio}
