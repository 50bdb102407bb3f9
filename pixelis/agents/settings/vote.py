"""The settings of ``rewards.vote``: what a group's majority says takes the place of the env's reward."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from pydantic import field_validator, model_validator
from typing_extensions import Self

from pixelis.agents.settings.algorithm import Grpo
from pixelis.agents.settings.base import Settings, setting
from pixelis.errors import AnswerError, ConfigError, shown
from pixelis.rewards.answers.agreement import AnswerForm

if TYPE_CHECKING:
    from pixelis.agents.settings.rl import TrainConfig

VOTE = "vote"
LEAST_MEMBERS = 3
"""Of two members, those that differ are a tie and those that agree have nothing to learn from each other."""


class VoteSettings(Settings):
    """How members of a group vote for what counts as right; see `pixelis.rewards.answers.agreement`."""

    kind: Literal["auto", "text", "number", "choice", "set", "box", "point"] = setting(
        "auto", "how answers are compared; auto: as the env says, else as texts"
    )
    tolerance: float | None = setting(
        None, "how far numbers or points that agree may be apart, or least IoU of boxes; with such a kind"
    )
    choices: list[str] = setting([], "what there is to choose from; with kind choice")
    threshold: float = setting(
        0.25, "least share of the group that a majority needs, else it abstains", ge=0, le=1
    )
    confidence: bool = setting(
        False, "members weigh as much as the mean probability of the tokens of their answering turn"
    )
    pattern: str | None = setting(
        None, "the answer is the last match of this in the answer's text (its first group, if it has one)"
    )

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str | None) -> str | None:
        try:
            re.compile(pattern or "")
        except re.error as error:
            raise ConfigError(f"pattern must be a regular expression, got {pattern!r} ({error})") from None
        return pattern

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.kind == "auto":
            given = {"tolerance": self.tolerance is not None, "choices": bool(self.choices)}
            for name in (name for name, is_given in given.items() if is_given):
                raise ConfigError(f"{name} is read with a kind of answer only; give kind, or leave it out")
            return self
        try:
            _ = self.form
        except AnswerError as error:
            raise ConfigError(str(error)) from None
        return self

    @property
    def form(self) -> AnswerForm:
        """How answers are compared where ``kind`` says it."""
        return AnswerForm(self.kind, tuple(self.choices), self.tolerance)


def read_vote(rewards: Mapping[str, Any]) -> VoteSettings | None:
    """Return the settings under ``vote``, None where there are none.

    Raises:
        ConfigError: a setting is unknown or of the wrong kind, or there are other terms beside it.
    """
    if not isinstance(rewards, Mapping) or VOTE not in rewards:
        return None
    given = {} if rewards[VOTE] is None else rewards[VOTE]
    if not isinstance(given, Mapping):
        raise ConfigError(
            f"rewards: vote takes a mapping such as {{threshold: 0.5}}, or {{}}, got {shown(given)}"
        )
    others = sorted(str(name) for name in rewards if name != VOTE)
    if others:
        raise ConfigError(
            f"rewards: vote takes the place of the env's reward, and {', '.join(others)} would be added to "
            "what it replaces; leave them out, or vote. A bonus or a penalty of length goes with it (shaping)"
        )
    try:
        return VoteSettings.from_mapping(given)
    except ConfigError as error:
        raise ConfigError(f"rewards.vote: {error}") from None


def check_vote(config: TrainConfig) -> None:
    """Check that nothing beside a vote goes by the reward that it takes the place of.

    Raises:
        ConfigError: the group has fewer than three members, or another setting reads the env's reward.
    """
    if read_vote(config.rewards) is None:
        return
    if config.group_size < LEAST_MEMBERS:
        raise ConfigError(
            f"rewards.vote needs group_size of at least {LEAST_MEMBERS}, got {config.group_size}: of two "
            "members those that differ are a tie. Set group_size: 8"
        )
    algorithm = config.algorithm
    reads = {
        f"algorithm {algorithm.type}": not isinstance(algorithm, Grpo),
        "algorithm.credit turn": isinstance(algorithm, Grpo) and algorithm.credit.type == "turn",
        "algorithm.advantage": isinstance(algorithm, Grpo) and algorithm.advantage.type != "sum",
        f"levels {config.levels.type}": config.levels.type not in ("none", "uniform", "domain_random"),
    }
    for name in (name for name, holds in reads.items() if holds):
        raise ConfigError(
            f"rewards.vote compares whole episodes by their answers alone, and {name} goes by the env's own "
            "reward or success; leave one of the two out"
        )
