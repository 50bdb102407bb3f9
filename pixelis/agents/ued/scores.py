"""How much can be learnt from a level, and how often levels of such scores are drawn: formulas alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def learnability(successes: int, members: int) -> float:
    """Return k (G - k) / (G (G - 1)), the unbiased estimate of p (1 - p) from k successes of G.

    p (1 - p) is the score of sampling for learnability (Rutherford et al. 2024, arXiv 2408.15099, section 4);
    E[k (G - k)] = G (G - 1) p (1 - p) for a binomial k. It is 0 exactly where all members agree, which is
    where a group has no gradient.

    Args:
        successes: k, in [0, G].
        members: G, at least 2.

    Returns:
        in [0, 1/2]; above 1/4 by chance only.

    Raises:
        ValueError: k or G is out of range.
    """
    if members < 2 or not 0 <= successes <= members:
        raise ValueError(f"expected 0 <= successes <= members and members >= 2, got {successes} of {members}")
    return successes * (members - successes) / (members * (members - 1))


def positive_advantage(returns: Sequence[float]) -> float:
    """Return mean_i max(R_i - mean R, 0), at least 0, in units of return; of at least one return.

    The positive value loss of PLR (Jiang et al. 2021, arXiv 2110.02439, appendix) with the group's mean for
    the value. For returns of 0 and 1 it is p (1 - p) of the group.
    """
    values = np.asarray(returns, float)
    return float(np.maximum(values - values.mean(), 0.0).mean())


def beta_mean(successes: float, members: float) -> float:
    """Return the mean (1 + k) / (2 + n) of the posterior of a success rate under Beta(1, 1), in (0, 1)."""
    return (1.0 + successes) / (2.0 + members)


def beta_spread(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return E[p (1 - p)] = a b / ((a + b) (a + b + 1)) for p from Beta(a, b), in (0, 1/4)."""
    return a * b / ((a + b) * (a + b + 1.0))


PRIOR_LEARNABILITY = 1 / 6
"""E[p (1 - p)] for p from Beta(1, 1): the learnability of what was never played."""


def smoothed_learnability(total: float, groups: float) -> float:
    """Return (1/6 + sum of learnabilities) / (1 + groups): a mean in which the prior counts as one group."""
    return (PRIOR_LEARNABILITY + total) / (1.0 + groups)


def band_weight(rates: np.ndarray | float, low: float, high: float) -> np.ndarray:
    """Return how well success rates suit a target band: 1 inside, falling linearly to 0 at rates 0 and 1.

    Args:
        rates: in [0, 1], of any shape.
        low: lower end of the band, in [0, high].
        high: its upper end, in [low, 1).
    """
    values = np.asarray(rates, float)
    below = np.minimum(values, low) / low if low > 0 else 1.0
    return below * (1.0 - np.maximum(values, high)) / (1.0 - high)


def rank_weights(scores: Sequence[tuple[float, float]], beta: float) -> np.ndarray:
    """Return P_S: probabilities w_i / sum w with w_i = (1 / rank_i) ** (1 / beta).

    Rank 1 is the highest score; ties of the first number are broken by the second, then by place.

    Args:
        scores: (score, tie-break) of each level, at least one.
        beta: temperature, above 0; towards 0 the best is drawn always, towards infinity all are equal.

    Returns:
        float64 [n].

    Source: Jiang et al. 2020, Prioritized Level Replay (arXiv 2010.03934), section 3.1.
    """
    order = sorted(range(len(scores)), key=lambda place: (-scores[place][0], -scores[place][1], place))
    ranks = np.empty(len(scores))
    ranks[order] = np.arange(1, len(scores) + 1)
    # normalised in logarithms: a small beta makes powers that underflow, all but the first
    logs = -np.log(ranks) / beta
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def proportional_weights(scores: np.ndarray, beta: float) -> np.ndarray:
    """Return probabilities s_i ** (1 / beta) / sum s ** (1 / beta), float64 [..., n], of scores above 0.

    Beta is a temperature as in `rank_weights`. Source: arXiv 2010.03934, section 3.1, "proportional".
    """
    logs = np.log(scores) / beta
    weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def staleness_weights(ages: Sequence[float]) -> np.ndarray:
    """Return P_C: ages c_i / sum c, uniform where all are 0; float64 [n].

    Args:
        ages: c_i >= 0, what was drawn since level i last was.

    Source: arXiv 2010.03934, section 3.2.
    """
    values = np.asarray(ages, float)
    total = values.sum()
    return values / total if total > 0 else np.full(len(values), 1 / len(values))


def replay_weights(
    scores: Sequence[tuple[float, float]], ages: Sequence[float], beta: float, rho: float
) -> np.ndarray:
    """Return (1 - rho) P_S + rho P_C, float64 [n] (arXiv 2010.03934, equation 1); rho in [0, 1]."""
    return (1.0 - rho) * rank_weights(scores, beta) + rho * staleness_weights(ages)
