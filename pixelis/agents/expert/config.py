"""The settings of an expert iteration run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pixelis.agents.grpo.config import ROLLOUT, TASK, UPDATE
from pixelis.agents.grpo.options import option
from pixelis.agents.sft.settings import SupervisedConfig

SELECTION = "Selection"


@dataclass(frozen=True)
class ExpertConfig(SupervisedConfig):
    """Everything that decides an expert iteration run.

    Raises:
        ConfigError: a value has the wrong type or lies outside its bounds.
    """

    env: str = option(TASK, "Pixelis/ZoomRead-v0", "Gymnasium id of the environment, module:Id-v0 included")

    groups: int = option(ROLLOUT, 8, "tasks per round; each is played by one group of episodes", "[1, inf)")
    group_size: int = option(ROLLOUT, 8, "episodes of the same task, the n of best-of-n", "[1, inf)")
    env_threads: int = option(
        ROLLOUT, 1, "threads that step envs; more only where envs allow it", "[1, inf)", identity=False
    )

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
    warmup_steps: int = option(UPDATE, 5, "optimiser steps over which lr rises linearly", "[0, inf)")
