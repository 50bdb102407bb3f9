"""Off-policy correction: what to do where the distribution that sampled is not the one that is trained.

They differ when weights or cache were rounded otherwise while sampling, when nucleus sampling cut the tail
off, and when episodes are replayed. Two things are then kept apart (Hilton et al. 2021, arXiv 2110.00641):

- how far one update may move the policy is measured from the policy with which the update *began*, by the
  surrogate's ratio ``pi / pi_began``;
- the bias of the samples is weighed out by ``v = pi_began / pi_sampler``, a constant, cut by a function here.

Without a correction the ratio is ``pi / pi_sampler`` and does both at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from pixelis.registry import Registry

LEVELS = ("token", "sequence")
SAFE_LOG_WEIGHT = 20.0  # exp(2 x 20) is still far from overflowing in float32

CorrectionFunction = Callable[[Tensor, float], Tensor]
CORRECTIONS: Registry[CorrectionFunction] = Registry("correction")


@CORRECTIONS.register("truncate")
def truncate(weights: Tensor, cap: float) -> Tensor:
    """Return ``min(v, cap)``: truncated importance sampling (TIS).

    Args:
        weights: v >= 0, any shape.
        cap: >= 1.

    Source: Ionides 2008, Truncated Importance Sampling; for language models Yao et al. 2025, "Your efficient
    RL framework secretly brings you off-policy RL training" (fengyao.notion.site/off-policy-rl).
    """
    return weights.clamp(max=cap)


@CORRECTIONS.register("mask")
def mask_out(weights: Tensor, cap: float) -> Tensor:
    """Return v where ``v <= cap`` and 0 elsewhere: masked importance sampling (MIS).

    What is too far off is not trained on at all. Arguments as in `truncate`. Source: Liu et al. 2025, "When
    speed kills stability" (richardli.xyz/rl-collapse).
    """
    return torch.where(weights <= cap, weights, 0.0)


def log_weights(began: Tensor, sampler: Tensor, inside: Tensor, level: str) -> Tensor:
    """Return ``log v``, of each token or of the whole sequence.

    Args:
        began: log-probabilities under the policy with which the update began, float [B, T].
        sampler: recorded when sampling, float [B, T].
        inside: bool [B, T], True where the policy sampled the token.
        level: ``token``, or ``sequence`` for the sum over the row.

    Returns:
        float [B, T] without gradient, 0 outside the mask, never above 20; for ``sequence`` each row holds its
        one value at every sampled token.
    """
    if level not in LEVELS:
        raise ValueError(f"level must be one of {LEVELS}, got {level!r}")
    difference = torch.where(inside, began.detach() - sampler, 0.0)
    if level == "sequence":
        difference = torch.where(inside, difference.sum(dim=1, keepdim=True), 0.0)
    return difference.clamp(max=SAFE_LOG_WEIGHT)


@dataclass(frozen=True)
class Importance:
    """Sums over the weights ``v`` of a batch, from which its effective size follows; they can be added.

    Attributes:
        tokens: number of sampled tokens.
        token_weights: sum of their weights.
        token_squares: sum of the squared weights.
        sequences: number of rows with a sampled token.
        sequence_weights: sum of their weights, each the product over its tokens.
        sequence_squares: sum of the squared weights.
    """

    tokens: float = 0.0
    token_weights: float = 0.0
    token_squares: float = 0.0
    sequences: float = 0.0
    sequence_weights: float = 0.0
    sequence_squares: float = 0.0

    @classmethod
    def of(cls, began: Tensor, sampler: Tensor, inside: Tensor) -> Importance:
        """Return the sums of a micro-batch; arguments as in `log_weights`."""
        tokens = log_weights(began, sampler, inside, "token").exp() * inside
        rows = inside.any(dim=1)
        total = torch.where(inside, began.detach() - sampler, 0.0).sum(dim=1)
        sequences = total.clamp(max=SAFE_LOG_WEIGHT).exp() * rows
        sums = (inside, tokens, tokens**2, rows, sequences, sequences**2)
        return cls(*torch.stack([each.sum().to(tokens.dtype) for each in sums]).tolist())

    def __add__(self, other: Importance) -> Importance:
        """Return the sums of both batches together."""
        return Importance(
            self.tokens + other.tokens,
            self.token_weights + other.token_weights,
            self.token_squares + other.token_squares,
            self.sequences + other.sequences,
            self.sequence_weights + other.sequence_weights,
            self.sequence_squares + other.sequence_squares,
        )

    @property
    def effective_tokens(self) -> float | None:
        """Effective sample size ``(sum v)² / sum v²`` as a share of the tokens, in (0, 1]; None of nothing.

        Source: Kong 1992; Owen 2013, Monte Carlo theory, section 9.3.
        """
        return _share(self.tokens, self.token_weights, self.token_squares)

    @property
    def effective_sequences(self) -> float | None:
        """The same of whole sequences, as a share of their number."""
        return _share(self.sequences, self.sequence_weights, self.sequence_squares)

    @property
    def chi_squared(self) -> float | None:
        """Estimate ``mean v² - 1`` of the chi² divergence of a token's policy from its sampler."""
        return self.token_squares / self.tokens - 1 if self.tokens else None


def _share(count: float, weights: float, squares: float) -> float | None:
    return weights**2 / (count * squares) if count and squares else None
