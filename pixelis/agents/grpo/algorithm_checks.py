"""Settings that an algorithm cannot keep are refused rather than ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pixelis.agents.grpo.credit import TURN_SCALES
from pixelis.errors import ConfigError

if TYPE_CHECKING:
    from pixelis.agents.grpo.config import TrainConfig

# What depends on the group's rewards, or on advantages that stay what they are, with the value that is "off".
_GROUP_ONLY = {"credit": "episode", "refill_episodes": 0, "replay_ratio": 0, "advantage_threshold": 0}


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
