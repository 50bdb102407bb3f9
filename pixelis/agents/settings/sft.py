"""The settings of an SFT run, and what expert iteration shares with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import model_validator
from typing_extensions import Self

from pixelis.agents.settings.base import Own, Section, setting
from pixelis.agents.settings.run_settings import Learning, RunSettings
from pixelis.agents.settings.sft_curriculum import DifficultyCurriculum, DifficultyRollback, DifficultyStage
from pixelis.errors import ConfigError


class SupervisedConfig(RunSettings):
    """What every supervised run has besides."""

    batch_size: int = setting(16, "demonstrations an optimiser step", ge=1)
    packing: bool = setting(False, "several demonstrations in one row, without seeing each other")
    pack_length: int | None = setting(
        None, "tokens a packed row holds; null: as the longest demonstration of the step", ge=1, more=True
    )

    @model_validator(mode="after")
    def _check_packing(self) -> Self:
        if not self.packing:
            self.refuse_changed(["pack_length"], "without packing")
        return self


class CurriculumSettings(Section):
    """From easy demonstrations to hard ones."""

    stages: dict[str, DifficultyStage] = setting(
        ..., "stages by name: {mix: {0: 1.0}, metric: accuracy, threshold: 0.9, patience: 2}"
    )
    rollback_tolerance: float = setting(
        0.05, "how much worse the stage before may become before it is taken back", ge=0
    )
    rollback_patience: int = setting(2, "measurements in a row in which it must be; 0: never back", ge=0)

    @model_validator(mode="after")
    def _check(self) -> Self:
        self.make()
        return self

    def make(self) -> DifficultyCurriculum:
        """Return the curriculum at its first stage.

        Raises:
            ConfigError: there is no stage, or one can never be left.
        """
        return DifficultyCurriculum(
            self.stages, DifficultyRollback(self.rollback_tolerance, self.rollback_patience)
        )


class Diversity(Section):
    """Samples of the model while it learns, and how far apart they are; the measure may stand alone."""

    measure: Literal["ngrams", "encoder"] | Own = setting(..., "how far answers are apart")
    weight: float = setting(0.0, "what their diversity is worth in the loss (polychromic SFT)", ge=0)
    samples: int = setting(4, "samples of a set", ge=2)
    prompts: int = setting(4, "sets a step that draws any", ge=1)
    every: int = setting(1, "steps from one such step to the next", ge=1)

    @model_validator(mode="before")
    @classmethod
    def _whole(cls, value: Any) -> Any:
        """Return the short form, the measure alone (beside other settings: as ``type``), as a mapping."""
        if isinstance(value, str):
            return {"measure": value}
        if isinstance(value, Mapping) and "type" in value and "measure" not in value:
            return {"measure" if name == "type" else name: each for name, each in value.items()}
        return value


class SftConfig(SupervisedConfig):
    """Everything that decides an SFT run.

    Raises:
        ConfigError: a value has the wrong type or lies outside its bounds, or there is nothing to learn from.
    """

    learning: ClassVar[Learning] = "demonstrations"

    data: str | None = setting(
        None,
        "JSONL file of chats to learn from, see docs/guide/sft.md; null: the env's player demonstrates",
    )
    demonstrator: str = setting("oracle", "which scripted player of the env demonstrates")
    demonstrations: int = setting(512, "episodes it plays, for each difficulty", ge=1)
    held_out: float = setting(0.1, "share of the demonstrations that is only for measuring", ge=0, lt=1)
    eval_every: int = setting(20, "steps between two measurements on them", ge=1)

    curriculum: CurriculumSettings | None = setting(None, "from easy to hard; null: all at once")
    diversity: Diversity | None = setting(None, "sample sets of answers and measure them; null: do not")

    epochs: int = setting(3, "passes over the demonstrations, where no steps are given", ge=1)
    steps: int | None = setting(
        None, "optimiser steps instead of epochs; must be given with a curriculum", ge=0
    )
    warmup: float = setting(
        0.05, "share of the steps in which lr rises; it then falls as a half cosine", ge=0, lt=1, more=True
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.env is None and self.data is None:
            raise ConfigError(
                "SFT needs demonstrations: give --env (its scripted player plays) or --data FILE"
            )
        if self.data is not None:
            self.refuse_changed(["demonstrator", "demonstrations"], "with data, whose chats are learnt")
        if self.curriculum and self.steps is None:
            raise ConfigError("a curriculum has no epochs; give --steps")
        if self.curriculum and self.held_out == 0:
            raise ConfigError("a curriculum measures held-out demonstrations; give --held-out above 0")
        return self

    def make_curriculum(self) -> DifficultyCurriculum | None:
        """Return the curriculum at its first stage, None without one."""
        return None if self.curriculum is None else self.curriculum.make()
