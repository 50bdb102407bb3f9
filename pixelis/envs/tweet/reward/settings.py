"""The settings of a tweet reward, and what a score holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pixelis.envs.tweet.reward.gates import GateLimits
from pixelis.envs.tweet.reward.presets import MEANS, PARTS, PRESETS, WEIGHTS
from pixelis.errors import ConfigError, suggest
from pixelis.rewards.text.encoders import Embed

Judge = Callable[[Sequence[tuple[str, str]]], Sequence[float]]
"""From pairs of tweet and raw reply to a number in [0, 1] each."""


@dataclass(frozen=True)
class TweetRewardSettings:
    """Settings.

    Attributes:
        preset: ``robust``, or ``classic`` for comparison with the prior work.
        weights: of the six parts, each at least 0, together 1.
        limits: what the gates let through.
        encoder: ``minilm``, ``hashed`` (compares words only; its cosines are not MiniLM's), or a function
            from n texts to n vectors.
        cache_size: texts whose embeddings are kept.
        threads: of MiniLM's runtime.
        faults: whether the fitted fault heads have a say in ``robust``; they know the vectors of ``minilm``
            only, so with another encoder they never have.
        judge_weight: share in [0, 1] that a judge has in the points of a reply that no gate stops.
        judge_mean: ``arithmetic``; ``harmonic``, which asks for the favour of both; ``product``, by which a
            judge can only take away.
    """

    preset: str = "robust"
    weights: Mapping[str, float] = field(default_factory=lambda: dict(WEIGHTS))
    limits: GateLimits = field(default_factory=GateLimits)
    encoder: str | Embed = "minilm"
    cache_size: int = 4096
    threads: int = 1
    faults: bool = True
    judge_weight: float = 0.5
    judge_mean: str = "arithmetic"

    def __post_init__(self) -> None:
        if self.preset not in PRESETS:
            raise ConfigError(f"there is no preset {self.preset!r}.{suggest(str(self.preset), PRESETS)}")
        if set(self.weights) != set(PARTS):
            raise ConfigError(
                f"weights: expected one for each of {', '.join(PARTS)}; got {sorted(self.weights)}"
            )
        if any(not weight >= 0 for weight in self.weights.values()) or not math.isclose(
            sum(self.weights.values()), 1, abs_tol=1e-6
        ):
            raise ConfigError(
                f"weights: expected numbers of at least 0 that add up to 1, got {dict(self.weights)}; "
                f"divide by their sum"
            )
        if not 0 <= self.judge_weight <= 1:
            raise ConfigError(f"judge_weight: expected a share in [0, 1], got {self.judge_weight!r}")
        if self.judge_mean not in MEANS:
            raise ConfigError(
                f"there is no judge_mean {self.judge_mean!r}.{suggest(str(self.judge_mean), MEANS)}"
            )


@dataclass(frozen=True)
class TweetScore:
    """What a reply is worth, and why.

    Attributes:
        total: in [−1, 1]: points in [0, 1] of a reply that no gate stops; else minus the dearest gate's
            penalty. Only differences between replies mean anything.
        parts: name → value in [0, 1] of each of the six parts, also of a reply that a gate stops.
        gates: names of the gates that stopped it.
        cosine: of the two embeddings.
        encoder: which encoder made them.
        faults: fault → probability in [0, 1], of the fitted heads; empty where they have no say.
        judged: what the judge gave; None without one, or when a gate had closed before.
        specificity: to which share in [0, 1] of many posts the reply is less near than to its tweet; None
            where the fault heads have no say.
    """

    total: float
    parts: Mapping[str, float]
    gates: tuple[str, ...]
    cosine: float
    encoder: str
    faults: Mapping[str, float] = field(default_factory=dict)
    judged: float | None = None
    specificity: float | None = None

    def metrics(self) -> dict[str, float]:
        """Return parts, cosine, faults and one 0 or 1 for each gate that closed, as numbers by name."""
        flags = {f"gate_{name}": 1.0 for name in self.gates}
        asked = {"judged": self.judged, "specificity": self.specificity}
        known = {name: value for name, value in asked.items() if value is not None}
        faults = {f"fault_{name}": chance for name, chance in self.faults.items()}
        gated = float(bool(self.gates))
        return {**self.parts, "cosine": self.cosine, "gated": gated, **flags, **faults, **known}
