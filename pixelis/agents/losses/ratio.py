"""Importance ratios: how much more likely the policy makes a token now than when the update began."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from pixelis.registry import Registry

RatioFunction = Callable[[Tensor, Tensor, Tensor], Tensor]
RATIOS: Registry[RatioFunction] = Registry("ratio")


@RATIOS.register("token")
def token_log_ratio(logprobs: Tensor, old_logprobs: Tensor, mask: Tensor) -> Tensor:
    """Return the log of the importance ratio of each token.

        log w[b, t] = log pi(y[b, t] | ...) - log pi_old(y[b, t] | ...)

    Args:
        logprobs: of the policy being trained, float [B, T], with gradient.
        old_logprobs: of the policy it is compared with, float [B, T].
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


@RATIOS.register("sequence")
def sequence_log_ratio(logprobs: Tensor, old_logprobs: Tensor, mask: Tensor) -> Tensor:
    """Return the log of the length-normalised ratio of the whole sequence, at each of its tokens.

        log s[b, t] = sg(mean_u log w[b, u]) + log pi(y[b, t]) - sg(log pi(y[b, t]))

    Its value is the same at every sampled token of a row, so a sequence is clipped as a whole; its gradient
    is each token's own. Where all tokens of a row have one advantage, loss and gradient are those of GSPO's
    s[b] = (pi(y) / pi_old(y))^(1/|y|); where they differ, each token is moved by its own.

    Arguments and result as in `token_log_ratio`. Source: Zheng et al. 2025, GSPO (arXiv 2507.18071),
    section 4.1 and, for this form, 4.3 (GSPO-token).
    """
    log_ratio = token_log_ratio(logprobs, old_logprobs, mask)
    mean = log_ratio.detach().sum(dim=1, keepdim=True) / mask.sum(dim=1, keepdim=True).clamp(min=1)
    return torch.where(mask, mean + (log_ratio - log_ratio.detach()), 0.0)
