"""From the components of an episode to its one reward, in which the task always has the last word."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from pixelis.errors import ConfigError, RewardError, StateError, suggest
from pixelis.rewards.normalisation import Normaliser, NormaliserSettings
from pixelis.rewards.state import check_version, load_json, save_json, state_item
from pixelis.rewards.weights import TASK, check_number, check_weights

VERSION = 1
KNEE = 0.9
"""Share of the limit up to which a total is paid as it is."""
TASK_STD_FLOOR = 0.1


@dataclass(frozen=True)
class OrchestratorSettings:
    """How components become a total.

    Attributes:
        normalise: pay every component but the task as a z-score.
        normalise_task: pay the task as a z-score too. Off by default: z-scores move with the success rate, so
            that a failure scored at one time could outscore a success scored at another; and GRPO divides by
            its group's deviation anyway.
        task_gap: the smallest difference between the task rewards of a success and a failure, > 0; 1 without
            partial credit, 0.5 where a failure may earn up to 0.5.
        share: what all other components together may move a total, in shares of the task's gap, in (0, 0.5).
        limit: bound on the total.
        normaliser: window, warm-up, floor and clip of the z-scores.
    """

    normalise: bool = True
    normalise_task: bool = False
    task_gap: float = 1.0
    share: float = 0.45
    limit: float = 10.0
    normaliser: NormaliserSettings = field(default_factory=NormaliserSettings)

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name, top in (("task_gap", math.inf), ("share", 0.5), ("limit", math.inf)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < top:
                raise ConfigError(f"{name}: expected a number above 0 and below {top}, got {value!r}")
        for name in ("normalise", "normalise_task"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigError(f"{name}: expected true or false, got {getattr(self, name)!r}")


@dataclass(frozen=True)
class Part:
    """What a component was in an episode.

    Attributes:
        raw: sum of its values over the episode.
        normalised: its z-score by the episodes before, clipped; raw during the warm-up.
        weighted: what it added to the total, before the limit on the total.
    """

    raw: float
    normalised: float
    weighted: float

    def to_json(self) -> dict[str, float]:
        """Return the three numbers by name."""
        return asdict(self)


@dataclass(frozen=True)
class Total:
    """An episode's reward, and name → part for the task and every component."""

    reward: float
    parts: Mapping[str, Part]


def soft_limit(value: float, limit: float) -> float:
    """Return ``value`` up to 0.9 of the limit and, beyond, a strictly increasing curve below the limit.

    f(x) = k + r·u/(1 + u) with k = 0.9·limit, r = 0.1·limit and u = (x − k)/r, for x > k; odd. A plain clip
    would give a success and a failure beyond the limit the same reward.
    """
    knee = KNEE * limit
    size = abs(value)
    if size <= knee:
        return value
    room = limit - knee
    excess = (size - knee) / room
    return math.copysign(knee + room * excess / (1 + excess), value)


