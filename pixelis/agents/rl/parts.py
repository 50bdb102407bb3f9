"""What a run of reinforcement learning is made of besides its model, by its settings."""

from __future__ import annotations

from dataclasses import dataclass

from pixelis.agents.episodes.task_env import TaskEnv
from pixelis.agents.losses.advantages import ADVANTAGES
from pixelis.agents.losses.loss import LossSettings
from pixelis.agents.playing.term_rewards import TermRewards, check_credit
from pixelis.agents.rl.batch import BatchSettings
from pixelis.agents.rl.gradient import UpdateSettings
from pixelis.agents.rl.grpo import batch_settings
from pixelis.agents.rl.vote import check_held_out
from pixelis.agents.runs.watch.watch import Watch
from pixelis.agents.settings.algorithm import Grpo
from pixelis.agents.settings.loss import Correction
from pixelis.agents.settings.rl import TrainConfig, chosen_correction
from pixelis.agents.settings.run_settings import AUTO
from pixelis.agents.ued.selection import LevelSelection


@dataclass(frozen=True)
class TrainingParts:
    """What a run is made of besides its model; made before that is loaded, so that mistakes are told at once.

    Attributes:
        update: how batches become optimiser steps.
        batch: how episodes are compared.
        rewards: the reward terms.
        watch: scores that nothing is paid by; None without any.
        levels: what is played.
    """

    update: UpdateSettings
    batch: BatchSettings
    rewards: TermRewards
    watch: Watch | None
    levels: LevelSelection

    @classmethod
    def of(cls, config: TrainConfig, env: TaskEnv) -> TrainingParts:
        """Make the parts of a run.

        Raises:
            ConfigError: a name in the settings is wrong, or something does not go with the environment.
            UserCodeError: a reward term's or a scorer's own code raised.
        """
        check_held_out(config, env)
        rewards = TermRewards(config.rewards, env.traits)
        check_credit(rewards.stack, config.algorithm)
        watched = config.watch
        return cls(
            update_settings(config),
            batch_settings(config, env),
            rewards,
            Watch(watched, env.scorers) if watched and watched.scores else None,
            LevelSelection(config, env),
        )


def update_settings(config: TrainConfig) -> UpdateSettings:
    """Return the part of the settings that the update needs.

    Raises:
        ConfigError: a function of the loss is not registered, or the module that has it cannot be imported.
    """
    if isinstance(config.algorithm, Grpo):
        ADVANTAGES.find(config.algorithm.scale)
    parts, cut = config.loss, config.loss.correction
    loss = LossSettings(
        **parts.constants,
        ratio=parts.ratio,
        surrogate=parts.surrogate.type,
        aggregation=parts.aggregation,
        kl=parts.kl.estimator,
        beta=config.beta if parts.kl.place == "loss" else 0.0,
        kl_ratio=parts.kl.ratio,
        correction=chosen_correction(config),
        **({"correction_level": cut.level, "correction_cap": cut.cap} if isinstance(cut, Correction) else {}),
    )
    return UpdateSettings(
        loss,
        config.temperature,
        config.epochs,
        config.micro_batch_size,
        config.adapter.dropout > 0,
        config.step_size if config.lr == AUTO else None,
    )
