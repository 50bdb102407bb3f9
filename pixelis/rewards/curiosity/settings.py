"""The constants of curiosity."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from pixelis.errors import ConfigError

_AT_LEAST_ONE = (
    "rank",
    "batch_size",
    "fresh_size",
    "updates_per_batch",
    "max_updates",
    "memory_size",
    "cache_size",
)
_AT_MOST = {"rank": 768, "memory_size": 1_000_000, "cache_size": 10_000_000}
"""Beyond the width of the model a rank adds nothing; the memory holds some 3 KB a transition."""
_NOT_NEGATIVE = ("eta", "learning_rate", "gate_learning_rate", "cache_max_age", "seed")
_SHARES = ("beta", "gate_recovery")


@dataclass(frozen=True)
class CuriositySettings:
    """How curiosity is measured and how it learns.

    Attributes:
        eta: factor of the reward, at least 0.
        beta: share of the forward model in the loss, in [0, 1]; the inverse model has the rest.
        rank: of the forward model's adapters, 1 to 768.
        learning_rate: of both models' AdamW.
        gate_learning_rate: of the feature gates; 0 keeps them open, so that the inverse model shapes nothing.
        gate_recovery: share of its log by which a closed gate reopens each step, in [0, 1].
        fresh_size: transitions that wait for each other; the gates then take a step on them, and both models
            take ``updates_per_batch`` steps.
        updates_per_batch: steps for each ``fresh_size`` transitions.
        batch_size: transitions in a step, drawn from the memory.
        max_updates: most steps in one call of ``learn``, at least ``updates_per_batch``; what comes in beyond
            that is only remembered.
        memory_size: transitions remembered to learn from, at most a million.
        cache_size: rewards kept, at most ten million.
        cache_max_age: steps after which a kept reward is computed anew.
        seed: of encoder, models and batches, below 2**32.
    """

    eta: float = 0.5
    beta: float = 0.2
    rank: int = 8
    learning_rate: float = 5e-3
    gate_learning_rate: float = 0.1
    gate_recovery: float = 0.005
    fresh_size: int = 16
    updates_per_batch: int = 3
    batch_size: int = 32
    max_updates: int = 9
    memory_size: int = 1024
    cache_size: int = 1000
    cache_max_age: int = 16
    seed: int = 0

    def __post_init__(self) -> None:
        """Check types and ranges.

        Raises:
            ConfigError: a setting is out of range; the message names it.
        """
        for field in fields(self):
            value = getattr(self, field.name)
            whole = field.type == "int"
            number = isinstance(value, int) if whole else isinstance(value, int | float)
            if isinstance(value, bool) or not number or not math.isfinite(value):
                raise _error(field.name, "a whole number" if whole else "a finite number", value)
        for name in _AT_LEAST_ONE:
            self._check(name, getattr(self, name) >= 1, "at least 1")
        for name in _NOT_NEGATIVE:
            self._check(name, getattr(self, name) >= 0, "at least 0")
        for name in _SHARES:
            self._check(name, 0 <= getattr(self, name) <= 1, "from 0 to 1")
        self._check("seed", self.seed < 2**32, "below 2**32")
        if self.max_updates < self.updates_per_batch:  # no batch would ever be learnt from
            raise ConfigError(
                f"curiosity: max_updates must be at least updates_per_batch ({self.updates_per_batch}), got "
                f"{self.max_updates}"
            )
        for name, most in _AT_MOST.items():
            self._check(name, getattr(self, name) <= most, f"at most {most:,}")

    def _check(self, name: str, good: bool, expected: str) -> None:
        if not good:
            raise _error(name, expected, getattr(self, name))


def _error(name: str, expected: str, value: object) -> ConfigError:
    return ConfigError(f"curiosity: {name} must be {expected}, got {value!r}")
