"""From the components of an episode to its one reward, in which the task always has the last word."""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from pixelis.errors import ConfigError, RewardError, RewardWarning, StateError, suggest
from pixelis.rewards.stack.limits import soft_limit
from pixelis.rewards.stack.normalisation import Normaliser, NormaliserSettings
from pixelis.rewards.terms.checks import check_names
from pixelis.rewards.terms.state import check_version, load_json, save_json, state_item
from pixelis.rewards.terms.traits import UNDECLARED_GAP, RewardTraits, check_gap, check_line
from pixelis.rewards.terms.weights import PENALTY, TASK, check_number, check_weights

VERSION = 1
TASK_STD_FLOOR = 0.1
ROUNDING = 1e-9


@dataclass(frozen=True)
class OrchestratorSettings:
    """How components become a total.

    Attributes:
        normalise: pay every component but the task as a z-score.
        normalise_task: pay the task as a z-score too. Off by default: z-scores move with the success rate, so
            that a failure scored at one time could outscore a success scored at another; and GRPO divides by
            its group's deviation anyway.
        task_gap: the smallest task reward of a success less the largest of a failure, at least 0: 1 without
            partial credit, 0.5 where a failure may earn up to 0.5. None: what the environment declares (see
            `Orchestrator.adapt`), and 1 for an orchestrator that is shown none.
        success_line: where the gap is 0: the task reward that every success reaches and no failure does; what
            the others may move a total shrinks towards it. None: what the environment declares.
        share: what all other components together may move a total, in shares of the gap, in (0, 0.5).
        raw: components that are paid as they are, not as z-scores: their amounts mean something (fines).
        limit: bound on the total.
        normaliser: window, warm-up, floor and clip of the z-scores.
    """

    normalise: bool = True
    normalise_task: bool = False
    task_gap: float | None = None
    success_line: float | None = None
    share: float = 0.45
    raw: Collection[str] = (PENALTY,)
    limit: float = 10.0
    normaliser: NormaliserSettings = field(default_factory=NormaliserSettings)

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.task_gap is not None:
            check_gap(self.task_gap)
        check_line(self.success_line)
        if self.task_gap == 0 and self.success_line is None:
            raise ConfigError(
                "task_gap: 0 leaves the other components nothing unless there is a success_line, a task "
                "reward that every success reaches and no failure does; give one, or a task_gap above 0"
            )
        check_names("raw", self.raw)
        for name, top in (("share", 0.5), ("limit", math.inf)):
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
        normalised: its z-score by the episodes before, clipped; raw during the warm-up. A component that is
            paid raw has one too, for the record.
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


def with_raw(settings: OrchestratorSettings, terms: Collection[Any]) -> OrchestratorSettings:
    """Return settings by which terms that say so (``paid_raw``) are paid as they are."""
    named = [term.name for term in terms if getattr(term, "paid_raw", False)]
    return replace(settings, raw=tuple(dict.fromkeys([*settings.raw, *named])))


def by_step(terms: Collection[Any]) -> frozenset[str]:
    """Return the names of the terms that say they are paid with every step."""
    return frozenset(term.name for term in terms if getattr(term, "paid_by_step", False))


