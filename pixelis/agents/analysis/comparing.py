"""Whether two subjects differ: on the tasks that both played, pair by pair, by scipy's resampling."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from pixelis.agents.analysis.behaviour import actions_of, loop_of, tokens_of
from pixelis.agents.analysis.outcomes import confidence_of
from pixelis.agents.analysis.subjects import AnalysisSubject
from pixelis.agents.episode_files.stored import StoredEpisode
from pixelis.agents.episodes.behaviour import call_metrics
from pixelis.errors import MissingDependencyError

RESAMPLES = 9_999
_AT_ONCE = 100  # of these, in memory
LEAST_PAIRS = 2
"""Tasks in common below which nothing is compared."""

Measure = Callable[[StoredEpisode], float | None]
MEASURES: Mapping[str, Measure] = {
    "success": lambda episode: None if episode.success is None else float(episode.success),
    "reward": lambda episode: episode.reward,
    "turns": lambda episode: float(episode.turn_count),
    "tokens": lambda episode: None if (count := tokens_of(episode)) is None else float(count),
    "calls": lambda episode: float(len(episode.calls)),
    "failed calls": lambda episode: float(sum(call.get("ok") is False for call in episode.calls)),
    "exploration efficiency": lambda episode: call_metrics([episode.calls], [None])["exploration/efficiency"],
    "looped": lambda episode: float(loop_of(actions_of(episode)) is not None),
    "probability of the answer": confidence_of,
}
"""What is compared: name → its value for an episode, None where it is not known."""


@dataclass(frozen=True)
class MeasureDifference:
    """What B has more of than A, as a mean over the tasks that both played.

    Attributes:
        measure: which of `MEASURES`.
        pairs: tasks; of several episodes on a task the mean counts.
        mean_a: mean of A on these.
        mean_b: mean of B on these.
        difference: ``mean_b - mean_a``.
        low: lower end of its 95 % interval, by the percentiles of a bootstrap over tasks.
        high: upper end.
        p_value: of a permutation test of the signs of the differences, two-sided; 1 where nothing differs.
        adjusted: the same with the false discoveries controlled (Benjamini, Hochberg) among all that differs.
    """

    measure: str
    pairs: int
    mean_a: float
    mean_b: float
    difference: float
    low: float
    high: float
    p_value: float
    adjusted: float = 1.0

    @property
    def differs(self) -> bool:
        """Whether anything differs on any task, the mean or not."""
        return (self.low, self.difference, self.high) != (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Comparison:
    """Two subjects.

    Attributes:
        a: name of A.
        b: name of B.
        differences: by measure.
        missing: what could not be compared, and why.
    """

    a: str
    b: str
    differences: tuple[MeasureDifference, ...]
    missing: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON-able values."""
        return asdict(self)


def pairs_of(subjects: Sequence[AnalysisSubject]) -> list[tuple[AnalysisSubject, AnalysisSubject]]:
    """Return who is compared: a run before and after training, and the same player of two runs.

    What two runs did before they trained is no question, unless nothing else is there.
    """
    only_before = {subject.phase for subject in subjects} == {"before"}
    found = []
    for number, a in enumerate(subjects):
        for b in subjects[number + 1 :]:
            trained = a.run == b.run and (a.phase, b.phase) == ("before", "after")
            others = a.run != b.run and a.phase == b.phase and (a.phase != "before" or only_before)
            if a.player == b.player and (trained or others):
                found.append((a, b))
    return found


def compare(pairs: Sequence[tuple[AnalysisSubject, AnalysisSubject]], seed: int = 0) -> list[Comparison]:
    """Compare subjects.

    Args:
        pairs: A and B of each comparison.
        seed: of the resampling.

    Raises:
        MissingDependencyError: there is no scipy.
    """
    if not pairs:
        return []
    try:
        from scipy import stats
    except ImportError as error:
        raise MissingDependencyError(
            "comparisons need scipy: pip install 'pixelis[analysis]'; everything else is in the report"
        ) from error
    found: list[tuple[AnalysisSubject, AnalysisSubject, list[MeasureDifference], list[str]]] = []
    for a, b in pairs:
        differences, missing = [], []
        for name, measure in MEASURES.items():
            values = _paired(a.episodes, b.episodes, measure)
            if len(values) < LEAST_PAIRS:
                missing.append(f"{name}: {len(values)} tasks in common of which it is known for both")
            else:
                differences.append(_difference(stats, name, values, seed))
        found.append((a, b, differences, missing))
    flat = [each.p_value for *_, differences, _ in found for each in differences if each.differs]
    adjusted = iter(stats.false_discovery_control(flat).tolist() if flat else [])
    return [
        Comparison(
            a.name,
            b.name,
            tuple(replace(each, adjusted=next(adjusted)) if each.differs else each for each in differences),
            tuple(missing),
        )
        for a, b, differences, missing in found
    ]


# ---------------------------------------------------------------------- private


def _paired(a: Sequence[StoredEpisode], b: Sequence[StoredEpisode], measure: Measure) -> np.ndarray:
    """Return both means for each task on which both are known, float64 [tasks, 2]."""
    sides = [_by_task(episodes, measure) for episodes in (a, b)]
    tasks = [task for task in sides[0] if task in sides[1]]
    return np.array([[np.mean(side[task]) for side in sides] for task in tasks]).reshape(-1, 2)


def _by_task(episodes: Sequence[StoredEpisode], measure: Measure) -> dict[str, list[float]]:
    values: defaultdict[str, list[float]] = defaultdict(list)
    for episode in episodes:
        if (value := measure(episode)) is not None:
            values[episode.same_task].append(value)
    return dict(values)


def _difference(stats: Any, name: str, values: np.ndarray, seed: int) -> MeasureDifference:
    gains = values[:, 1] - values[:, 0]
    mean_a, mean_b = map(float, values.mean(axis=0))
    if np.ptp(gains) == 0 and gains[0] == 0:  # nothing differs on any task
        return MeasureDifference(name, len(values), mean_a, mean_b, 0.0, 0.0, 0.0, 1.0)
    resampled = stats.bootstrap(
        (gains,),
        np.mean,
        n_resamples=RESAMPLES,
        method="percentile",
        batch=_AT_ONCE,
        rng=np.random.default_rng(seed),
    )
    test = stats.permutation_test(
        (gains,),
        np.mean,
        permutation_type="samples",
        n_resamples=RESAMPLES,
        vectorized=True,
        batch=_AT_ONCE,
        rng=np.random.default_rng(seed),
    )
    low, high = resampled.confidence_interval
    return MeasureDifference(
        name, len(values), mean_a, mean_b, float(gains.mean()), float(low), float(high), float(test.pvalue)
    )
