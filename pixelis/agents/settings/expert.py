"""The settings of an expert iteration run."""

from __future__ import annotations

from typing import Literal

from pixelis.agents.settings.base import setting
from pixelis.agents.settings.run_settings import RolloutRunSettings
from pixelis.agents.settings.sft import SupervisedConfig


class ExpertConfig(RolloutRunSettings, SupervisedConfig):  # type: ignore[misc] (env)
    """Everything that decides an expert iteration run.

    Raises:
        ConfigError: a value has the wrong type or lies outside its bounds.
    """

    select: Literal["best", "all"] = setting(
        "best", "learn from the best episode of a task, or from all above --min-reward"
    )
    min_reward: float = setting(0.0, "an episode must have earned more than this")
    restart: bool = setting(
        False, "each round learns from the starting adapter, as STaR and ReST do, not the last one"
    )

    steps: int = setting(100, "rounds; one is a rollout and the SFT on what was kept", ge=0, identity=False)
    epochs: int = setting(1, "passes over what a round kept", ge=1)
