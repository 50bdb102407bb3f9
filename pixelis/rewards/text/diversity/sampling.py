"""What a user who may draw k answers gets: Pass@k, best@k and how much of k the differences are worth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pixelis.errors import RewardError


def pass_at_k(samples: int, passing: int, k: int) -> float:
    """Return the probability that at least one of k answers passes, drawn without replacement: [0, 1].

    Unbiased for k independent answers: 1 − C(n − c, k) / C(n, k), as the product 1 − Π_{i=n−c+1}^{n} (1 − k /
    i), which does not overflow; 1 if n − c < k (Chen et al. 2021, arXiv:2107.03374). For several prompts take
    the mean.

    Args:
        samples: n, answers drawn for the prompt.
        passing: c, how many of them pass, 0 to n.
        k: 1 to n.

    Raises:
        RewardError: a number is out of range; k > n cannot be estimated.
    """
    _check_k(samples, k, "pass_at_k")
    if not 0 <= passing <= samples:
        raise RewardError(
            f"pass_at_k: expected 0 to {samples} passing answers, got {passing}; count them again"
        )
    if samples - passing < k:
        return 1.0
    return float(1 - np.prod(1 - k / np.arange(samples - passing + 1, samples + 1)))


def best_at_k(rewards: Sequence[float], k: int) -> float:
    """Return the expected greatest reward of k answers drawn without replacement.

    Σ_i r_(i) C(i − 1, k − 1) / C(n, k) over the n rewards in rising order, i from 1: the i-th is the greatest
    of k if the other k − 1 come from below it. With rewards of 0 and 1 it is Pass@k. Between the mean (k = 1)
    and the maximum (k = n).

    Args:
        rewards: of n answers to one prompt, finite.
        k: 1 to n.

    Raises:
        RewardError: k is out of range or a reward is not finite.
    """
    values = np.sort(np.asarray(rewards, np.float64).ravel())
    count = len(values)
    _check_k(count, k, "best_at_k")
    if not np.isfinite(values).all():
        raise RewardError(
            f"best_at_k: expected finite rewards, got {list(rewards)!r:.80}; find out which part broke"
        )
    # From rank n, C(n-1, k-1) / C(n, k) = k / n, down by C(i-1, k-1) / C(i, k-1) = (i - k + 1) / i.
    weights = np.zeros(count)
    weights[-1] = k / count
    for rank in range(count - 1, k - 1, -1):
        weights[rank - 1] = weights[rank] * (rank - k + 1) / rank
    return float(weights @ values)


def efficiency_ratio(pass_at_1: float, pass_at_k_mean: float, k: int) -> float:
    """Return the diversity-efficiency ratio, Pass@k / (k · Pass@1).

    How much of what k answers could add at most does the set of them add: 1/k for k answers that pass or fail
    together, near 1 if each of them solves other prompts. High Pass@1 bounds it by 1 / (k · Pass@1), so
    compare at like Pass@1. (The measure of github.com/Sohailm25/reply-guyd.)

    Args:
        pass_at_1: mean Pass@1 over the prompts, above 0 to 1.
        pass_at_k_mean: mean Pass@k over the same prompts.
        k: at least 1.

    Raises:
        RewardError: nothing passes, so that there is no ratio; or numbers that cannot be: Pass@1 ≤ Pass@k ≤ k
            · Pass@1.
    """
    if k < 1 or not 0 < pass_at_1 <= 1:
        raise RewardError(
            f"efficiency_ratio: expected k of at least 1 and Pass@1 above 0 to 1, got {k} and {pass_at_1}; "
            "without any success there is no ratio"
        )
    slack = 1e-9
    if not pass_at_1 - slack <= pass_at_k_mean <= min(1.0, k * pass_at_1) + slack:
        raise RewardError(
            f"efficiency_ratio: expected Pass@{k} from {pass_at_1:.4f} to {min(1.0, k * pass_at_1):.4f}, "
            f"got {pass_at_k_mean}; are both over the same answers?"
        )
    return pass_at_k_mean / (k * pass_at_1)


def _check_k(samples: int, k: int, name: str) -> None:
    if not 1 <= k <= samples:
        raise RewardError(
            f"{name}: expected k from 1 to the {samples} answers there are, got {k}; draw more answers"
        )
