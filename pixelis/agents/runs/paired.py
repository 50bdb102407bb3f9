"""Two agents on the same tasks: what one gains over the other, with intervals, and an exact test."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.runs.evaluate import task_of, wilson_interval
from pixelis.errors import ConfigError

RESAMPLES = 10_000
_COUNTS = ("both", "only_a", "only_b", "neither")


@dataclass(frozen=True)
class PairedComparison:
    """What agent B reached minus what agent A reached on the same tasks.

    Attributes:
        pairs: pairs of episodes that counted.
        left_out: pairs in which the infrastructure failed for one of the two; they do not count.
        both: pairs that both solved.
        only_a: pairs that only A solved.
        only_b: pairs that only B solved.
        neither: pairs that nobody solved.
        difference: success rate of B minus that of A, in [-1, 1]; NaN without pairs, and where the
            environment does not say who succeeded.
        interval: its 95 % interval, see `newcombe_interval`, in which a task that was played more than once
            counts once; two NaN where the environment does not say.
        p_value: see `mcnemar_p`, of the tasks that either solved more often; NaN likewise.
        reward_difference: mean reward of B minus that of A; NaN without pairs.
        reward_interval: its 95 % interval, see `bootstrap_interval`.
        tasks: how many different tasks the pairs are of.
    """

    pairs: int
    left_out: int
    both: int
    only_a: int
    only_b: int
    neither: int
    difference: float
    interval: tuple[float, float]
    p_value: float
    reward_difference: float
    reward_interval: tuple[float, float]
    tasks: int

    @property
    def says_success(self) -> bool:
        """Whether the environment says who succeeded."""
        return not math.isnan(self.p_value)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON-able values, what is no finite number as None."""
        row = {**asdict(self), "interval": list(self.interval), "reward_interval": list(self.reward_interval)}
        if not self.says_success:
            row |= dict.fromkeys((*_COUNTS, "difference", "interval", "p_value"))
        if not self.pairs:
            row |= {"difference": None, "reward_difference": None, "reward_interval": None}
        return row


def compare(a: Sequence[Episode], b: Sequence[Episode]) -> PairedComparison:
    """Compare the episodes of two agents, the i-th of both on the same task.

    Raises:
        ConfigError: they are not of the same tasks.
    """
    if [each.seed for each in a] != [each.seed for each in b]:
        raise ConfigError("a paired comparison needs episodes of the same seeds in the same order")
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if x.valid_for_training and y.valid_for_training]
    judged = [(x, y) for x, y in pairs if not (x.is_unlabelled or y.is_unlabelled)]
    counts = Counter((bool(x.success), bool(y.success)) for x, y in judged)
    table = counts[True, True], counts[True, False], counts[False, True], counts[False, False]
    gains: dict[Hashable, list[float]] = {}
    leads: Counter[Hashable] = Counter()
    for x, y in pairs:
        gains.setdefault(task_of(x), []).append(y.reward - x.reward)
    for x, y in judged:
        leads[task_of(x)] += bool(y.success) - bool(x.success)
    scale = len(leads) / len(judged) if judged else 1.0
    silent = bool(pairs) and all(one.success is None for pair in judged for one in pair)
    return PairedComparison(
        len(pairs),
        len(a) - len(pairs),
        *table,
        difference=(table[2] - table[1]) / len(judged) if judged and not silent else math.nan,
        interval=(math.nan, math.nan) if silent else newcombe_interval(*(count * scale for count in table)),
        p_value=math.nan
        if silent
        else mcnemar_p(sum(lead < 0 for lead in leads.values()), sum(lead > 0 for lead in leads.values())),
        reward_difference=float(np.mean([y.reward - x.reward for x, y in pairs])) if pairs else math.nan,
        reward_interval=bootstrap_interval([*gains.values()]),
        tasks=len(gains),
    )


def newcombe_interval(both: float, only_a: float, only_b: float, neither: float) -> tuple[float, float]:
    """Return the 95 % interval of p_B - p_A of paired proportions; (-1, 1) without pairs.

    Method 10 of Newcombe 1998, "Improved confidence intervals for the difference between binomial proportions
    based on paired data" (Statistics in Medicine 17, 2635-2650): Wilson's intervals (l, u) of both
    proportions, put together with their correlation φ:
    d - √((p_B - l_B)² - 2 φ (p_B - l_B)(u_A - p_A) + (u_A - p_A)²), and likewise above. φ is that of the
    2 x 2 table, its numerator lessened by n/2 when positive, down to 0 at least; 0 where a margin is empty.
    """
    n = both + only_a + only_b + neither
    if n == 0:
        return -1.0, 1.0
    a, b = (both + only_a) / n, (both + only_b) / n
    (low_a, high_a), (low_b, high_b) = wilson_interval(both + only_a, n), wilson_interval(both + only_b, n)
    margins = (both + only_a) * (only_b + neither) * (both + only_b) * (only_a + neither)
    cross = both * neither - only_a * only_b
    phi = (max(cross - n / 2, 0.0) if cross > 0 else cross) / math.sqrt(margins) if margins else 0.0
    below = _joined(b - low_b, high_a - a, phi)
    above = _joined(high_b - b, a - low_a, phi)
    return max(-1.0, b - a - below), min(1.0, b - a + above)


def mcnemar_p(only_a: int, only_b: int) -> float:
    """Return the exact two-sided p-value of "both solve equally often" (McNemar 1947), in (0, 1].

    Under it, each of the k tasks that one agent alone solved is A's or B's by a fair coin:
    min(1, 2 P[Binomial(k, 1/2) <= min(only_a, only_b)]).
    """
    k = only_a + only_b
    tail = sum(math.comb(k, i) for i in range(min(only_a, only_b) + 1))
    return min(1.0, 2 * tail / 2**k)


def bootstrap_interval(
    differences: Sequence[Sequence[float]], *, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[float, float]:
    """Return the 95 % percentile interval of a mean of paired differences (Efron 1979); tasks are drawn anew.

    Args:
        differences: of n tasks those of their episodes; (-inf, inf) without any.
        resamples: how many samples of n tasks are drawn.
        seed: of the draws.
    """
    if len(differences) == 0:
        return -math.inf, math.inf
    rng, count = np.random.default_rng(seed), len(differences)
    sums, episodes = np.array([[math.fsum(task), len(task)] for task in differences]).T
    drawn = (rng.choice(count, count) for _ in range(resamples))
    means = [sums[tasks].sum() / episodes[tasks].sum() for tasks in drawn]
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def _joined(x: float, y: float, phi: float) -> float:
    return math.sqrt(max(0.0, x * x - 2 * phi * x * y + y * y))
