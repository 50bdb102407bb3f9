"""When alarms of a run go on, see ``docs/guide/monitor.md``: the numbers that its rules compare with."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from pixelis.agents.settings.base import Section, setting

AlarmName = Literal[
    "success fell",
    "success below its start",
    "entropy rises",
    "entropy falls",
    "KL is large",
    "loss above its start",
    "no differences inside groups",
    "episodes run out",
    "turns are cut off",
    "answers are empty",
    "reward and watched scores part",
    "the majority is wrong",
    "sampler and trainer differ",
    "no gradient",
]


def _names(value: Any) -> Any:
    """Return names, which may stand in one text with commas between them, as a list."""
    return [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value


class AlarmThresholds(Section):
    """What the rules of alarms compare a run's metrics with; they decide no number of the training itself.

    With ``on_alarm: lower_lr`` they decide when the rate is lowered, as that setting does, and like it may be
    others when a run is resumed.
    """

    ignore: Annotated[list[AlarmName], BeforeValidator(_names)] = setting(
        [], "names of alarms that are never on, with commas between them", identity=False
    )
    errors: float = setting(
        4.0, "standard errors by which entropy, success and loss have to change", gt=0, identity=False
    )
    success_fall: float = setting(
        0.25, "by which success has to lie below its best", gt=0, le=1, identity=False
    )
    success_below: float = setting(
        0.1,
        "by which success has to lie below its start, or with a vote below its best",
        gt=0,
        le=1,
        identity=False,
    )
    entropy_rise: float = setting(
        0.08, "nats a token by which entropy has to rise; a fall of .02 is enough", gt=0, identity=False
    )
    kl_reference: float = setting(
        1.0, "policy/kl_reference that is too large, in nats a token", gt=0, identity=False
    )
    kl_sampler: float = setting(
        0.2, "policy/kl_sampler that is too large, in nats a token", gt=0, identity=False
    )
    mismatch: float = setting(0.1, "policy/mismatch that is too large, in nats a token", gt=0, identity=False)
    loss_rise: float = setting(
        0.5, "nats by which the loss on demonstrations has to lie above its start", gt=0, identity=False
    )
    zero_variance: float = setting(
        0.9, "share of groups in which all are paid the same that is too large", gt=0, le=1, identity=False
    )
    truncated: float = setting(
        0.25,
        "by which the share of truncated episodes, and of cut turns, has to rise",
        gt=0,
        le=1,
        identity=False,
    )
    solved: float = setting(
        0.8,
        "success from which equal rewards and a low entropy are what learning is for",
        gt=0,
        le=1,
        identity=False,
    )
