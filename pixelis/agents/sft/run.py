"""A whole supervised run: open or resume its folder, evaluate, train, evaluate again, leave the adapter."""

from __future__ import annotations

import logging
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, TypeVar

import torch
import yaml

from pixelis.agents.chat import ChatFormat
from pixelis.agents.checkpoint import latest_checkpoint, verify_checkpoint
from pixelis.agents.episode import Episode
from pixelis.agents.evaluate import Evaluation, evaluate
from pixelis.agents.evaluation_file import read_evaluations, write_evaluations
from pixelis.agents.gradient_checkpointing import checkpoint_layers
from pixelis.agents.grpo.run import run_path
from pixelis.agents.grpo.trainer import ADAPTER, PROGRESS, check_same_settings
from pixelis.agents.metrics import Row
from pixelis.agents.policy import LoraSettings, Policy
from pixelis.agents.run_folder import RunFolder, free_run_path, write_atomically, writing
from pixelis.agents.sampling import SamplingSettings
from pixelis.agents.sft.chats import load_chats
from pixelis.agents.sft.config import SftConfig
from pixelis.agents.sft.demonstrate import demonstrations
from pixelis.agents.sft.pool import Pool
from pixelis.agents.sft.settings import SupervisedConfig
from pixelis.agents.sft.stepper import Stepper
from pixelis.agents.sft.trainer import SftTrainer
from pixelis.agents.state_files import read_json
from pixelis.agents.task_env import TaskEnv
from pixelis.errors import ConfigError

_LOG = logging.getLogger(__name__)

DEMONSTRATION_SEED = 2**30
"""First reset seed of demonstrations; evaluation counts from 0, or from 2**31 where an env has no splits."""

C = TypeVar("C", bound=SupervisedConfig)
T = TypeVar("T", bound=Stepper)
R = TypeVar("R", bound="SupervisedRun[Any, Any]")


