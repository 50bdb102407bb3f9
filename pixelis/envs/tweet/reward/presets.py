"""The two sets of formulas, their weights, and how parts become a total."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pixelis.envs.tweet.reward import classic, robust
from pixelis.envs.tweet.reward.gates import ReplyPair

PARTS = ("relevance", "length", "sentiment", "diversity", "punctuation", "engagement")
"""What a reply is scored by besides its gates."""
WEIGHTS: Mapping[str, float] = dict(zip(PARTS, (0.30, 0.15, 0.15, 0.10, 0.10, 0.20), strict=True))
"""The prior work's weights; both presets have them."""
STYLE_FLOOR = 0.1
"""Share of the style points that a reply without relevance earns in the robust preset."""
TONE_FLOOR = 0.4
"""Share of all its points that a hostile or tone-deaf reply keeps in the robust preset."""

Part = Callable[[ReplyPair], float]


@dataclass(frozen=True)
class Preset:
    """Formulas that belong together.

    Attributes:
        parts: name → part, each in [0, 1].
        gated: whether gates come before the points.
        total: from a pair, its parts and the weights to a number in [0, 1].
    """

    parts: Mapping[str, Part]
    gated: bool
    total: Callable[[ReplyPair, Mapping[str, float], Mapping[str, float]], float]


def _classic_total(pair: ReplyPair, parts: Mapping[str, float], weights: Mapping[str, float]) -> float:
    guarded = classic.guard(pair.reply.raw)
    return _weighted(parts, weights) if guarded is None else guarded


def _robust_total(pair: ReplyPair, parts: Mapping[str, float], weights: Mapping[str, float]) -> float:
    relevance = parts["relevance"]
    relevant = weights["relevance"] * relevance
    style = _weighted(parts, weights) - relevant
    earned = relevant + style * (STYLE_FLOOR + (1 - STYLE_FLOOR) * relevance)
    points = max(0.0, earned * (TONE_FLOOR + (1 - TONE_FLOOR) * parts["sentiment"]))
    return harmonic(points, faultless(pair), 0.5) if pair.faults else points


def faultless(pair: ReplyPair) -> float:
    """Return the product of 1 − `doubt` over the faults of a pair: [0, 1]; 1 where no heads have looked."""
    return math.prod(1 - robust.doubt(chance) for chance in pair.faults.values())


def arithmetic(points: float, judged: float, weight: float) -> float:
    """Return (1 − w) · points + w · judged."""
    return (1 - weight) * points + weight * judged


def harmonic(points: float, judged: float, weight: float) -> float:
    """Return 1 / ((1 − w) / points + w / judged): near the lower of the two, 0 where one is 0.

    What one of the two is taken in by is then worth little, as in F-measures (van Rijsbergen 1979). A weight
    of 0 or 1 gives points or judged alone.
    """
    if weight in (0, 1):
        return judged if weight else points
    return points / ((1 - weight) + weight * (points / judged)) if judged else 0.0


def product(points: float, judged: float, weight: float) -> float:
    """Return points · (1 − w + w · judged): never more than points, for a judge who knows faults alone."""
    return points * (1 - weight + weight * judged)


MEANS: Mapping[str, Callable[[float, float, float], float]] = {
    "arithmetic": arithmetic,
    "harmonic": harmonic,
    "product": product,
}
"""Ways of joining the points of a preset, the number of a judge and the judge's weight: in [0, 1]."""


def _weighted(parts: Mapping[str, float], weights: Mapping[str, float]) -> float:
    return min(1.0, max(0.0, sum(weights[name] * parts[name] for name in PARTS)))


PRESETS: Mapping[str, Preset] = {
    "classic": Preset(
        {
            "relevance": classic.relevance,
            "length": classic.length,
            "sentiment": classic.sentiment_match,
            "diversity": classic.diversity,
            "punctuation": classic.punctuation,
            "engagement": classic.engagement,
        },
        gated=False,
        total=_classic_total,
    ),
    "robust": Preset(
        {
            "relevance": robust.relevance,
            "length": robust.length,
            "sentiment": robust.tone,
            "diversity": robust.diversity,
            "punctuation": robust.punctuation,
            "engagement": robust.engagement,
        },
        gated=True,
        total=_robust_total,
    ),
}
