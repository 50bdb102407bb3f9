"""How good and how honest the probabilities of a preference model are."""

from __future__ import annotations

import numpy as np

BINS = 10
_RANGE = (0.01, 100.0)  # of temperatures


def sigmoid(values: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + e^−x) without overflow."""
    return 0.5 * (1 + np.tanh(0.5 * np.asarray(values, dtype=np.float64)))


def preference_loss(margins: np.ndarray, temperature: float = 1.0) -> float:
    """Return the mean of −ln σ(Δ / T), nats, over margins Δ = s(chosen) − s(rejected), float [n].

    The likelihood of Bradley and Terry (1952), as reward models use it (Ouyang et al. 2022,
    arXiv:2203.02155).
    """
    return float(np.logaddexp(0, -np.asarray(margins) / temperature).mean())


def fit_temperature(margins: np.ndarray) -> float:
    """Return the T in [0.01, 100] that minimises `preference_loss`, to a relative 1e-4.

    One number for all pairs cannot change which reply is preferred (Guo et al. 2017, arXiv:1706.04599,
    section 4.2). The loss is convex in 1 / T, so golden-section search finds the minimum.
    """
    low, high = 1 / _RANGE[1], 1 / _RANGE[0]
    shrink = (np.sqrt(5) - 1) / 2
    while high / low > 1 + 1e-4:
        left, right = high - shrink * (high - low), low + shrink * (high - low)
        if preference_loss(margins, 1 / left) < preference_loss(margins, 1 / right):
            high = right
        else:
            low = left
    return float(2 / (low + high))


def accuracy(margins: np.ndarray) -> float:
    """Return the share of pairs whose better reply scores higher; a tie counts half."""
    margins = np.asarray(margins)
    return float((margins > 0).mean() + 0.5 * (margins == 0).mean())


def calibration_error(margins: np.ndarray, temperature: float = 1.0, bins: int = BINS) -> float:
    """Return the expected calibration error of the preferred reply's probability, [0, 1].

    Σ over bins of n_b / n · |accuracy_b − mean confidence_b|, with the confidence max(σ(Δ/T), 1 − σ(Δ/T)) in
    equal bins from 0.5 to 1 (Naeini et al. 2015; Guo et al. 2017, arXiv:1706.04599, eq. 3).
    """
    margins = np.asarray(margins, dtype=np.float64)
    confidence = sigmoid(np.abs(margins) / temperature)
    right = (margins > 0) + 0.5 * (margins == 0)
    place = np.minimum(((confidence - 0.5) * 2 * bins).astype(int), bins - 1)
    gaps = [abs((right - confidence)[place == one].sum()) for one in range(bins)]
    return float(sum(gaps) / len(margins))


def area_under_curve(good: np.ndarray, bad: np.ndarray) -> float:
    """Return the chance that a good score is above a bad one, ties counted half; NaN if a side is empty."""
    if not len(good) or not len(bad):
        return float("nan")
    above = np.asarray(good)[:, None] - np.asarray(bad)[None, :]
    return float(((above > 0) + 0.5 * (above == 0)).mean())
