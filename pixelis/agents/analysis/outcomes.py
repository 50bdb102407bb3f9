"""How episodes end: success by kind of task, what is paid for failures, and whether confidence is earned."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from pixelis.agents.episode_files.stored import StoredEpisode, finite
from pixelis.agents.runs.evaluate import wilson_interval

_BINS = 10
_KINDS = ("difficulty", "family", "split")
_WORST_LEVELS = 10
_MOST_VALUES = 30  # of a kind: one with more is no kind but a name


def outcomes_of(episodes: Sequence[StoredEpisode]) -> dict[str, Any]:
    """Return how the episodes of a subject ended, as JSON-able values; None where nothing is known."""
    paid = [episode.reward for episode in episodes if episode.reward is not None]
    return {
        "episodes": len(episodes),
        "tasks": len({episode.same_task for episode in episodes}),
        "success": success_of(episodes),
        "reward": float(np.mean(paid)) if paid else None,
        "by": {kind: _by(episodes, kind) for kind in _kinds(episodes)},
        "levels": _levels(episodes),
        "paid": _paid(episodes),
        "calibration": calibration_of(episodes),
    }


def success_of(episodes: Sequence[StoredEpisode]) -> dict[str, Any] | None:
    """Return count, rate and Wilson's 95 % interval; None where no environment said.

    A task that was played more than once counts once in the interval, as in an evaluation.
    """
    told = [episode.success for episode in episodes if episode.success is not None]
    if not told:
        return None
    tasks = len({episode.same_task for episode in episodes if episode.success is not None})
    low, high = wilson_interval(sum(told) * tasks / len(told), tasks)
    return {"told": len(told), "rate": sum(told) / len(told), "low": low, "high": high}


def confidence_of(episode: StoredEpisode) -> float | None:
    """Return the probability with which the model wrote its last turn, the answer; None where not kept."""
    turn = episode.turns[-1] if episode.turns else None
    return None if turn is None or turn.logprob is None else math.exp(min(turn.logprob, 0.0))


def calibration_of(episodes: Sequence[StoredEpisode]) -> dict[str, Any] | None:
    """Return how the probability of the answer goes with being right; None where either is not known.

    ``ece`` is the expected calibration error over ten bins of equal width (Naeini et al. 2015), ``brier`` the
    mean squared error of the probability, ``bins`` what the reliability diagram shows. A text can be written
    in many ways, so its probability is a lower bound of how sure a model is of what it means.
    """
    pairs = [
        (confidence, float(episode.success))
        for episode in episodes
        if episode.success is not None and (confidence := confidence_of(episode)) is not None
    ]
    if not pairs:
        return None
    sure, right = np.array(pairs).T
    places = np.minimum((sure * _BINS).astype(int), _BINS - 1)
    bins = [
        {
            "low": place / _BINS,
            "high": (place + 1) / _BINS,
            "episodes": int((places == place).sum()),
            "confidence": float(sure[places == place].mean()),
            "success": float(right[places == place].mean()),
        }
        for place in range(_BINS)
        if (places == place).any()
    ]
    return {
        "episodes": len(pairs),
        "confidence": float(sure.mean()),
        "confidence_right": float(sure[right == 1].mean()) if right.any() else None,
        "confidence_wrong": float(sure[right == 0].mean()) if not right.all() else None,
        "ece": sum(abs(each["confidence"] - each["success"]) * each["episodes"] for each in bins)
        / len(pairs),
        "brier": float(np.mean((sure - right) ** 2)),
        "bins": bins,
    }


# ---------------------------------------------------------------------- private


def _kinds(episodes: Sequence[StoredEpisode]) -> list[str]:
    """Return by what success is told apart: what tasks say of themselves, and dials given to ``reset``."""
    dials = {name for episode in episodes for name in episode.options or {}}
    found = [*_KINDS, *sorted(dials.difference(_KINDS))]
    return [
        kind for kind in found if 0 < len({_kind(each, kind) for each in episodes} - {None}) <= _MOST_VALUES
    ]


def _kind(episode: StoredEpisode, kind: str) -> str | int | float | None:
    """Return a text or a finite number, None for whatever else may stand there."""
    value = episode.task.get(kind, (episode.options or {}).get(kind))
    return value if isinstance(value, str) or finite(value) is not None else None


def _by(episodes: Sequence[StoredEpisode], kind: str) -> list[dict[str, Any]]:
    groups: defaultdict[Any, list[StoredEpisode]] = defaultdict(list)
    for episode in episodes:
        if (value := _kind(episode, kind)) is not None:
            groups[value].append(episode)
    rows = [
        {"value": value, "episodes": len(group), "success": success_of(group)}
        for value, group in groups.items()
    ]
    return sorted(rows, key=lambda row: (isinstance(row["value"], str), row["value"]))


def _levels(episodes: Sequence[StoredEpisode]) -> dict[str, Any] | None:
    """Return how many tasks are always, sometimes and never solved, and those that are solved least."""
    groups: defaultdict[str, list[StoredEpisode]] = defaultdict(list)
    for episode in episodes:
        if episode.success is not None:
            groups[episode.same_task].append(episode)
    if not groups:
        return None
    rates = {task: sum(bool(each.success) for each in group) / len(group) for task, group in groups.items()}
    worst = sorted(groups, key=lambda task: (rates[task], -len(groups[task]), str(task)))[:_WORST_LEVELS]
    return {
        "always": sum(rate == 1 for rate in rates.values()),
        "sometimes": sum(0 < rate < 1 for rate in rates.values()),
        "never": sum(rate == 0 for rate in rates.values()),
        "least": [
            {
                "task": str(groups[task][0].task.get("id") or f"seed {groups[task][0].seed}"),
                "seed": groups[task][0].seed,
                "episodes": len(groups[task]),
                "success": rates[task],
            }
            for task in worst
        ],
    }


def _paid(episodes: Sequence[StoredEpisode]) -> dict[str, Any] | None:
    """Return what successes and failures were paid, by component, and whether a failure ever got more."""
    groups = {
        "succeeded": [episode for episode in episodes if episode.success is True],
        "failed": [episode for episode in episodes if episode.success is False],
    }
    rewards = {
        name: [each.reward for each in group if each.reward is not None] for name, group in groups.items()
    }
    if not (rewards["succeeded"] or rewards["failed"]):
        return None
    components: dict[str, dict[str, float]] = {}
    for name, group in groups.items():
        for component, value in _components(group).items():
            components.setdefault(component, {})[name] = value
    best, worst = max(rewards["failed"], default=None), min(rewards["succeeded"], default=None)
    return {
        **{name: float(np.mean(values)) if values else None for name, values in rewards.items()},
        "best_failed": best,
        "worst_succeeded": worst,
        "failures_paid_as_successes": None
        if worst is None or best is None
        else sum(value >= worst for value in rewards["failed"]) / len(rewards["failed"]),
        "components": components,
        "components_are": "weighted"
        if any(episode.reward_parts for episode in episodes)
        else "terms of the environment, of which some may weigh nothing",
    }


def _components(episodes: Sequence[StoredEpisode]) -> dict[str, float]:
    """Return component → mean of what it paid; of the env's own terms where nothing was added to them."""
    values: defaultdict[str, list[float]] = defaultdict(list)
    for episode in episodes:
        parts = {name: part["weighted"] for name, part in episode.reward_parts.items() if "weighted" in part}
        for name, value in (parts or episode.reward_terms).items():
            values[name].append(value)
    return {name: float(np.mean(each)) for name, each in values.items()}
