"""The settings of an expert iteration run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pixelis.agents.settings.options import option
from pixelis.agents.settings.run_settings import (
    EVALUATION,
    MODEL,
    ROLLOUT,
    RUN,
    TASK,
    UPDATE,
    RolloutRunSettings,
)
from pixelis.agents.settings.supervised import SupervisedConfig

SELECTION = "Selection"


@dataclass(frozen=True)
class ExpertConfig(RolloutRunSettings, SupervisedConfig):
    """Everything that decides an expert iteration run.

    Raises:
        ConfigError: a value has the wrong type or lies outside its bounds.
    """

    headings = (TASK, MODEL, ROLLOUT, SELECTION, UPDATE, EVALUATION, RUN)

    select: Literal["best", "all"] = option(
        SELECTION, "best", "learn from the best episode of a task, or from all above --min-reward"
    )
    min_reward: float = option(SELECTION, 0.0, "an episode must have earned more than this")
    restart: bool = option(
        SELECTION, False, "each round learns from the starting adapter, as STaR and ReST do, not the last one"
    )

    steps: int = option(
        UPDATE, 100, "rounds; one is a rollout and the SFT on what was kept", "[0, inf)", identity=False
    )
    epochs: int = option(UPDATE, 1, "passes over what a round kept", "[1, inf)")
