"""A curriculum of reward weights: by training step, by what was learnt, or both; and back when it is lost.

Pure bookkeeping: no model, no clock, no randomness. Whoever trains calls ``observe`` after every step.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pixelis.errors import ConfigError, RewardError, StateError, suggest
from pixelis.rewards.stack.metric_series import MetricSeries, check_expression, slope
from pixelis.rewards.stack.stages import (
    ExitCondition,
    WeightRollback,
    WeightStage,
    check_positive,
    read_rollback,
    read_stages,
    shipped_curriculum,
)
from pixelis.rewards.terms.state import check_version, load_json, save_json, state_item

VERSION = 1
DOUBLINGS = 10
_KEYS = ("stages", "rollback", "check_every")


@dataclass(frozen=True)
class StageChange:
    """One stage gave way to another.

    Attributes:
        step: the training step at which it happened.
        event: ``advance`` or ``rollback``.
        stage: the stage that is on now.
        previous: the one that was on.
        reason: in words, with the numbers that decided.
    """

    step: int
    event: str
    stage: str
    previous: str
    reason: str


@dataclass
class _Progress:
    """Where the curriculum is; all of it is saved."""

    stage: int = 0
    entered: int = 0  # the step at which the stage began
    observed: int = -1  # the last step that was shown
    checked: int = 0  # the last step at which the exits were judged
    frozen_until: int = 0  # no change before this step
    streaks: list[int] = field(default_factory=list)  # exit → checks in a row in which it held
    reference: float | None = None  # the rollback metric's window mean when the stage began
    returns: dict[str, int] = field(default_factory=dict)  # stage → how often it was gone back to
    history: list[dict[str, Any]] = field(default_factory=list)


class WeightCurriculum:
    """Decides which stage's weights are on.

    A stage ends when any one of its exits has held for its patience, or after its ``steps``. Exits are judged
    every ``check_every`` training steps. Both that and ``steps`` double for a stage each time it is gone back
    to, up to `DOUBLINGS` times, so that two stages take turns ever less often.

    Args:
        stages: in order, at least one; names differ.
        available_metrics: names that whoever calls ``observe`` computes.
        rollback: when to go one stage back; None for never.
        check_every: training steps between two judgements of the exits.

    Raises:
        ConfigError: nobody computes a metric that a condition names, or a stage but the last can never end.
    """

    def __init__(
        self,
        stages: Sequence[WeightStage],
        *,
        available_metrics: Collection[str] = (),
        rollback: WeightRollback | None = None,
        check_every: int = 100,
    ) -> None:
        check_positive("curriculum", check_every=check_every)
        _check_stages(stages)
        asked: list[tuple[str, ExitCondition | WeightRollback]] = []
        self.stages, self.rollback, self.check_every = tuple(stages), rollback, check_every
        asked += [(f"stage {stage.name!r}", one) for stage in stages for one in stage.exits]
        asked += [] if rollback is None else [("rollback", rollback)]
        watched = [check_expression(one.metric, available_metrics, user) for user, one in asked]
        self._series = MetricSeries(watched, max([one.window for _, one in asked], default=1))
        self._now = _Progress(streaks=[0] * len(self.stages[0].exits))

    @property
    def stage(self) -> WeightStage:
        """The stage that is on."""
        return self.stages[self._now.stage]

    @property
    def index(self) -> int:
        """Its number, from 0."""
        return self._now.stage

    @property
    def weights(self) -> dict[str, float]:
        """The weights that are on."""
        return dict(self.stage.weights)

    @property
    def interval(self) -> int:
        """Training steps between two judgements of this stage's exits."""
        return self.check_every * self._longer

    @property
    def earliest(self) -> dict[str, int]:
        """Each stage but the first → training steps before which it cannot begin, whatever is learnt."""
        found, steps = {}, 0
        for stage, following in itertools.pairwise(self.stages):
            ways = [self._soonest(stage, one) for one in stage.exits]
            if stage.steps is not None:
                ways.append(stage.steps)
            steps += min(ways)
            found[following.name] = steps
        return found

    @property
    def unmeasured(self) -> tuple[str, ...]:
        """The metrics of this stage's exits that had no value when these were last judged, nor before."""
        now = self._now
        if now.checked == now.entered:
            return ()
        return tuple(one.metric for one in self.stage.exits if not self._series.count(one.metric))

    @property
    def history(self) -> tuple[StageChange, ...]:
        """Every change so far."""
        return tuple(StageChange(**entry) for entry in self._now.history)

    def observe(self, step: int, metrics: Mapping[str, float | None]) -> StageChange | None:
        """Take in a training step's metrics; return the change that follows, if any. Back comes before on.

        Args:
            step: finished training steps, greater than at the last call.
            metrics: name → value; None, NaN or infinity where there is none in this step.

        Raises:
            RewardError: the step does not grow, or a watched metric is no number.
        """
        now = self._now
        if step <= now.observed:
            raise RewardError(
                f"curriculum: steps must grow, got {step} after {now.observed}; "
                "call observe once a training step"
            )
        now.observed = step
        self._series.add(step, metrics)
        if step < now.frozen_until:
            return None
        degraded = self._degraded()
        if degraded is not None:
            return self._go_back(step, degraded)
        reason = self._done(step)
        if reason is None or self.index == len(self.stages) - 1:
            return None
        return self._enter(self.index + 1, step, "advance", reason)

    def state_dict(self) -> dict[str, Any]:
        """Return where it is, as JSON."""
        names = [stage.name for stage in self.stages]
        return {
            "version": VERSION,
            "stages": names,
            "progress": asdict(self._now),
            "series": self._series.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go back to a state.

        Raises:
            StateError: it is of another version or of other stages.
        """
        state = check_version(state, "curriculum", VERSION)
        names = [stage.name for stage in self.stages]
        if list(state_item(state, "curriculum", "stages")) != names:
            raise StateError(f"curriculum: the state has the stages {state['stages']}, expected {names}")
        try:
            found = _Progress(**state_item(state, "curriculum", "progress"))
            tuple(StageChange(**entry) for entry in found.history)
            self._series.load_state_dict(state_item(state, "curriculum", "series"))
        except (TypeError, KeyError, ValueError) as error:
            raise StateError(f"curriculum: the state does not fit this version: {error}") from error
        if not 0 <= found.stage < len(names) or len(found.streaks) != len(self.stages[found.stage].exits):
            raise StateError("curriculum: the state's stage or exits are not those of this curriculum")
        self._now = found

    def save(self, path: Path | str) -> None:
        """Write the state as JSON; raises ``OutputError`` where that cannot be done."""
        save_json(path, self.state_dict())

    def load(self, path: Path | str) -> None:
        """Go back to a saved state; raises ``StateError`` like ``load_state_dict``."""
        self.load_state_dict(load_json(path))

    # ------------------------------------------------------------------ private

    @property
    def _longer(self) -> int:
        """How many times as long this stage lasts at least, for having been gone back to."""
        return 2 ** min(DOUBLINGS, self._now.returns.get(self.stage.name, 0))

    def _degraded(self) -> str | None:
        """Return why the run must go back, or None."""
        rule, now = self.rollback, self._now
        if rule is None or self.index == 0:
            return None
        mean = self._series.mean(rule.metric, rule.window)
        if mean is None:
            return None
        if now.reference is not None and now.reference - mean > rule.drop:
            return f"{rule.metric} fell from {now.reference:.4g} to {mean:.4g}, by more than {rule.drop:g}"
        if rule.floor is not None and mean < rule.floor:
            return f"{rule.metric} {mean:.4g} is below the floor {rule.floor:g}"
        return None

    def _go_back(self, step: int, reason: str) -> StageChange:
        assert self.rollback is not None  # only then is anything degraded
        change = self._enter(self.index - 1, step, "rollback", reason)
        self._now.frozen_until = step + self.rollback.cooldown
        self._now.returns[self.stage.name] = self._now.returns.get(self.stage.name, 0) + 1
        return change

    def _done(self, step: int) -> str | None:
        """Return why the stage is over, or None."""
        now, stage = self._now, self.stage
        if stage.steps is not None and step - now.entered >= stage.steps * self._longer:
            return f"{stage.steps * self._longer} steps"
        if step - now.checked < self.interval:
            return None
        now.checked = step
        for place, condition in enumerate(stage.exits):
            value = self._measure(condition)
            holds = value is not None and condition.holds(value)
            now.streaks[place] = now.streaks[place] + 1 if holds else 0
            if now.streaks[place] >= condition.patience:
                return f"{condition.text} ({value:.4g})"
        return None

    def _soonest(self, stage: WeightStage, condition: ExitCondition) -> int:
        """Return after how many steps of a stage the condition can have held for its patience."""
        values = max(stage.min_samples, 1 if condition.statistic == "value" else condition.window)
        return self.check_every * (math.ceil(values / self.check_every) + condition.patience - 1)

    def _measure(self, condition: ExitCondition) -> float | None:
        """Return the statistic, or None while there are too few values in this stage."""
        series, least = self._series, 1 if condition.statistic == "value" else condition.window
        if series.count(condition.metric) < max(self.stage.min_samples, least):
            return None
        if condition.statistic == "slope":
            return slope(series.last(condition.metric, condition.window))
        return series.mean(condition.metric, 1 if condition.statistic == "value" else condition.window)

    def _enter(self, index: int, step: int, event: str, reason: str) -> StageChange:
        now, previous = self._now, self.stage
        reached = None if self.rollback is None else self._latest_mean(self.rollback)
        now.stage, now.entered, now.checked = index, step, step
        now.reference = reached if event == "advance" else None
        now.streaks = [0] * len(self.stage.exits)
        self._series.clear()
        change = StageChange(step, event, self.stage.name, previous.name, reason)
        now.history.append(asdict(change))
        return change

    def _latest_mean(self, rule: WeightRollback) -> float | None:
        points = self._series.last(rule.metric, rule.window)
        return sum(value for _, value in points) / len(points) if points else None


def _check_stages(stages: Sequence[WeightStage]) -> None:
    names = [stage.name for stage in stages]
    if not stages or len(set(names)) != len(names):
        raise ConfigError(f"a curriculum needs stages with names that differ, got {names}")
    for stage in stages[:-1]:
        if not stage.exits and stage.steps is None:
            raise ConfigError(
                f"stage {stage.name!r} can never end; give it exits or steps (only the last may have neither)"
            )


def read_curriculum(values: Any, available_metrics: Collection[str] = ()) -> WeightCurriculum:
    """Return the curriculum that plain data describe.

    Args:
        values: ``steps`` or ``performance`` for a shipped one; a mapping with ``stages`` and optionally
            ``rollback`` and ``check_every``.
        available_metrics: names that the trainer computes.

    Raises:
        ConfigError: an unknown key or metric, or a value of the wrong kind.
    """
    if isinstance(values, str):
        values = shipped_curriculum(values)
    if not isinstance(values, Mapping) or "stages" not in values:
        raise ConfigError(
            f"curriculum: expected steps, performance, or a mapping with stages, got {values!r}"
        )
    for key in values:
        if key not in _KEYS:
            raise ConfigError(f"curriculum has no setting {key!r}.{suggest(str(key), _KEYS)}")
    return WeightCurriculum(
        read_stages(values["stages"]),
        available_metrics=available_metrics,
        rollback=read_rollback(values.get("rollback")),
        check_every=values.get("check_every", 100),
    )
