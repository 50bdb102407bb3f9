"""Whole supervised runs: where the demonstrations come from, and the adapter that is left."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from pixelis.agents.episodes.answers import measure_named
from pixelis.agents.episodes.episode import Episode
from pixelis.agents.episodes.task_env import TaskEnv
from pixelis.agents.models.chat import ChatFormat
from pixelis.agents.models.policy import Policy
from pixelis.agents.run_files.saved_run import trained_in
from pixelis.agents.runs.run import Run
from pixelis.agents.settings.sft import SftConfig, SupervisedConfig
from pixelis.agents.sft.chats import load_chats
from pixelis.agents.sft.demonstrate import demonstrations
from pixelis.agents.sft.pool import Pool
from pixelis.agents.sft.stepper import SupervisedStepper
from pixelis.agents.sft.trainer import SftTrainer
from pixelis.errors import ConfigError

_LOG = logging.getLogger(__name__)

DEMONSTRATION_SEED = 2**30
"""First reset seed of demonstrations; evaluation counts from 0, or from 2**31 where an env has no splits."""

C = TypeVar("C", bound=SupervisedConfig)
T = TypeVar("T", bound=SupervisedStepper[Any])


class SupervisedRun(Run[C, T]):
    """A run of supervised training; see `Run`."""

    @property
    def adapter(self) -> Path:
        """What training left in the run folder: the adapter, or the whole model with ``train: full``."""
        return trained_in(self.folder.path)


class SftRun(SupervisedRun[SftConfig, SftTrainer]):
    """A run of supervised fine-tuning."""

    def make_trainer(self, material: Pool) -> SftTrainer:
        """Return the trainer on the demonstrations."""
        return SftTrainer(self.config, self.policy, self.folder, material)

    @classmethod
    def open_env(cls, config: SftConfig) -> TaskEnv | None:
        """Return the environment, if there is one; a wrong measure of diversity is told with it."""
        if config.diversity is not None:
            measure_named(config.diversity.measure)
        return super().open_env(config)

    @classmethod
    def prepare(cls, config: SftConfig, env: TaskEnv | None, policy: Policy, parts: None) -> Pool:
        """Play or read the demonstrations and keep some apart."""
        episodes = fitting(collect_demonstrations(config, env, policy.chat), policy.max_context)
        pool = Pool.split(episodes, config.held_out, config.seed)
        curriculum = config.make_curriculum()
        pool.require(curriculum.levels if curriculum else ())
        return pool

    @classmethod
    def default_name(cls, config: SftConfig) -> str:
        """Return what a run without ``output`` is called after: the data file or the environment."""
        name = Path(config.data).stem if config.data else str(config.env).rpartition("/")[2]
        return f"sft-{name}"


def collect_demonstrations(config: SftConfig, env: TaskEnv | None, chat: ChatFormat) -> list[Episode]:
    """Return the demonstrations that the settings ask for, the same ones each time.

    Raises:
        ConfigError: the file, or the env's scripted player, cannot be had.
    """
    if config.data is not None:
        return load_chats(config.data, chat)
    if env is None:
        raise ConfigError("SFT needs demonstrations: give --env (its scripted player plays) or --data FILE")
    curriculum = config.make_curriculum()
    levels = curriculum.levels if curriculum else (config.difficulty,)
    episodes: list[Episode] = []
    for number, level in enumerate(levels):
        first = DEMONSTRATION_SEED + number * config.demonstrations
        options = {**env.options("train"), **({} if level is None else {"difficulty": level})}
        seeds = range(first, first + config.demonstrations)
        played = demonstrations(chat, env.make, config.demonstrator, seeds, options=options or None)
        for episode in played:
            episode.info = {"task": {"difficulty": level or 0}}
        episodes += played
    return episodes


def fitting(episodes: Sequence[Episode], max_context: int | None) -> list[Episode]:
    """Return the episodes that fit into a model's context; say how many do not."""
    kept = [episode for episode in episodes if max_context is None or len(episode) <= max_context]
    if len(kept) < len(episodes):
        _LOG.warning(
            "%d of %d demonstrations are longer than the model's context of %d tokens and are left out",
            len(episodes) - len(kept),
            len(episodes),
            max_context,
        )
    return kept
