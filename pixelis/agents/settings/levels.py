"""The rows of a training run that say how its levels are chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pixelis.agents.settings.options import option
from pixelis.agents.settings.run_settings import RolloutRunSettings
from pixelis.errors import ConfigError

LEVELS = "Levels"


@dataclass(frozen=True)
class LevelRunSettings(RolloutRunSettings):
    """How a run that plays groups chooses its levels; see ``docs/guide/levels.md``."""

    levels: Literal["none", "uniform", "domain_random", "learnability", "plr", "accel", "sfl"] | str = option(
        LEVELS, "none", "what sets the env's dials; none: they stay where they are"
    )
    level_dials: dict[str, Any] = option(  # noqa: RUF009 (a factory makes each dict)
        LEVELS, dict, "dial → the values to choose from (all: every one), e.g. {difficulty: [0, 1]}"
    )
    level_oracle: bool = option(
        LEVELS, True, "the oracle plays each level: no regret, no score; learnability asks first"
    )
    level_band_low: float = option(
        LEVELS, 0.3, "learnability: lower end of the success rates that are aimed at", "[0, 1)"
    )
    level_band_high: float = option(LEVELS, 0.5, "learnability: upper end of that band", "(0, 1)")
    level_decay: float = option(
        LEVELS, 0.95, "learnability: what is left of a cell's counts after a step", "[0, 1]"
    )
    level_memory: int = option(
        LEVELS, 16, "learnability: groups that a cell's estimate is made of, at most", "[1, inf)"
    )
    level_rotation: float = option(
        LEVELS, 0.1, "learnability: share of groups for the cells not seen longest", "(0, 1]"
    )
    level_buffer: int = option(LEVELS, 64, "plr, accel: most levels that are kept", "[1, inf)")
    level_fill: float = option(
        LEVELS, 0.5, "plr, accel: share of them that must be there before replay", "(0, 1]"
    )
    level_replay: float = option(LEVELS, 0.8, "plr, accel: probability of replay, a group", "(0, 1]")
    level_beta: float = option(
        LEVELS, 0.3, "learnability, plr, accel: temperature; near 0 the best alone", "(0, inf)"
    )
    level_staleness: float = option(
        LEVELS, 0.3, "plr, accel: share of replay that goes by how long ago", "[0, 1]"
    )
    level_robust: bool = option(LEVELS, True, "plr: train on replayed levels only, new ones are scored")
    level_edits: int = option(LEVELS, 2, "accel: edited levels a step", "[1, inf)")
    level_candidates: int = option(
        LEVELS, 32, "sfl: random levels that are scored to choose from", "[1, inf)"
    )
    level_keep: int = option(LEVELS, 16, "sfl: how many of them are kept", "[1, inf)")
    level_every: int = option(LEVELS, 20, "sfl: steps between such choices", "[1, inf)")
    level_fresh: float = option(LEVELS, 0.25, "sfl: share of groups on fresh random levels", "[0, 1]")
    level_window: int = option(
        LEVELS, 10, "alert: steps in a row in which every reward was the best", "[1, inf)", identity=False
    )


def check_levels(config: LevelRunSettings) -> None:
    """Check that the settings of the levels fit together.

    Raises:
        ConfigError: naming the first that does not.
    """
    if config.level_band_low > config.level_band_high:
        raise ConfigError(
            f"level_band_low must be at most level_band_high {config.level_band_high}, got "
            f"{config.level_band_low}"
        )
    if config.levels == "none" and config.level_dials:
        raise ConfigError(
            "level_dials are turned by a sampler of levels only, and levels is none; set levels, e.g. to "
            "learnability, or use difficulty"
        )
