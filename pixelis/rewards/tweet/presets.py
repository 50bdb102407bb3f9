"""The two sets of formulas, their weights, and how parts become a total."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pixelis.rewards.tweet import classic, robust
from pixelis.rewards.tweet.gates import Pair

PARTS = ("relevance", "length", "sentiment", "diversity", "punctuation", "engagement")
WEIGHTS: Mapping[str, float] = dict(zip(PARTS, (0.30, 0.15, 0.15, 0.10, 0.10, 0.20), strict=True))
"""The prior work's weights; both presets have them."""
STYLE_FLOOR = 0.1
"""Share of the style points that a reply without relevance earns in the robust preset."""
TONE_FLOOR = 0.4
"""Share of all its points that a hostile or tone-deaf reply keeps in the robust preset."""

Part = Callable[[Pair], float]


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
    total: Callable[[Pair, Mapping[str, float], Mapping[str, float]], float]


def _classic_total(pair: Pair, parts: Mapping[str, float], weights: Mapping[str, float]) -> float:
    guarded = classic.guard(pair.reply.raw)
    return _weighted(parts, weights) if guarded is None else guarded


def _robust_total(pair: Pair, parts: Mapping[str, float], weights: Mapping[str, float]) -> float:
    relevance = parts["relevance"]
    relevant = weights["relevance"] * relevance
    style = _weighted(parts, weights) - relevant
    earned = relevant + style * (STYLE_FLOOR + (1 - STYLE_FLOOR) * relevance)
    return max(0.0, earned * (TONE_FLOOR + (1 - TONE_FLOOR) * parts["sentiment"]))


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