class Orchestrator:
    """Turns the sums of an episode's components into one reward.

    total = w_task·task + hold(Σ w_i·z_i), limited to ±10. ``hold`` scales the sum of all but the task down to
    at most 0.45·w_task·gap, where gap is the least difference between success and failure on the task's
    scale. So a success is worth at least a tenth of that gap more than any failure, whatever the components
    and their weights are: always when the task is paid raw, and among episodes scored by the same statistics
    when it is z-scored (every call of ``score`` uses one state of the statistics; ``update`` moves them).

    Components are taken per episode: scoring single steps would pay or punish mere length.

    Args:
        weights: component → weight ≥ 0, with ``task`` (> 0). A component with weight 0 is still measured.
        settings: the constants.

    Raises:
        ConfigError: a weight is negative or no number, or the task has none.
    """

    def __init__(self, weights: Mapping[str, float], settings: OrchestratorSettings | None = None) -> None:
        self.settings = settings or OrchestratorSettings()
        self._weights = _checked({TASK: 1.0, **weights})
        task = replace(
            self.settings.normaliser,
            clip=math.inf,  # the total is limited, in a way that keeps order
            std_floor=max(TASK_STD_FLOOR, self.settings.normaliser.std_floor),
        )
        self._normalisers = {
            name: Normaliser(task if name == TASK else self.settings.normaliser) for name in self._weights
        }
        self._pending: list[dict[str, float]] = []
        self._held = 0

    @property
    def names(self) -> tuple[str, ...]:
        """The components, the task among them."""
        return tuple(self._weights)

    @property
    def weights(self) -> dict[str, float]:
        """The weights now."""
        return dict(self._weights)

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The metrics that ``update`` returns."""
        return ("held", *(f"{name}/{what}" for name in self._weights for what in ("raw", "mean", "std")))

    def set_weights(self, weights: Mapping[str, float]) -> None:
        """Change weights; those not named stay.

        Raises:
            ConfigError: a component is unknown, or a weight is not allowed.
        """
        for name in weights:
            if name not in self._weights:
                raise ConfigError(f"there is no reward component {name!r}.{suggest(name, self._weights)}")
        self._weights = _checked({**self._weights, **weights})

    def score(self, episodes: Sequence[Mapping[str, float]]) -> list[Total]:
        """Return the totals of finished episodes, all by the same statistics, and note them for ``update``.

        Args:
            episodes: component → sum over the episode, each with exactly the components of this orchestrator.

        Raises:
            RewardError: a component is missing, unknown or not finite; the message names it.
        """
        checked = [self._check(sums) for sums in episodes]
        totals = [self._total(sums) for sums in checked]
        self._pending += checked
        return totals

    def update(self) -> dict[str, float]:
        """Take the scored episodes into the statistics; return metrics of them, none if there were none.

        Metrics: ``<component>/raw`` the mean sum of an episode, ``<component>/mean`` and ``<component>/std``
        the statistics, and ``held`` the share of episodes whose shaping was scaled down.
        """
        if not self._pending:
            return {}
        row: dict[str, float] = {"held": self._held / len(self._pending)}
        for name, normaliser in self._normalisers.items():
            values = [sums[name] for sums in self._pending]
            for value in values:
                normaliser.update(value)
            row[f"{name}/raw"] = math.fsum(values) / len(values)
            row[f"{name}/mean"], row[f"{name}/std"] = normaliser.statistics.mean, normaliser.statistics.std
        self._pending, self._held = [], 0
        return row

    def state(self) -> dict[str, Any]:
        """Return weights and statistics, as JSON."""
        return {
            "version": VERSION,
            "weights": self.weights,
            "statistics": {name: normaliser.state() for name, normaliser in self._normalisers.items()},
            "pending": [dict(sums) for sums in self._pending],
            "held": self._held,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go back to a state.

        Raises:
            StateError: it is of another version, of other components or of another window.
        """
        state = check_version(state, "reward orchestrator", VERSION)
        statistics = state_item(state, "reward orchestrator", "statistics")
        if set(statistics) != set(self._weights):
            raise StateError(
                f"reward orchestrator: the state has the components {sorted(statistics)}, expected "
                f"{sorted(self._weights)}; set the same components (a weight may be 0)"
            )
        weights = _checked(state_item(state, "reward orchestrator", "weights"))
        if set(weights) != set(self._weights):
            raise StateError("reward orchestrator: the state's weights are not those of its components")
        for name, saved in statistics.items():
            try:
                self._normalisers[name].restore(saved)
            except StateError as error:
                raise StateError(f"reward component {name}: {error}") from error
        self._weights = {name: weights[name] for name in self._weights}
        self._pending = [dict(sums) for sums in state.get("pending", [])]
        self._held = int(state.get("held", 0))

    def save(self, path: Path | str) -> None:
        """Write the state as JSON; raises ``OutputError`` where that cannot be done."""
        save_json(path, self.state())

    def load(self, path: Path | str) -> None:
        """Go back to a saved state; raises ``StateError`` like ``restore``."""
        self.restore(load_json(path))

    # ------------------------------------------------------------------ private

    def _check(self, sums: Mapping[str, float]) -> dict[str, float]:
        for name in (*sums, *self._weights):
            if name not in self._weights:
                raise RewardError(f"{name}: no such reward component.{suggest(name, self._weights)}")
            if name not in sums:
                raise RewardError(f"{name}: the component has a weight but no value in this episode")
        return {name: check_number(sums[name], name) for name in self._weights}

    def _total(self, sums: Mapping[str, float]) -> Total:
        scores = {name: normaliser.normalise(sums[name]) for name, normaliser in self._normalisers.items()}
        clip = self.settings.normaliser.clip
        paid = {
            name: score if self.settings.normalise else max(-clip, min(clip, sums[name]))
            for name, score in scores.items()
        }
        paid[TASK] = scores[TASK] if self.settings.normalise_task else sums[TASK]
        weighted = {name: self._weights[name] * value for name, value in paid.items()}
        factor = self._hold(math.fsum(value for name, value in weighted.items() if name != TASK))
        for name in weighted:
            weighted[name] *= 1.0 if name == TASK else factor
        total = check_number(math.fsum(weighted.values()), "total")
        parts = {name: Part(sums[name], scores[name], weighted[name]) for name in sums}
        return Total(soft_limit(total, self.settings.limit), parts)

    def _hold(self, shaping: float) -> float:
        """Return the factor that keeps the sum of all but the task within its bound."""
        scale = self._normalisers[TASK].scale if self.settings.normalise_task else 1.0
        bound = self.settings.share * self._weights[TASK] * self.settings.task_gap / scale
        if abs(shaping) <= bound:
            return 1.0
        self._held += 1
        return bound / abs(shaping)


def _checked(weights: Mapping[str, Any]) -> dict[str, float]:
    checked = check_weights(weights)
    if not checked.get(TASK):
        raise ConfigError(
            "weight of task: expected a number above 0, got "
            f"{checked.get(TASK)!r}; without the task a wrong answer could be worth more than a right one"
        )
    return checked
