"""Settings that an algorithm cannot keep are refused rather than ignored."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pixelis.agents.episodes.answers import require_measure
from pixelis.agents.losses.credit import TURN_SCALES
from pixelis.errors import ConfigError

if TYPE_CHECKING:
    from pixelis.agents.settings.rl import TrainConfig

# What depends on the group's rewards, or on advantages that stay what they are, with the value that is "off".
_GROUP_ONLY = {
    "credit": "episode",
    "advantage": "sum",
    "refill_episodes": 0,
    "replay_ratio": 0,
    "advantage_threshold": 0,
}
_PART_SCALES = ("batch", "none")


def check_algorithm(config: TrainConfig) -> None:
    """Check that no setting is on which the algorithm has no use for.

    Raises:
        ConfigError: naming the first one.
    """
    if config.credit == "turn" and config.advantage_scale not in TURN_SCALES:
        raise ConfigError(
            f"advantage_scale must be one of {', '.join(TURN_SCALES)} with credit turn, got "
            f"{config.advantage_scale!r}; choose one of them, or credit episode"
        )
    if config.algorithm == "grpo":
        return
    for name, off in _GROUP_ONLY.items():
        if getattr(config, name) != off:
            raise ConfigError(
                f"{name} must be {off!r} with algorithm ppo, whose advantages come from a value head, got "
                f"{getattr(config, name)!r}; leave it out, or use algorithm grpo"
            )


def check_comparison(config: TrainConfig) -> None:
    """Check that what members of a group are compared by goes with the other settings.

    Raises:
        ConfigError: naming the first that does not.
    """
    if config.bonus == "diversity":
        require_measure(config.diversity, "bonus diversity")
        if config.bonus_weight < 0:
            raise ConfigError(
                f"bonus_weight must be at least 0 with bonus diversity, got {config.bonus_weight}: below 0 a "
                "reply that a gate stopped could come out above others"
            )
    if config.advantage != "sum" and config.credit == "turn":
        raise ConfigError(f"credit turn compares rewards, got advantage {config.advantage!r}; set it to sum")
    if config.advantage == "polychromic":
        require_measure(config.diversity, "advantage polychromic")
        if config.set_size > config.group_size:
            raise ConfigError(
                f"set_size must be at most group_size {config.group_size}, got {config.set_size}"
            )
    if config.advantage == "per_part":
        _check_parts(config)
    elif config.part_weights:
        raise ConfigError("part_weights are used with advantage per_part only; leave them out, or set it")


def _check_parts(config: TrainConfig) -> None:
    weights = config.part_weights
    numbers = [w for w in weights.values() if isinstance(w, (int, float)) and not isinstance(w, bool)]
    if not weights or len(numbers) < len(weights) or not all(0 <= w < math.inf for w in numbers):
        raise ConfigError(
            f"advantage per_part needs part_weights, part of the reward → number >= 0, got {weights!r}"
        )
    if config.advantage_scale not in _PART_SCALES:
        raise ConfigError(
            f"advantage_scale must be batch (GDPO) or none with advantage per_part, whose parts are already "
            f"divided by the group's deviation, got {config.advantage_scale!r}"
        )
    added = {"bonus": None, "overlong_buffer": 0, "kl_in": "loss"}
    for name, off in added.items():
        if getattr(config, name) != off:
            raise ConfigError(
                f"{name} must be {off!r} with advantage per_part, got {getattr(config, name)!r}: it is added "
                "to the whole reward, which is not looked at"
            )
