"""Weights of reward components: the shipped ones, and the checks that every weight passes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from pixelis.errors import ConfigError, RewardError, shown

TASK = "task"
"""Name of the component that the environment itself pays."""
PENALTY = "penalty"
"""Name of the component that fines misused tools."""

ORCHESTRATED_WEIGHTS: Mapping[str, float] = {TASK: 1.0, "curiosity": 0.3, "coherence": 0.2, "penalty": 1.0}
"""Weights under an orchestrator, which bounds the sum of all but the task whatever they are."""

ALONE_WEIGHTS: Mapping[str, float] = {"curiosity": 0.1, "coherence": 0.05, "penalty": 0.08}
"""Weights of terms without an orchestrator, where the task's gap is at least ``ALONE_GAP``; below, they
shrink with it (see `alone_factor`). A term's episode sum is held in ±1, so that all of them together move an
episode by at most ±0.23: less than half of the gap between success and failure."""

STEPWISE_WEIGHTS: Mapping[str, float] = {"progress": 0.5}
"""Weights of terms that are paid with every step, with an orchestrator or without; no bound holds them,
because their sum over an episode cannot bring a failure above a success."""

ALONE_GAP = 0.5
"""The gap for which ``ALONE_WEIGHTS`` are made: that of a task in which a failure may earn 0.5."""

LARGEST = 1e100
"""Rewards above overflow when they are squared."""

DEFAULT_ALONE_WEIGHT = 0.05
"""Weight of a term that has none of its own in the two tables."""


def as_number(value: Any) -> float | None:
    """Return a reward as a float, None where it is no finite number (text that looks like one included)."""
    try:
        number = float(_no_text(value))
    except (TypeError, ValueError, OverflowError, RuntimeError):  # the last: a tensor of several numbers
        return None
    return number if math.isfinite(number) else None


def alone_factor(task_gap: float | None) -> float:
    """Return the factor, in [0, 1], of shipped weights without an orchestrator: 1 for an unknown gap."""
    return 1.0 if task_gap is None else min(1.0, task_gap / ALONE_GAP)


def check_number(value: Any, component: str) -> float:
    """Return a reward as a float.

    Raises:
        RewardError: it is no finite number of at most 1e100; the message names the component.
    """
    try:
        number = float(_no_text(value))
    except (TypeError, ValueError, OverflowError):
        raise RewardError(f"{component}: expected a finite number as reward, got {shown(value)}") from None
    if not abs(number) <= LARGEST:
        raise RewardError(
            f"{component}: expected a finite number of at most {LARGEST:g} as reward, got {number}; "
            "find where it divides by zero or overflows"
        )
    return number


def _no_text(value: Any) -> Any:
    """Return a value that is no text, an array of one number as that number.

    Raises:
        TypeError: it is text; ``float`` would read some of it.
    """
    if isinstance(value, str | bytes):
        raise TypeError("text is no number")
    return value.item() if isinstance(value, np.ndarray) and value.size == 1 else value


def check_weight(value: Any, component: str) -> float:
    """Return a weight as a float.

    Raises:
        ConfigError: it is no finite number of at least 0; the message names the component.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConfigError(f"weight of {component}: expected a number of at least 0, got {shown(value)}")
    if not 0 <= value <= LARGEST:
        raise ConfigError(
            f"weight of {component}: expected a finite number of at least 0, got {shown(value)}; "
            "a component that shall punish gives negative values under a positive weight"
        )
    return float(value)


def check_weights(weights: Mapping[str, Any]) -> dict[str, float]:
    """Return weights as floats, checked one by one."""
    return {name: check_weight(value, name) for name, value in weights.items()}
