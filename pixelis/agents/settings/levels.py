"""How the levels of a run are chosen, see ``docs/guide/levels.md``: each way with the dials that it reads."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import model_validator
from typing_extensions import Self

from pixelis.agents.settings.base import Alternatives, Own, Section, setting
from pixelis.errors import ConfigError


class FixedLevels(Section):
    """The env's dials stay where they are."""

    type: Literal["none"] = setting("none", "the env's dials stay where they are")
    window: int = setting(
        10, "alert: steps in a row in which every reward was the best", ge=1, identity=False
    )


class RandomLevels(FixedLevels):
    """Dials are drawn, all values alike or with random weights; what samplers have in common.

    A sampler of another module has ``options`` besides.
    """

    type: Literal["uniform", "domain_random"] = setting("uniform", "what sets the env's dials")  # type: ignore
    dials: dict[str, Any] = setting(
        {}, "dial → the values to choose from (all: every one), e.g. {difficulty: [0, 1]}"
    )
    oracle: bool = setting(True, "the oracle plays each level: no regret, no score; learnability asks first")


class LearnabilityLevels(RandomLevels):
    """Cells in which success is neither sure nor hopeless."""

    type: Literal["learnability"] = setting("learnability", "what sets the env's dials")  # type: ignore
    band_low: float = setting(0.3, "lower end of the success rates that are aimed at", ge=0, lt=1)
    band_high: float = setting(0.5, "upper end of that band", gt=0, lt=1)
    decay: float = setting(0.95, "what is left of a cell's counts after a step", ge=0, le=1)
    memory: int = setting(16, "groups that a cell's estimate is made of, at most", ge=1)
    rotation: float = setting(0.1, "share of groups for the cells not seen longest", gt=0, le=1)
    beta: float = setting(0.3, "temperature; near 0 the best alone", gt=0)

    @model_validator(mode="after")
    def _check_band(self) -> Self:
        if self.band_low > self.band_high:
            raise ConfigError(
                f"levels.band_low must be at most levels.band_high {self.band_high}, got {self.band_low}"
            )
        return self


class ReplayedLevels(RandomLevels):
    """What PLR and ACCEL share: a buffer of levels that are played again."""

    buffer: int = setting(64, "most levels that are kept", ge=1)
    fill: float = setting(0.5, "share of them that must be there before replay", gt=0, le=1)
    replay: float = setting(0.8, "probability of replay, a group", gt=0, le=1)
    beta: float = setting(0.3, "temperature; near 0 the best alone", gt=0)
    staleness: float = setting(0.3, "share of replay that goes by how long ago", ge=0, le=1)


class PlrLevels(ReplayedLevels):
    """Prioritised level replay."""

    type: Literal["plr"] = setting("plr", "what sets the env's dials")  # type: ignore
    robust: bool = setting(True, "train on replayed levels only, new ones are scored")


class AccelLevels(ReplayedLevels):
    """Replay, and edits of what was replayed."""

    type: Literal["accel"] = setting("accel", "what sets the env's dials")  # type: ignore
    edits: int = setting(2, "edited levels a step", ge=1)


class SflLevels(RandomLevels):
    """Sampling for learnability."""

    type: Literal["sfl"] = setting("sfl", "what sets the env's dials")  # type: ignore
    candidates: int = setting(32, "random levels that are scored to choose from", ge=1)
    keep: int = setting(16, "how many of them are kept", ge=1)
    every: int = setting(20, "steps between such choices", ge=1)
    fresh: float = setting(0.25, "share of groups on fresh random levels", ge=0, le=1)


class OwnLevels(RandomLevels):
    """A sampler that another module registers."""

    type: Own = setting("", "what sets the env's dials")  # type: ignore
    options: dict[str, Any] = setting({}, "what that sampler reads besides")


AnyLevels = Annotated[
    FixedLevels | RandomLevels | LearnabilityLevels | PlrLevels | AccelLevels | SflLevels | OwnLevels,
    Alternatives(),
]
