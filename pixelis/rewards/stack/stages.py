"""Stages of reward weights, when they are left, and the two curricula that are shipped."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pixelis.errors import ConfigError, suggest
from pixelis.rewards.terms.checks import check_finite
from pixelis.rewards.terms.registry import make_settings
from pixelis.rewards.terms.weights import check_weights

COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
STATISTICS = ("value", "mean", "slope")


@dataclass(frozen=True)
class ExitCondition:
    """One reason to leave a stage.

    Attributes:
        metric: a metric expression (see ``pixelis.rewards.stack.metric_series``).
        threshold: what it is compared with.
        comparison: ``>``, ``>=``, ``<`` or ``<=``.
        statistic: what of the metric: its last ``value``, or the ``mean`` or least-squares ``slope`` (change
            per training step) of its last ``window`` values.
        window: values for mean and slope.
        patience: checks in a row that must hold.
    """

    metric: str
    threshold: float
    comparison: str = ">"
    statistic: str = "value"
    window: int = 5
    patience: int = 1

    def __post_init__(self) -> None:
        """Check names and ranges."""
        check_positive(f"exit on {self.metric!r}", window=self.window, patience=self.patience)
        if self.statistic == "slope" and self.window < 2:
            raise ConfigError(f"exit on {self.metric!r}: a slope needs a window of at least 2")
        for name, value, known in (
            ("comparison", self.comparison, tuple(COMPARISONS)),
            ("statistic", self.statistic, STATISTICS),
        ):
            if value not in known:
                raise ConfigError(f"exit on {self.metric!r}: {name} must be one of {known}, got {value!r}")
        check_finite(f"exit on {self.metric!r}: threshold", self.threshold)

    def holds(self, value: float) -> bool:
        """Return whether the statistic's value satisfies the comparison."""
        return COMPARISONS[self.comparison](value, self.threshold)

    @property
    def text(self) -> str:
        """The condition in one line."""
        what = self.metric if self.statistic == "value" else f"{self.statistic} of {self.metric}"
        return f"{what} {self.comparison} {self.threshold:g}"


@dataclass(frozen=True)
class WeightStage:
    """Weights, and when they end.

    Attributes:
        name: for the log and for checkpoints.
        weights: component → weight; a component not named keeps the weight it has without a curriculum.
        exits: conditions, any one of which ends the stage.
        steps: training steps after which it ends whatever the metrics say; None: never.
        min_samples: values of a condition's metric that must have come in this stage before it counts.
    """

    name: str
    weights: Mapping[str, float]
    exits: tuple[ExitCondition, ...] = ()
    steps: int | None = None
    min_samples: int = 1

    def __post_init__(self) -> None:
        """Check the ranges."""
        try:
            object.__setattr__(self, "weights", check_weights(self.weights))
        except ConfigError as error:
            raise ConfigError(f"stage {self.name!r}: {error}") from error
        check_positive(f"stage {self.name!r}", min_samples=self.min_samples)
        if self.steps is not None:
            check_positive(f"stage {self.name!r}", steps=self.steps)


@dataclass(frozen=True)
class WeightRollback:
    """When to go one stage back.

    Attributes:
        metric: the expression that must not degrade; higher is better.
        drop: how far its window mean may fall below what it was when the stage began.
        floor: least window mean; None for no floor.
        window: values the mean is of, all of the present stage.
        cooldown: training steps after going back in which no stage changes.
    """

    metric: str
    drop: float = 0.05
    floor: float | None = None
    window: int = 3
    cooldown: int = 1000

    def __post_init__(self) -> None:
        """Check the ranges."""
        check_positive("rollback", window=self.window)
        if isinstance(self.cooldown, bool) or not isinstance(self.cooldown, int) or self.cooldown < 0:
            raise ConfigError(f"rollback: cooldown must be an integer of at least 0, got {self.cooldown!r}")
        check_finite("rollback: drop", self.drop)
        if self.drop < 0:
            raise ConfigError(f"rollback: drop must be at least 0, got {self.drop}")
        if self.floor is not None:
            check_finite("rollback: floor", self.floor)