class Orchestrator:
    """Turns the sums of an episode's components into one reward.

    total = w_task·task + fines + rest, limited to ±10. Fines are Σ w_i·x_i of the raw components, and the
    rest is Σ w_i·z_i of the others. Both together are held within ±bound, the fines first, so that they keep
    their amounts: fines are cut at the bound, and the rest is scaled into what they leave. The bound is
    0.45·w_task·gap, where gap is the least difference between success and failure on the task's scale; where
    it is 0, gap is the distance of the episode's task reward from the success line. So a success is worth
    more than any failure, by at least a tenth of the gap, whatever the components and their weights are:
    always when the task is paid raw, and among episodes scored by the same statistics when it is z-scored
    (every call of ``score`` uses one state of the statistics; ``update`` moves them).

    Components are taken per episode: scoring single steps would pay or punish mere length.

    Args:
        weights: component → weight ≥ 0, with ``task`` (> 0). A component with weight 0 is still measured.
        settings: the constants.
        by_step: components that are measured here and paid elsewhere, with every step, because their sum over
            an episode cannot bring a failure above a success; they are no part of the total.

    Raises:
        ConfigError: a weight is negative or no number, or the task has none.
    """

    def __init__(
        self,
        weights: Mapping[str, float],
        settings: OrchestratorSettings | None = None,
        by_step: Collection[str] = (),
    ) -> None:
        self.settings, self.by_step = settings or OrchestratorSettings(), frozenset(by_step)
        self._weights = _checked({TASK: 1.0, **weights})
        for name in self.settings.raw:
            if name not in self._weights and name != PENALTY:  # which the default names, there or not
                raise ConfigError(f"raw: there is no component {name!r}.{suggest(name, self._weights)}")
        task = replace(
            self.settings.normaliser,
            clip=math.inf,  # the total is limited, in a way that keeps order
            std_floor=max(TASK_STD_FLOOR, self.settings.normaliser.std_floor),
        )
        self._normalisers = {
            name: Normaliser(task if name == TASK else self.settings.normaliser) for name in self._weights
        }
        self._pending: list[dict[str, float]] = []
        self._held, self._told = 0, False
        self._gap = 1.0 if self.settings.task_gap is None else self.settings.task_gap
        self._line = self.settings.success_line

    def adapt(self, traits: RewardTraits) -> None:
        """Take the gap and the success line that an environment declares, where the settings name none.

        Raises:
            ConfigError: there is none, or the settings name a larger gap or another line than it has.
        """
        given, declared = self.settings.task_gap, traits.task_gap
        line = traits.success_line if self.settings.success_line is None else self.settings.success_line
        if traits.success_line is not None and line != traits.success_line:
            raise ConfigError(
                f"success_line: {line:g} is not the {traits.success_line:g} that the environment declares; "
                "leave success_line out"
            )
        if given is None and declared is None:
            raise ConfigError(UNDECLARED_GAP)
        if given is not None and declared is not None and given > declared + ROUNDING:
            raise ConfigError(
                f"task_gap: {given:g} is more than the {declared:g} that the environment declares, so a "
                "failure could be paid more than a success; leave task_gap out"
            )
        gap = declared if given is None else given
        if gap == 0 and line is None:
            raise ConfigError(
                "the environment's task_gap is 0 and it has no success_line: a failure may be paid as much "
                "as a success by the task alone, so that nothing can be added; leave the reward terms out"
            )
        assert gap is not None  # one of the two is there
        self._gap, self._line = gap, line

    @property
    def task_gap(self) -> float:
        """The gap that the bound goes by."""
        return self._gap

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

    def state_dict(self) -> dict[str, Any]:
        """Return weights and statistics, as JSON."""
        return {
            "version": VERSION,
            "weights": self.weights,
            "statistics": {name: normaliser.state_dict() for name, normaliser in self._normalisers.items()},
            "pending": [dict(sums) for sums in self._pending],
            "held": self._held,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
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
        saved_weights = state_item(state, "reward orchestrator", "weights")
        try:
            weights = _checked(saved_weights)
            pending = [self._check(sums) for sums in state.get("pending", [])]
            held = int(state.get("held", 0))
        except (ConfigError, RewardError, AttributeError, TypeError, ValueError) as error:
            raise StateError(f"reward orchestrator: the state is damaged: {error}") from error
        if set(weights) != set(self._weights):
            raise StateError("reward orchestrator: the state's weights are not those of its components")
        for name, saved in statistics.items():
            try:
                self._normalisers[name].load_state_dict(saved)
            except StateError as error:
                raise StateError(f"reward component {name}: {error}") from error
        self._weights = {name: weights[name] for name in self._weights}
        self._pending, self._held = pending, held

    def take_statistics(self, state: Mapping[str, Any]) -> list[str]:
        """Take the statistics of another's state for the components that both have; return their names.

        Raises:
            StateError: it is of another version or window.
        """
        saved = state_item(
            check_version(state, "reward orchestrator", VERSION), "reward orchestrator", "statistics"
        )
        names = [name for name in self._normalisers if name in saved]
        for name in names:
            try:
                self._normalisers[name].load_state_dict(saved[name])
            except StateError as error:
                raise StateError(f"reward component {name}: {error}") from error
        return names

    def save(self, path: Path | str) -> None:
        """Write the state as JSON; raises ``OutputError`` where that cannot be done."""
        save_json(path, self.state_dict())

    def load(self, path: Path | str) -> None:
        """Go back to a saved state; raises ``StateError`` like ``load_state_dict``."""
        self.load_state_dict(load_json(path))

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
        paid |= {name: sums[name] for name in self.settings.raw if name in sums}
        paid[TASK] = scores[TASK] if self.settings.normalise_task else sums[TASK]
        weighted = {name: self._weights[name] * value for name, value in paid.items()}
        elsewhere = {name: self._weights[name] * sums[name] for name in self.by_step}
        weighted = {name: value for name, value in weighted.items() if name not in elsewhere}
        fines, rest = self._factors(weighted, sums[TASK])
        for name in weighted:
            weighted[name] *= 1.0 if name == TASK else fines if name in self.settings.raw else rest
        total = check_number(math.fsum(weighted.values()), "total")
        weighted |= elsewhere
        parts = {name: Part(sums[name], scores[name], weighted[name]) for name in sums}
        if not self.settings.normalise_task:
            self._tell_of_limit(weighted[TASK])
        return Total(soft_limit(total, self.settings.limit), parts)

    def _factors(self, weighted: Mapping[str, float], task: float) -> tuple[float, float]:
        """Return the factors, in [0, 1], that keep raw components and the others within the bound."""
        others = {name: value for name, value in weighted.items() if name != TASK}
        fines = math.fsum(value for name, value in others.items() if name in self.settings.raw)
        rest = math.fsum(value for name, value in others.items() if name not in self.settings.raw)
        bound = self._bound(task)
        kept = max(-bound, min(bound, fines))
        room = bound - math.copysign(1.0, rest) * kept
        factors = (kept / fines if fines else 1.0, room / abs(rest) if abs(rest) > room else 1.0)
        self._held += min(factors) < 1.0
        return factors

    def _bound(self, task: float) -> float:
        """Return what all but the task may move the total of an episode with this task reward."""
        scale = self._normalisers[TASK].scale if self.settings.normalise_task else 1.0
        gap = self._gap if self._gap > 0 or self._line is None else abs(task - self._line)
        return self.settings.share * self._weights[TASK] * gap / scale

    def _tell_of_limit(self, task: float) -> None:
        """Say once that the limit shrinks a task's reward, which then differs less than the task says."""
        paid = soft_limit(task, self.settings.limit)
        if paid == task or self._told:
            return
        self._told = True
        warnings.warn(
            f"the task's part of an episode's reward is {task:.4g} and is paid as {paid:.4g}: beyond nine "
            f"tenths of the limit ({self.settings.limit:g}) rewards grow ever slower, so that long returns "
            "look alike. Set limit: above the largest return, or scale the task's reward. This is said once",
            RewardWarning,
            stacklevel=2,
        )


def _checked(weights: Mapping[str, Any]) -> dict[str, float]:
    checked = check_weights(weights)
    if not checked.get(TASK):
        raise ConfigError(
            "weight of task: expected a number above 0, got "
            f"{checked.get(TASK)!r}; without the task a wrong answer could be worth more than a right one"
        )
    return checked
