"""From easy demonstrations to hard ones: stages with mixes of difficulties, forward and back.

A stage is left when its held-out metric has passed its threshold in ``patience`` evaluations in a row, or
after a number of steps; it is taken back when what the stage before had reached degrades. Pure bookkeeping:
no model, no clock, no randomness.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from pydantic import model_validator
from typing_extensions import Self

from pixelis.agents.settings.base import Section, setting
from pixelis.errors import CheckpointError, ConfigError

Metric = Literal["loss", "accuracy"]
Event = Literal["advance", "rollback"]


class DifficultyStage(Section):
    """One stage: what is learnt, and when it is left."""

    mix: dict[int, float] = setting(..., "difficulty → share of the batch, above 0")
    metric: Metric = setting("accuracy", "held-out loss (nats a token) or accuracy (share of tokens)")
    threshold: float | None = setting(None, "passes when at least this good; null: only steps ends the stage")
    patience: int = setting(1, "evaluations in a row that must pass", ge=1)
    steps: int | None = setting(None, "leave after so many steps whatever the metric says", ge=1)

    @model_validator(mode="after")
    def _check_mix(self) -> Self:
        if not self.mix or min(self.mix.values()) <= 0:
            raise ConfigError(
                f"a stage needs a mix such as {{0: 0.5, 1: 0.5}}, shares above 0, got {self.mix}"
            )
        return self

    @property
    def shares(self) -> dict[int, float]:
        """The mix in ascending order, scaled to a sum of 1."""
        total = sum(self.mix.values())
        return {level: self.mix[level] / total for level in sorted(self.mix)}

    def passes(self, value: float) -> bool:
        """Return whether a value of the metric is good enough to leave."""
        return self.threshold is not None and not worse(self.metric, value, self.threshold)

    def measure(self, scores: Mapping[int, Mapping[str, float]]) -> float:
        """Return the metric over the stage's difficulties, weighted by their shares in the mix."""
        return sum(share * scores[level][self.metric] for level, share in self.shares.items())


def worse(metric: str, value: float, than: float, by: float = 0.0) -> bool:
    """Return whether a value is worse than another by more than ``by``; NaN is worse than anything."""
    good = value <= than + by if metric == "loss" else value >= than - by
    return not good


@dataclass(frozen=True)
class DifficultyRollback:
    """When to go one stage back.

    Attributes:
        tolerance: how much worse than when it was left the previous stage's metric may become, >= 0.
        patience: evaluations in a row in which it must be worse than that, at least 1; 0: never go back.
    """

    tolerance: float = 0.05
    patience: int = 2

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.tolerance < 0 or self.patience < 0:
            raise ConfigError(f"a rollback needs tolerance >= 0 and patience >= 0, got {self}")


@dataclass
class _Progress:
    """Where the curriculum is; all of it is saved."""

    stage: int = 0
    entered: int = 0  # the step at which the stage began
    passed: int = 0  # evaluations in a row that passed
    degraded: int = 0  # evaluations in a row in which the stage before was worse than when it was left
    left_at: dict[str, float] = field(default_factory=dict)  # stage index → its metric when it was left
    returns: dict[str, int] = field(default_factory=dict)  # stage index → how often it was returned to
    history: list[list[Any]] = field(default_factory=list)  # [step, event, stage entered]


class DifficultyCurriculum:
    """Decides which stage is on.

    Each return to a stage doubles the patience it asks for before it is left again, so that two stages do not
    take turns for ever.

    Args:
        stages: by name in order, at least one.
        rollback: when to go back.
    """

    def __init__(
        self, stages: Mapping[str, DifficultyStage], rollback: DifficultyRollback | None = None
    ) -> None:
        if not stages:
            raise ConfigError("a curriculum needs at least one stage")
        for name, stage in [*stages.items()][:-1]:
            if stage.threshold is None and stage.steps is None:
                raise ConfigError(
                    f"stage {name!r} can never be left; give it a threshold or steps (only the last may"
                    " have neither)"
                )
        self.names, self.stages = tuple(stages), tuple(stages.values())
        self.rollback = rollback or DifficultyRollback()
        self._now = _Progress()

    @property
    def stage(self) -> DifficultyStage:
        """The stage that is on."""
        return self.stages[self._now.stage]

    @property
    def index(self) -> int:
        """Its number, from 0."""
        return self._now.stage

    @property
    def levels(self) -> tuple[int, ...]:
        """Every difficulty of any stage, ascending."""
        return tuple(sorted({level for stage in self.stages for level in stage.mix}))

    @property
    def watched(self) -> tuple[int, ...]:
        """The difficulties that `observe` needs now: those of this stage and of the one before."""
        here = {*self.stage.mix, *(self.stages[self.index - 1].mix if self.index else ())}
        return tuple(sorted(here))

    @property
    def patience(self) -> int:
        """Evaluations in a row that must pass before this stage is left."""
        return self.stage.patience * 2 ** self._now.returns.get(str(self.index), 0)

    @property
    def history(self) -> list[tuple[int, str, int]]:
        """What happened, as (step, event, stage entered)."""
        return [(int(step), str(event), int(stage)) for step, event, stage in self._now.history]

    def is_over(self, step: int) -> bool:
        """Return whether the stage is left after so many steps whatever the metric says; never the last."""
        steps = self.stage.steps if self.index < len(self.stages) - 1 else None
        return steps is not None and step - self._now.entered >= steps

    def observe(self, step: int, scores: Mapping[int, Mapping[str, float]]) -> Event | None:
        """Take in an evaluation and return what follows from it; going back comes before going on.

        Args:
            step: finished training steps.
            scores: difficulty → ``loss`` and ``accuracy`` on held-out demonstrations, for each of `watched`.
        """
        now = self._now
        if self.index and self._has_degraded(scores):
            self._enter(now.stage - 1, step, "rollback")
            now.returns[str(now.stage)] = now.returns.get(str(now.stage), 0) + 1
            return "rollback"
        value = self.stage.measure(scores)
        now.passed = now.passed + 1 if self.stage.passes(value) else 0
        is_last = self.index == len(self.stages) - 1
        if is_last or (now.passed < self.patience and not self.is_over(step)):
            return None
        now.left_at[str(now.stage)] = value
        self._enter(now.stage + 1, step, "advance")
        return "advance"

    def state_dict(self) -> dict[str, Any]:
        """Return where it is, as JSON-able values."""
        return asdict(self._now)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go back to a state.

        Raises:
            CheckpointError: it is not one of this curriculum.
        """
        try:
            found = _Progress(**state)
        except TypeError as error:
            raise CheckpointError(f"the curriculum's state does not fit this version: {error}") from error
        if not 0 <= found.stage < len(self.stages):
            raise CheckpointError(
                f"the curriculum has {len(self.stages)} stages, the state is of {found.stage}"
            )
        self._now = found

    # ------------------------------------------------------------------ private

    def _has_degraded(self, scores: Mapping[int, Mapping[str, float]]) -> bool:
        now, before = self._now, self.stages[self.index - 1]
        left_at = now.left_at[str(now.stage - 1)]
        bad = worse(before.metric, before.measure(scores), left_at, self.rollback.tolerance)
        now.degraded = now.degraded + 1 if bad else 0
        return bool(self.rollback.patience) and now.degraded >= self.rollback.patience

    def _enter(self, stage: int, step: int, event: str) -> None:
        now = self._now
        now.stage, now.entered, now.passed, now.degraded = stage, step, 0, 0
        now.history.append([step, event, stage])
