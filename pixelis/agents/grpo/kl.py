"""Estimators of the Kullback-Leibler divergence KL(pi || pi_ref) from tokens that pi sampled.

With ``d = log pi_ref(y) - log pi(y)`` at a sampled token ``y``; all are 0 where the two policies agree.
Source: Schulman 2020, "Approximating KL divergence" (joschu.net/blog/kl-approx.html).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def k1(logprobs: Tensor, reference_logprobs: Tensor) -> Tensor:
    """Return ``-d``: unbiased, high variance, may be negative.

    Args:
        logprobs: of the policy, float [B, T].
        reference_logprobs: of the reference, float [B, T].

    Returns:
        float [B, T].
    """
    return -_difference(logprobs, reference_logprobs)


def k2(logprobs: Tensor, reference_logprobs: Tensor) -> Tensor:
    """Return ``d² / 2``: biased, low variance, never negative; shapes as in `k1`."""
    return _difference(logprobs, reference_logprobs) ** 2 / 2


def k3(logprobs: Tensor, reference_logprobs: Tensor) -> Tensor:
    """Return ``exp(d) - d - 1``: unbiased, low variance, never negative; shapes as in `k1`.

    It is GRPO's penalty (Shao et al. 2024, arXiv 2402.03300, eq. 4).
    """
    difference = _difference(logprobs, reference_logprobs)
    return torch.expm1(difference) - difference


def _difference(logprobs: Tensor, reference_logprobs: Tensor) -> Tensor:
    if logprobs.shape != reference_logprobs.shape:
        raise ValueError(
            f"logprobs and reference_logprobs must share a shape, got {tuple(logprobs.shape)}, "
            f"{tuple(reference_logprobs.shape)}"
        )
    return reference_logprobs - logprobs


KLFunction = Callable[[Tensor, Tensor], Tensor]
KL_ESTIMATORS: dict[str, KLFunction] = {"k1": k1, "k2": k2, "k3": k3}
