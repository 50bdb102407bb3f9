"""The algorithms: GRPO compares the episodes of a group, PPO asks a value head."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import model_validator
from typing_extensions import Self

from pixelis.agents.settings.base import Alternatives, Own, Section, setting
from pixelis.errors import ConfigError

_CREDIT, _COMPARED = "what has an advantage of its own", "what members of a group are compared by"
_TURN_SCALES, _PART_SCALES = ("group", "batch", "none"), ("batch", "none")


class EpisodeCredit(Section):
    """One advantage an episode."""

    type: Literal["episode"] = setting("episode", _CREDIT)


class TurnCredit(Section):
    """One advantage a turn, from step rewards."""

    type: Literal["turn"] = setting("turn", _CREDIT)
    gamma: float = setting(1.0, "discount of a turn", gt=0, le=1)


class BySum(Section):
    """The rewards themselves."""

    type: Literal["sum"] = setting("sum", _COMPARED)


class ByPart(Section):
    """Each part of the rewards (GDPO)."""

    type: Literal["per_part"] = setting("per_part", _COMPARED)
    weights: dict[str, float] = setting({}, "part of the reward → weight, e.g. {task: 1.0}")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.weights or min(self.weights.values()) < 0:
            raise ConfigError(
                "algorithm.advantage.weights must be part of the reward → number >= 0 with per_part, got "
                f"{self.weights!r}"
            )
        return self


class BySet(Section):
    """The sets that they are in (polychromic objectives)."""

    type: Literal["polychromic"] = setting("polychromic", _COMPARED)
    set_size: int = setting(4, "members of a set", ge=2)
    set_floor: float = setting(0.0, "the reward that is worth nothing")


class OwnAdvantage(Section):
    """What another module registers."""

    type: Own = setting("", _COMPARED)


class Replay(Section):
    """Episodes of earlier steps that are trained on again."""

    ratio: float = setting(..., "stored episodes a step, as a share of those played", gt=0)
    capacity: int = setting(100, "stored episodes, those with the best advantages", ge=1)
    staleness: int = setting(10, "steps for which an episode may be replayed", ge=1)


class Grpo(Section):
    """Advantages from the group."""

    type: Literal["grpo"] = setting("grpo", "where advantages come from")
    scale: Literal["group", "batch", "none", "leave_one_out"] | Own = setting(
        "group", "what an episode is measured by: deviation, or the others (RLOO)"
    )
    credit: Annotated[EpisodeCredit | TurnCredit, Alternatives()] = setting(EpisodeCredit(), _CREDIT)
    advantage: Annotated[BySum | ByPart | BySet | OwnAdvantage, Alternatives()] = setting(BySum(), _COMPARED)
    threshold: float = setting(0.0, "episodes with smaller advantages are not trained on", ge=0)
    refill_episodes: int = setting(
        0, "most extra episodes a step that replace zero-variance groups; 0: none", ge=0
    )
    replay: Replay | None = setting(None, "episodes that are trained on again; null: there are none")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.credit.type == "turn" and self.scale not in _TURN_SCALES:
            raise ConfigError(
                f"algorithm.scale must be one of {', '.join(_TURN_SCALES)} with credit turn, got "
                f"{self.scale!r}; choose one of them, or credit episode"
            )
        if self.credit.type == "turn" and self.advantage.type != "sum":
            raise ConfigError(
                f"algorithm.credit turn compares rewards, got advantage {self.advantage.type}; set it to sum"
            )
        if self.advantage.type == "per_part" and self.scale not in _PART_SCALES:
            raise ConfigError(
                "algorithm.scale must be batch (GDPO) or none with advantage per_part, whose parts are "
                f"already divided by the group's deviation, got {self.scale!r}"
            )
        return self

    @property
    def gamma(self) -> float:
        """Discount of a turn; 1 where there is none."""
        return self.credit.gamma if isinstance(self.credit, TurnCredit) else 1.0


class Ppo(Section):
    """Advantages from a value head."""

    type: Literal["ppo"] = setting("ppo", "where advantages come from")
    gamma: float = setting(1.0, "discount of a token", gt=0, le=1)
    gae_lambda: float = setting(0.95, "lambda of generalised advantage estimation", ge=0, le=1)
    value_lr: float = setting(1e-3, "AdamW learning rate of the value head", gt=0)
    value_epochs: int = setting(4, "optimiser steps of the value head a rollout", ge=1)
    value_clip: float = setting(0.2, "how far values may move in an update", gt=0)


Algorithm = Annotated[Grpo | Ppo, Alternatives()]
