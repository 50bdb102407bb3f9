"""Reward terms named as ``module:Class``, summed by their weights."""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pixelis.errors import ConfigError, RewardError
from pixelis.rewards.term import RewardTerm, Transition

ORCHESTRATE = "orchestrate"


@dataclass(frozen=True)
class Score:
    """What a step is worth: its reward, and term → raw value."""

    reward: float
    terms: Mapping[str, float]


class TermSum:
    """Pays the task's reward plus each term's weight × its raw value.

    Args:
        terms: pairs of a term and its weight; the names differ.
    """

    def __init__(self, terms: Sequence[tuple[RewardTerm[Any], float]]) -> None:
        self._terms = tuple(terms)

    def begin(self) -> list[Any]:
        """Return the terms' memories."""
        return [term.begin() for term, _ in self._terms]

    def score(self, batch: Sequence[tuple[list[Any], Transition, float]]) -> list[Score]:
        """Return the steps' scores.

        Raises:
            RewardError: a number is not finite; the message names the term.
        """
        columns = {
            term.name: term.score([(memories[index], step) for memories, step, _ in batch])
            for index, (term, _) in enumerate(self._terms)
        }
        scores = []
        for index, (_, _, task) in enumerate(batch):
            values = {name: _finite(name, column[index]) for name, column in columns.items()}
            paid = sum(weight * values[term.name] for term, weight in self._terms)
            scores.append(Score(_finite("task", task) + paid, values))
        return scores

    def learn(self) -> dict[str, float]:
        """Let every term learn; return its metrics as ``term/metric``."""
        return {
            f"{term.name}/{name}": value for term, _ in self._terms for name, value in term.learn().items()
        }


def build_scorer(values: Any) -> TermSum:
    """Return the rewards that a mapping describes: ``module:Class`` → ``weight`` and the class's keywords.

    ``orchestrate: false`` may stand beside the terms; nothing here orchestrates.

    Raises:
        ConfigError: it is no such mapping, or a term cannot be made.
    """
    if not isinstance(values, Mapping) or not all(isinstance(name, str) for name in values):
        raise ConfigError(f"rewards must be a mapping of module:Class to settings, got {values!r}")
    if values.get(ORCHESTRATE, False) is not False:
        raise ConfigError(f"rewards: {ORCHESTRATE} must be false, got {values[ORCHESTRATE]!r}")
    terms = [_make(name, entry) for name, entry in values.items() if name != ORCHESTRATE]
    names = [term.name for term, _ in terms]
    if not terms or len(set(names)) != len(names):
        raise ConfigError(f"rewards must hold terms with names that differ, got {names}")
    return TermSum(terms)


def _make(path: str, entry: Any) -> tuple[RewardTerm[Any], float]:
    settings = {} if entry is None else entry
    if not isinstance(settings, Mapping):
        raise ConfigError(f"rewards: {path} takes a mapping such as {{weight: 0.2}}, got {entry!r}")
    weight = settings.get("weight", 1.0)
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 <= weight < math.inf:
        raise ConfigError(f"rewards: the weight of {path} must be a number of at least 0, got {weight!r}")
    module, _, name = path.rpartition(":")
    try:
        made_by = getattr(importlib.import_module(module), name)
        term = made_by(**{key: value for key, value in settings.items() if key != "weight"})
    except ConfigError:
        raise
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise ConfigError(f"rewards: cannot make {path!r}, expected module:Class: {error}") from error
    if not all(callable(getattr(term, method, None)) for method in ("begin", "score", "learn")):
        raise ConfigError(f"rewards: {path!r} makes no reward term, see pixelis.rewards.term")
    return term, float(weight)


def _finite(name: str, value: float) -> float:
    if not math.isfinite(value):
        raise RewardError(f"{name}: expected a finite number, got {value!r}; look at what the env gave")
    return float(value)
