"""Combinations of loss settings that cannot mean what they seem to: each is told with what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pixelis.agents.losses.correction import chosen_correction, sampler_gaps
from pixelis.errors import ConfigError

if TYPE_CHECKING:
    from pixelis.agents.settings.rl import TrainConfig


def check_loss_options(config: TrainConfig) -> None:
    """Check that the settings of a loss go together.

    Raises:
        ConfigError: saying which do not, why, and what to do.
    """
    if config.group_size < 2:
        raise ConfigError(
            f"group_size must be at least 2 with advantage_scale {config.advantage_scale!r}, got "
            f"{config.group_size}: an episode is compared with the others of its group. Set group_size: 2 or "
            "more, and fewer groups for as many episodes"
        )
    if config.surrogate == "dual_clip" and config.dual_clip <= 1 + config.epsilon_high:
        raise ConfigError(
            f"dual_clip must be above 1 + epsilon_high = {1 + config.epsilon_high:g}, got "
            f"{config.dual_clip:g}: the second bound would lie inside the first. Raise dual_clip (3 is usual)"
        )
    if config.beta > 0:
        _check_penalty(config)


def _check_penalty(config: TrainConfig) -> None:
    if config.kl_in == "reward" and config.kl_ratio:
        raise ConfigError(
            "kl_ratio multiplies the KL in the loss, but kl_in is 'reward', where the surrogate's own ratio "
            "already multiplies it. Set kl_ratio: false, or kl_in: loss"
        )
    if config.kl_in == "loss" and config.kl == "k1" and not config.kl_ratio:
        raise ConfigError(
            "kl 'k1' in the loss has a gradient of mean zero: it adds noise and no penalty. "
            "Set kl: k2 or k3, or kl_ratio: true, or kl_in: reward"
        )


def check_dropout(config: TrainConfig) -> None:
    """Check that an update with dropout is one whose probability ratios can be exact.

    A gradient pass with dropout is of another function than the one that sampled. On the only optimiser step
    of a rollout the ratio is 1 by definition, and is set so; it cannot be known where there are more, or
    where the samples are of another policy.

    Raises:
        ConfigError: dropout is on and the ratio would not be known.
    """
    if not config.lora_dropout:
        return
    if config.epochs > 1:
        raise ConfigError(
            f"lora_dropout must be 0 with epochs above 1, got {config.lora_dropout:g} and {config.epochs}: "
            "from the second step on the probability ratio would compare passes with different units "
            "dropped. Set epochs: 1, or lora_dropout: 0"
        )
    if chosen_correction(config) != "none" or config.replay_ratio:
        gaps = ", ".join(sampler_gaps(config)) or f"correction {config.correction}"
        raise ConfigError(
            f"lora_dropout must be 0 where samples are weighed as those of another policy ({gaps}), got "
            f"{config.lora_dropout:g}: the weights would hold the noise of dropout. Set lora_dropout: 0, or "
            "dtype: float32 and correction: none without replay"
        )
