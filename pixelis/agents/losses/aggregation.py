"""Aggregations: how the losses of tokens become one number.

Each divides by counts of the *whole optimiser step*, never by what happens to be in one micro-batch. The sum
over micro-batches is therefore the loss of the step, and its gradient does not depend on how the step was
split.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from pixelis.registry import Registry


@dataclass(frozen=True)
class StepCounts:
    """What one optimiser step covers.

    Episodes of groups without reward variance are counted although they are not trained on: their loss would
    be 0, so leaving them out of the pass is a saving and not a change of the gradient.

    Attributes:
        tokens: sampled tokens of all valid episodes, N.
        sequences: number of valid episodes, B.
        max_completion_length: the longest completion that the settings allow, in tokens, L.
    """

    tokens: int
    sequences: int
    max_completion_length: int

    def __post_init__(self) -> None:
        """Check the ranges."""
        if min(self.tokens, self.sequences, self.max_completion_length) < 1:
            raise ValueError(f"every count of a step must be at least 1, got {self}")


AggregationFunction = Callable[[Tensor, Tensor, StepCounts], Tensor]
AGGREGATIONS: Registry[AggregationFunction] = Registry("aggregation")


@AGGREGATIONS.register("token_mean")
def token_mean(values: Tensor, mask: Tensor, counts: StepCounts) -> Tensor:
    """Return ``sum_bt v[b, t] m[b, t] / N``: every token weighs the same.

    Args:
        values: float [b, T], the rows of one micro-batch.
        mask: bool [b, T], True where the policy sampled the token.
        counts: of the whole step, see `StepCounts`.

    Returns:
        The micro-batch's share of the loss, a scalar.

    Source: Yu et al. 2025, DAPO (arXiv 2503.14476), eq. 12.
    """
    _check(values, mask)
    return (values * mask).sum() / counts.tokens


@AGGREGATIONS.register("sequence_mean")
def sequence_mean(values: Tensor, mask: Tensor, counts: StepCounts) -> Tensor:
    """Return ``sum_b (mean of v[b] over its sampled tokens) / B``: every episode weighs the same.

    Arguments as in `token_mean`. Source: Shao et al. 2024, DeepSeekMath (arXiv 2402.03300), eq. 3.
    """
    _check(values, mask)
    lengths = mask.sum(dim=1).clamp(min=1)
    return ((values * mask).sum(dim=1) / lengths).sum() / counts.sequences


@AGGREGATIONS.register("constant")
def constant(values: Tensor, mask: Tensor, counts: StepCounts) -> Tensor:
    """Return ``sum_bt v[b, t] m[b, t] / (B L)``: no dependence on the lengths that were sampled.

    Arguments as in `token_mean`. Source: Liu et al. 2025, Dr. GRPO (arXiv 2503.20783), section 3.2.
    """
    _check(values, mask)
    return (values * mask).sum() / (counts.sequences * counts.max_completion_length)


def _check(values: Tensor, mask: Tensor) -> None:
    if values.shape != mask.shape or values.ndim != 2:
        raise ValueError(
            f"values and mask must share a shape [B, T], got {tuple(values.shape)} and {tuple(mask.shape)}"
        )
