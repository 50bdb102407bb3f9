"""The settings of an SFT run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pixelis.agents.settings.options import option
from pixelis.agents.settings.run_settings import EVALUATION, MODEL, ROLLOUT, RUN, TASK, UPDATE
from pixelis.agents.settings.sft_curriculum import Curriculum, RollbackRule, stages_from
from pixelis.agents.settings.supervised import SupervisedConfig
from pixelis.errors import ConfigError

DATA, CURRICULUM, DIVERSITY = "Demonstrations", "Curriculum", "Diversity"


@dataclass(frozen=True)
class SftConfig(SupervisedConfig):
    """Everything that decides an SFT run.

    Raises:
        ConfigError: a value has the wrong type or lies outside its bounds, or there is nothing to learn from.
    """

    learning = "demonstrations"
    headings = (TASK, DATA, CURRICULUM, DIVERSITY, MODEL, ROLLOUT, UPDATE, EVALUATION, RUN)

    data: str | None = option(
        DATA,
        None,
        "JSONL file of chats (docs/guide/sft.md); none: the env's policy demonstrates",
    )
    demonstrator: str = option(DATA, "oracle", "which scripted policy of the env demonstrates")
    demonstrations: int = option(DATA, 512, "episodes it plays, for each difficulty", "[1, inf)")
    held_out: float = option(DATA, 0.1, "share of the demonstrations that is only for measuring", "[0, 1)")
    eval_every: int = option(DATA, 20, "steps between two measurements on them", "[1, inf)")

    curriculum: dict[str, Any] = option(  # noqa: RUF009 (a factory makes each dict)
        CURRICULUM, dict, "stages by name: {mix: {0: 1.0}, metric: accuracy, threshold: 0.9, patience: 2}"
    )
    rollback_tolerance: float = option(
        CURRICULUM, 0.05, "how much worse the stage before may become before it is taken back", "[0, inf)"
    )
    rollback_patience: int = option(
        CURRICULUM, 2, "measurements in a row in which it must be; 0: never back", "[0, inf)"
    )

    diversity: Literal["none", "ngrams", "encoder"] | str = option(
        DIVERSITY, "none", "sample sets of answers and measure how far apart they are"
    )
    diversity_weight: float = option(
        DIVERSITY, 0.0, "what their diversity is worth in the loss (polychromic SFT)", "[0, inf)"
    )
    diversity_samples: int = option(DIVERSITY, 4, "samples of a set", "[2, inf)")
    diversity_prompts: int = option(DIVERSITY, 4, "sets a step that draws any", "[1, inf)")
    diversity_every: int = option(DIVERSITY, 1, "steps from one such step to the next", "[1, inf)")

    epochs: int = option(UPDATE, 3, "passes over the demonstrations; not used with a curriculum", "[1, inf)")
    steps: int | None = option(
        UPDATE, None, "optimiser steps instead of epochs; must be given with a curriculum", "[0, inf)"
    )
    warmup: float = option(
        UPDATE, 0.05, "share of the steps in which lr rises; it then falls as a half cosine", "[0, 1)"
    )

    def __post_init__(self) -> None:
        """Check every field, and those that belong together."""
        super().__post_init__()
        if self.env is None and self.data is None:
            raise ConfigError(
                "SFT needs demonstrations: give --env (its scripted policy plays) or --data FILE"
            )
        if self.diversity_weight and self.diversity == "none":
            raise ConfigError(
                f"diversity_weight {self.diversity_weight} needs a measure of diversity; set diversity: "
                "ngrams, or encoder"
            )
        if self.curriculum and self.steps is None:
            raise ConfigError("a curriculum has no epochs; give --steps")
        if self.curriculum and self.held_out == 0:
            raise ConfigError("a curriculum measures held-out demonstrations; give --held-out above 0")
        if self.curriculum:
            self.make_curriculum()

    def make_curriculum(self) -> Curriculum:
        """Return the curriculum at its first stage.

        Raises:
            ConfigError: a stage is not what it should be; the message names it.
        """
        rule = RollbackRule(self.rollback_tolerance, self.rollback_patience)
        return Curriculum(stages_from(self.curriculum), rule)