def check_positive(owner: str, **values: Any) -> None:
    """Raise ``ConfigError`` unless every value is an integer of at least 1."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ConfigError(f"{owner}: {name} must be an integer of at least 1, got {value!r}")


# ---------------------------------------------------------------------- shipped

STEP_CURRICULUM: Mapping[str, Any] = {
    "stages": {
        "task": {"weights": {"task": 1.0, "curiosity": 0.0, "coherence": 0.0}, "steps": 1000},
        "some": {"weights": {"task": 0.7, "curiosity": 0.2, "coherence": 0.1}, "steps": 4000},
        "full": {"weights": {"task": 0.5, "curiosity": 0.3, "coherence": 0.2}},
    },
}
"""By training step: 0, 1000 and 5000."""

PERFORMANCE_CURRICULUM: Mapping[str, Any] = {
    "stages": {
        "learn_goal": {
            "weights": {"task": 1.0, "curiosity": 0.0, "coherence": 0.0},
            "exits": [{"metric": "success/rate_ma100", "threshold": 0.70}],
            "steps": 10_000,
            "min_samples": 10,
        },
        "learn_coherence": {
            "weights": {"task": 1.0, "curiosity": 0.0, "coherence": 0.1},
            "exits": [
                {
                    "metric": "coherence/raw_ma100",
                    "statistic": "slope",
                    "comparison": "<",
                    "threshold": 0.001,
                    "patience": 5,
                },
                # 0.65 of the best there is: success 1, and coherence 0.2, which is what a good pair is worth
                # and what oracles reach (the mean of an episode's terms does not grow with their number).
                {"metric": "success/rate_ma100 * coherence/raw_ma100", "threshold": 0.13},
            ],
            "steps": 10_000,
            "min_samples": 10,
        },
        "full": {"weights": {"task": 1.0, "curiosity": 0.05, "coherence": 0.1}},
    },
    "rollback": {"metric": "success/rate_ma100"},
}
"""By what was learnt; falls back to training steps, and goes back a stage when success drops."""

SHIPPED: Mapping[str, Mapping[str, Any]] = {"steps": STEP_CURRICULUM, "performance": PERFORMANCE_CURRICULUM}


# ---------------------------------------------------------------------- from plain data


def read_stages(values: Any) -> tuple[WeightStage, ...]:
    """Return the stages of a mapping name → ``weights``, ``exits``, ``steps``, ``min_samples``, in its order.

    Raises:
        ConfigError: an unknown key, or a value of the wrong kind; the message names the stage.
    """
    if not isinstance(values, Mapping) or not values:
        raise ConfigError(f"curriculum: stages must be a mapping of name to stage, got {values!r}")
    return tuple(_read_stage(str(name), entry) for name, entry in values.items())


def _read_stage(name: str, entry: Any) -> WeightStage:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("weights"), Mapping):
        raise ConfigError(
            f"stage {name!r} needs weights such as {{task: 1.0, coherence: 0.1}}, got {entry!r}"
        )
    exits = entry.get("exits") or []
    if not isinstance(exits, Sequence) or isinstance(exits, str):
        raise ConfigError(f"stage {name!r}: exits must be a list, got {exits!r}")
    if "name" in entry:
        raise ConfigError(f"stage {name!r}: its name is the key it stands under; leave name out")
    read = tuple(_read_exit(name, one) for one in exits)
    return make_settings(WeightStage, f"stage {name!r}", {**entry, "name": name, "exits": read})


def _read_exit(stage: str, entry: Any) -> ExitCondition:
    if not isinstance(entry, Mapping) or not {"metric", "threshold"} <= entry.keys():
        raise ConfigError(f"stage {stage!r}: an exit needs a metric and a threshold, got {entry!r}")
    return make_settings(ExitCondition, f"stage {stage!r}, exit on {entry['metric']!r}", entry)


def read_rollback(entry: Any) -> WeightRollback | None:
    """Return the rule of a mapping with ``metric`` and so on, or None for None.

    Raises:
        ConfigError: an unknown key, or a value of the wrong kind.
    """
    if entry is None:
        return None
    if not isinstance(entry, Mapping) or "metric" not in entry:
        raise ConfigError(f"rollback needs a metric, for example success/rate_ma100, got {entry!r}")
    return make_settings(WeightRollback, "rollback", entry)


def shipped_curriculum(name: str) -> Mapping[str, Any]:
    """Return a shipped curriculum as plain data.

    Raises:
        ConfigError: there is none of this name.
    """
    if name not in SHIPPED:
        raise ConfigError(f"there is no curriculum {name!r}.{suggest(name, SHIPPED)}")
    return SHIPPED[name]
