"""Estimators of the Kullback-Leibler divergence KL(pi || pi_ref) from tokens that pi sampled.

With ``d = log pi_ref(y) - log pi(y)`` at a sampled token ``y``; all are 0 where the two policies agree.
Source: Schulman 2020, "Approximating KL divergence" (joschu.net/blog/kl-approx.html).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from pixelis.registry import Registry

KLFunction = Callable[[Tensor, Tensor], Tensor]
KL_ESTIMATORS: Registry[KLFunction] = Registry("KL estimator")


@KL_ESTIMATORS.register("k1")
def k1(logprobs: Tensor, reference_logprobs: Tensor) -> Tensor:
    """Return ``-d``: unbiased, high variance, may be negative.

    Args:
        logprobs: of the policy, float [B, T].
        reference_logprobs: of the reference, float [B, T].

    Returns:
        float [B, T].
    """
    return -_difference(logprobs, reference_logprobs)


@KL_ESTIMATORS.register("k2")
def k2(logprobs: Tensor, reference_logprobs: Tensor) -> Tensor:
    """Return ``d² / 2``: biased, low variance, never negative; shapes as in `k1`."""
    return _difference(logprobs, reference_logprobs) ** 2 / 2


@KL_ESTIMATORS.register("k3")
def k3(logprobs: Tensor, reference_logprobs: Tensor) -> Tensor:
    """Return ``exp(d) - d - 1``: unbiased, low variance, never negative; shapes as in `k1`.

    It is GRPO's penalty (Shao et al. 2024, arXiv 2402.03300, eq. 4).
    """
    difference = _difference(logprobs, reference_logprobs)
    return torch.expm1(difference) - difference


def episode_kl(logprobs: Tensor, reference_logprobs: Tensor, mask: Tensor, estimator: str) -> Tensor:
    """Return the KL estimate of whole episodes, to be taken off their rewards.

        KL[b] = sum_t m[b, t] kl[b, t]

    With ``k1`` it is log pi(y) - log pi_ref(y), whose mean is the divergence of the two policies over
    episodes. In the reward nothing is differentiated: the policy gradient of the penalised reward is that of
    the divergence.

    Args:
        logprobs: of the policy that sampled, float [B, T].
        reference_logprobs: of the reference, float [B, T].
        mask: bool [B, T], True where the policy sampled the token.
        estimator: a name in ``KL_ESTIMATORS``.

    Returns:
        float [B].

    Source: Ouyang et al. 2022, InstructGPT (arXiv 2203.02155), eq. 2; Ahmadian et al. 2024 (arXiv
    2402.14740), eq. 2.
    """
    zero = torch.zeros((), dtype=logprobs.dtype, device=logprobs.device)
    inside = (torch.where(mask, each, zero) for each in (logprobs, reference_logprobs))
    return KL_ESTIMATORS.find(estimator)(*inside).sum(dim=1)


def _difference(logprobs: Tensor, reference_logprobs: Tensor) -> Tensor:
    if logprobs.shape != reference_logprobs.shape:
        raise ValueError(
            f"logprobs and reference_logprobs must share a shape, got {tuple(logprobs.shape)}, "
            f"{tuple(reference_logprobs.shape)}"
        )
    return reference_logprobs - logprobs