class SupervisedRun(ABC, Generic[C, T]):
    """A run in progress; make one with `start` or `resume`, use it as a context manager.

    Attributes:
        config: its settings.
        folder: where its files are.
        env: what is played, None where there is no environment.
        policy: what is trained.
        trainer: does the training.
        evaluations: phase (``before``, ``after``) → its rows.
    """

    def __init__(
        self, config: C, folder: RunFolder, env: TaskEnv | None, policy: Policy, material: Any = None
    ) -> None:
        self.config, self.folder, self.env, self.policy = config, folder, env, policy
        self.trainer = self.make_trainer(material)
        self.evaluations = read_evaluations(folder.evaluation)

    @abstractmethod
    def make_trainer(self, material: Any) -> T:
        """Return the trainer of this run; called once, with what `prepare` returned."""

    @classmethod
    def prepare(cls, config: Any, env: TaskEnv | None, policy: Policy) -> Any:
        """Return what training needs to have at hand, before any file is written; nothing by default.

        Raises:
            PixelisError: it cannot be had.
        """

    @classmethod
    def start(cls: type[R], config: Any) -> R:
        """Start a new run: check the env, load the model, make the folder.

        Raises:
            PixelisError: the env, the data, the model or the folder cannot be had; see `pixelis.errors`.
        """
        env = _open(config)
        torch.manual_seed(config.seed)  # the adapter's first weights, and dropout
        lora = LoraSettings(config.lora_rank, config.lora_alpha, getattr(config, "lora_dropout", 0.0))
        policy = _load_policy(config, config.model, lora)
        material = cls.prepare(config, env, policy)
        path = config.output or free_run_path(cls.default_name(config), config.model, config.seed)
        folder = RunFolder.create(path, config.with_values(output=str(path)).to_mapping())
        run = cls(config, folder, env, policy, material)
        run.trainer.save()
        return run

    @classmethod
    def resume(cls: type[R], path: str | Path, config: Any) -> R:
        """Go on with a run from its newest checkpoint, or from the checkpoint folder that is given.

        Args:
            path: a run folder, or one of its ``checkpoints/step-NNNNNNNN``.
            config: the run's settings; those that decide its numbers must be unchanged.

        Raises:
            CheckpointError: there is no run or checkpoint, it is corrupt, or it belongs to other settings.
        """
        root = run_path(path)
        folder, _ = RunFolder.open(root)
        checkpoint = Path(path) if root != Path(path) else latest_checkpoint(folder.checkpoints)
        verify_checkpoint(checkpoint)
        check_same_settings(read_json(checkpoint / PROGRESS).get("identity"), config)
        env = _open(config)
        policy = _load_policy(config, checkpoint / ADAPTER)
        run = cls(config, folder, env, policy, cls.prepare(config, env, policy))
        run.trainer.restore(checkpoint)
        with writing(folder.path):
            write_atomically(folder.config, yaml.safe_dump(config.to_mapping(), sort_keys=False))
        return run

    @classmethod
    def default_name(cls, config: Any) -> str:
        """Return what a run without ``output`` is called after."""
        return config.env or "run"

    def train(
        self, on_step: Callable[[Row], None] | None = None, should_stop: Callable[[], bool] | None = None
    ) -> None:
        """Train until the configured end, then leave the adapter in the run folder; see `Stepper.train`."""
        with self.folder.logging() as log:
            log.info(
                "training from step %d, settings %s", self.trainer.finished_steps, self.config.digest[:12]
            )
            self.trainer.train(on_step, should_stop)
            log.info("stopped after step %d", self.trainer.finished_steps)
        self._leave_adapter()

    @property
    def adapter(self) -> Path:
        """The adapter as training left it, a plain PEFT folder: GRPO's ``--model``."""
        return self.folder.path / ADAPTER

    @property
    def evaluates(self) -> bool:
        """Whether there is an environment to evaluate in, and that is wanted."""
        return self.env is not None and self.config.eval_episodes > 0

    def evaluate(self, phase: str) -> list[Evaluation]:
        """Play held-out tasks with the policy as it is, greedy and sampled, and add the rows to the file.

        Args:
            phase: ``before`` or ``after``.

        Raises:
            ConfigError: there is no environment.
        """
        sampled = SamplingSettings(self.config.temperature, self.config.top_p, self.config.max_new_tokens)
        greedy = SamplingSettings(max_new_tokens=self.config.max_new_tokens, greedy=True)
        self.evaluations[phase] = [self._evaluate(phase, mode) for mode in (greedy, sampled)]
        write_evaluations(self.folder.evaluation, self.evaluations)
        return self.evaluations[phase]

    def close(self) -> None:
        """Close the envs."""
        self.trainer.close()

    def __enter__(self: R) -> R:
        """Return itself; the end of the block closes it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    # ------------------------------------------------------------------ private

    def _evaluate(self, name: str, settings: SamplingSettings) -> Evaluation:
        if self.env is None:
            raise ConfigError("an evaluation needs an environment; give --env")
        return evaluate(
            self.policy,
            self.env.make,
            self.env.held_out_seeds(self.config.eval_episodes),
            settings=settings,
            options=self.env.options("test"),
            name=name,
            rng_seed=self.config.seed,
        )

    def _leave_adapter(self) -> None:
        """Write the adapter under its short name, whole or not at all."""
        fresh = self.folder.path / f".{ADAPTER}.unfinished"
        with writing(self.folder.path):
            shutil.rmtree(fresh, ignore_errors=True)
            self.policy.save_adapter(fresh)
            shutil.rmtree(self.adapter, ignore_errors=True)
            os.replace(fresh, self.adapter)


class SftRun(SupervisedRun[SftConfig, SftTrainer]):
    """A run of supervised fine-tuning."""

    def make_trainer(self, material: Pool) -> SftTrainer:
        """Return the trainer on the demonstrations."""
        return SftTrainer(self.config, self.policy, self.folder, material)

    @classmethod
    def prepare(cls, config: SftConfig, env: TaskEnv | None, policy: Policy) -> Pool:
        """Play or read the demonstrations and keep some apart."""
        episodes = fitting(collect_demonstrations(config, env, policy.chat), policy.max_context)
        pool = Pool.split(episodes, config.held_out, config.seed)
        pool.require(config.make_curriculum().levels if config.curriculum else ())
        return pool

    @classmethod
    def default_name(cls, config: SftConfig) -> str:
        """Return what a run without ``output`` is called after: the data file or the environment."""
        name = Path(config.data).stem if config.data else str(config.env).rpartition("/")[2]
        return f"sft-{name}"


def collect_demonstrations(config: SftConfig, env: TaskEnv | None, chat: ChatFormat) -> list[Episode]:
    """Return the demonstrations that the settings ask for, the same ones each time.

    Raises:
        ConfigError: the file, or the env's policy, cannot be had.
    """
    if config.data is not None:
        return load_chats(config.data, chat)
    if env is None:
        raise ConfigError("SFT needs demonstrations: give --env (its scripted policy plays) or --data FILE")
    levels = config.make_curriculum().levels if config.curriculum else (config.difficulty,)
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


def _load_policy(config: SupervisedConfig, model: str | Path, lora: LoraSettings | None = None) -> Policy:
    policy = Policy.load(model, device=config.device, dtype=config.dtype, lora=lora)
    if config.gradient_checkpointing:
        checkpoint_layers(policy.base)
    return policy


def _open(config: SupervisedConfig) -> TaskEnv | None:
    if config.env is None:
        return None
    return TaskEnv.open(config.env, config.env_kwargs, config.reset_options)
