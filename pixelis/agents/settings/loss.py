"""The loss and its parts: each function with the constants that it reads."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import model_validator
from typing_extensions import Self

from pixelis.agents.settings.base import Alternatives, Own, Section, setting
from pixelis.errors import ConfigError

_LOW, _HIGH = "how far the probability ratio may fall below 1", "how far it may rise above 1"
_WHICH = "objective, and how far one update may go"


class Cispo(Section):
    """A capped importance weight."""

    type: Literal["cispo"] = setting("cispo", _WHICH)
    epsilon_high: float = setting(0.2, _HIGH, gt=0)


class Clip(Section):
    """PPO's clipped objective."""

    type: Literal["clip"] = setting("clip", _WHICH)
    epsilon_low: float = setting(0.2, _LOW, gt=0, lt=1)
    epsilon_high: float = setting(0.2, f"{_HIGH} (clip-higher when larger)", gt=0)


class DualClip(Clip):
    """With a second bound on what a bad token can cost."""

    type: Literal["dual_clip"] = setting("dual_clip", _WHICH)  # type: ignore
    cap: float = setting(3.0, "largest ratio that a bad token is charged", gt=1)

    @model_validator(mode="after")
    def _check_cap(self) -> Self:
        if self.cap <= 1 + self.epsilon_high:
            raise ConfigError(
                f"loss.surrogate.cap must be above 1 + epsilon_high = {1 + self.epsilon_high:g}, got "
                f"{self.cap:g}: the second bound would lie inside the first. Raise it (3 is usual)"
            )
        return self


class Sapo(Section):
    """A soft gate in the place of hard ends."""

    type: Literal["sapo"] = setting("sapo", _WHICH)
    positive: float = setting(1.0, "temperature where the advantage is positive", gt=0)
    negative: float = setting(1.05, "temperature elsewhere", gt=0)


class OwnSurrogate(Clip):
    """An objective that another module registers."""

    type: Own = setting("", _WHICH)  # type: ignore


class Kl(Section):
    """The penalty for leaving the starting policy; ``beta`` is its weight."""

    estimator: Literal["k1", "k2", "k3"] | Own = setting("k3", "estimator of the KL")
    place: Literal["loss", "reward"] = setting("loss", "penalise tokens in the loss, or the reward")
    ratio: bool = setting(False, "multiply the KL in the loss by the importance ratio")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.place == "reward" and self.ratio:
            raise ConfigError(
                "loss.kl.ratio multiplies the KL in the loss, but loss.kl.place is 'reward', where the "
                "surrogate's own ratio already multiplies it. Set ratio: false, or place: loss"
            )
        if self.place == "loss" and self.estimator == "k1" and not self.ratio:
            raise ConfigError(
                "loss.kl.estimator 'k1' in the loss has a gradient of mean zero: it adds noise and no "
                "penalty. Set estimator: k2 or k3, or ratio: true, or place: reward"
            )
        return self


class NoCorrection(Section):
    """Samples are taken as those of the policy that is trained."""

    type: Literal["none"] = setting("none", "cut of off-policy weights")


class Correction(Section):
    """Samples are weighed as those of another policy."""

    type: Literal["auto", "truncate", "mask"] = setting(
        "auto", "cut of off-policy weights (TIS, MIS); auto: truncate where the sampler is another"
    )
    level: Literal["token", "sequence"] = setting("token", "one such weight for each token, or episode")
    cap: float = setting(3.0, "largest such weight", ge=1)


class OwnCorrection(Correction):
    """A cut that another module registers."""

    type: Own = setting("", "cut of off-policy weights")  # type: ignore


class Loss(Section):
    """What is minimised."""

    surrogate: Annotated[Clip | DualClip | Cispo | Sapo | OwnSurrogate, Alternatives()] = setting(
        Clip(), _WHICH
    )
    ratio: Literal["token", "sequence"] | Own = setting(
        "token", "importance ratio of each token, or of the sequence (GSPO)"
    )
    aggregation: Literal["token_mean", "sequence_mean", "constant"] | Own = setting(
        "token_mean", "how token losses are averaged: DAPO, GRPO, Dr. GRPO"
    )
    kl: Kl = setting(Kl(), "the penalty for leaving the starting policy; beta is its weight")
    correction: Annotated[Correction | NoCorrection | OwnCorrection, Alternatives()] = setting(
        Correction(), "for samples that are another policy's"
    )

    @property
    def constants(self) -> dict[str, Any]:
        """What the surrogate reads, under the names of `SurrogateConstants`."""
        names = {"cap": "dual_clip", "positive": "sapo_positive", "negative": "sapo_negative"}
        values = self.surrogate.to_mapping()
        return {names.get(name, name): value for name, value in values.items() if name != "type"}
