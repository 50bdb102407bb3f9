"""Fitting the fault heads: weighted logistic regression, calibrated on cases it did not see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pixelis.envs.tweet.learned.calibration import area_under_curve, sigmoid
from pixelis.envs.tweet.learned.faults import FAULTS, FaultModel, seen_columns

FOLDS = 5
PENALTY = 0.1
"""Of the squared weights of standardised features, λ in mean loss + λ/2 · |w|²; chosen between topics."""
RARITY = {"abuse": 1.0, "tone_deaf": 1.0, "untrue": 1.0, "off_topic": 1.0, "stock": 0.0}
"""Subtracted from each log-odds: among replies single faults are rarer than among the cases; but what a
policy is drawn to first, sentences that fit anywhere, is not."""


def fit_faults(
    features: np.ndarray,
    kinds: Sequence[str],
    groups: Sequence[str],
    *,
    probe: np.ndarray,
    posts: np.ndarray,
    encoder: str,
    seed: int = 0,
) -> FaultModel:
    """Return heads that tell each fault from good replies.

    Each head is fitted to the good replies and those with its fault, both classes with the same weight. The
    log-odds are then scaled and shifted to fit cases whose group had no part in the fit (Platt 1999), in five
    folds of whole groups, because a head is surer of what it was fitted to than it should be.

    Args:
        features: of `fault_features`, [n, w].
        kinds: a name of `FAULTS`, or ``good``.
        groups: what a fold must not tear apart, such as the topic.
        probe: the encoder's vector of `PROBE`.
        posts: the encoder's vectors of posts to compare replies with, [m, d].
        encoder: its name.
        seed: decides the folds.
    """
    kind, group = np.array(kinds), np.array(groups)
    names = np.unique(group)
    fold_of = dict(zip(names.tolist(), np.random.default_rng(seed).permutation(len(names)), strict=True))
    fold = np.array([fold_of[one] % FOLDS for one in group.tolist()])
    weights, bias = np.zeros((len(FAULTS), features.shape[1])), np.zeros(len(FAULTS))
    facts: dict[str, Any] = {"cases": {one: int((kind == one).sum()) for one in ("good", *FAULTS)}}
    facts |= {"seed": seed, "auc_unseen_groups": {}}
    for place, fault in enumerate(FAULTS):
        rows = np.flatnonzero((kind == fault) | (kind == "good"))
        seen, bad = seen_columns(fault, features.shape[1]), kind[rows] == fault
        mine, margins = features[np.ix_(rows, seen)], np.zeros(len(rows))
        for number in range(FOLDS):
            out = fold[rows] == number
            one, shift = fit_logistic(mine[~out], bad[~out], PENALTY)
            margins[out] = mine[out] @ one + shift
        slope, lift = fit_logistic(margins[:, None], bad, 0.0)
        one, shift = fit_logistic(mine, bad, PENALTY)
        weights[place, seen] = one * slope[0]
        bias[place] = shift * slope[0] + lift - RARITY[fault]
        facts["auc_unseen_groups"][fault] = round(area_under_curve(margins[bad], margins[~bad]), 3)
    return FaultModel(weights, bias, probe, posts, encoder, facts)


def fit_logistic(features: np.ndarray, bad: np.ndarray, penalty: float) -> tuple[np.ndarray, float]:
    """Return weights [d] and bias of a logistic regression in which both classes weigh the same.

    Minimises the weighted mean of the log loss + penalty / 2 · |w|² over standardised features, by Newton's
    method, and gives the weights for the features as they are. The problem is convex.

    Args:
        features: [n, d].
        bad: which rows are of the class, bool [n].
        penalty: λ of at least 0.
    """
    mean, scale = features.mean(0), features.std(0)
    scale = np.where(scale < 1e-4, 1.0, scale)  # what never varies says nothing
    inputs = np.hstack([(features - mean) / scale, np.ones((len(features), 1))])
    share = np.where(bad, 0.5 / max(1, bad.sum()), 0.5 / max(1, (~bad).sum()))
    ridge = np.full(inputs.shape[1], penalty)
    ridge[-1] = 0.0
    found = np.zeros(inputs.shape[1])
    for _ in range(50):
        chance = sigmoid(inputs @ found)
        slope = inputs.T @ (share * (chance - bad)) + ridge * found
        curve = (inputs * (share * chance * (1 - chance))[:, None]).T @ inputs
        step = np.linalg.solve(curve + np.diag(ridge + 1e-9), slope)
        found = found - step
        if np.abs(step).max() < 1e-8:
            break
    return found[:-1] / scale, float(found[-1] - (found[:-1] * mean / scale).sum())
