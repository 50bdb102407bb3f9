"""A whole training run: open or resume its folder, evaluate, train, evaluate again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import torch
import yaml

from pixelis.agents.checkpoint import latest_checkpoint, step_of, verify_checkpoint
from pixelis.agents.evaluate import Evaluation, evaluate
from pixelis.agents.evaluation_file import read_evaluations, write_evaluations
from pixelis.agents.gradient_checkpointing import checkpoint_layers
from pixelis.agents.grpo.config import TrainConfig
from pixelis.agents.grpo.correction import chosen_correction, sampler_gaps
from pixelis.agents.grpo.learner import batch_settings
from pixelis.agents.grpo.trainer import ADAPTER, PROGRESS, Trainer, check_same_settings, update_settings
from pixelis.agents.metrics import Row
from pixelis.agents.policy import LoraSettings, Policy
from pixelis.agents.run_folder import RunFolder, free_run_path, write_atomically, writing
from pixelis.agents.sampling import SamplingSettings
from pixelis.agents.state_files import read_json
from pixelis.agents.task_env import TaskEnv


class TrainingRun:
    """A run in progress; make one with `start` or `resume`, use it as a context manager.

    Attributes:
        config: its settings.
        folder: where its files are.
        env: what is played.
        trainer: does the training.
        evaluations: phase (``before``, ``after``, ``baselines``) → its rows.
    """

    def __init__(self, config: TrainConfig, folder: RunFolder, env: TaskEnv, policy: Policy) -> None:
        self.config, self.folder, self.env, self.policy = config, folder, env, policy
        self.trainer = Trainer(config, policy, env, folder)
        self.evaluations = read_evaluations(folder.evaluation)

    @classmethod
    def start(cls, config: TrainConfig) -> TrainingRun:
        """Start a new run: check the env, load the model, make the folder.

        Raises:
            PixelisError: the env, the model or the folder cannot be had; see `pixelis.errors`.
        """
        update_settings(config)  # a wrong name is told before anything is loaded or written
        env = _open_env(config)
        batch_settings(config, env)  # a wrong setting is told before the model is loaded
        torch.manual_seed(config.seed)  # the adapter's first weights
        lora = LoraSettings(config.lora_rank, config.lora_alpha)
        policy = _load_policy(config, config.model, lora)
        if config.beta and policy.came_with_adapter:
            policy.freeze_reference()  # the penalty is to where training starts, not to the base
        path = config.output or free_run_path(config.env, config.model, config.seed)
        folder = RunFolder.create(path, config.with_values(output=str(path)).to_mapping())
        run = cls(config, folder, env, policy)
        run.trainer.save()
        return run

    @classmethod
    def resume(cls, path: str | Path, config: TrainConfig) -> TrainingRun:
        """Go on with a run from its newest checkpoint, or from the checkpoint folder that is given.

        Args:
            path: a run folder, or one of its ``checkpoints/step-NNNNNNNN``.
            config: the run's settings (see `settings_of`); those that decide its numbers must be unchanged.

        Raises:
            CheckpointError: there is no run or checkpoint, it is corrupt, or it belongs to other settings.
        """
        root = run_path(path)
        folder, _ = RunFolder.open(root)
        checkpoint = checkpoint_of(path)
        check_same_settings(read_json(checkpoint / PROGRESS).get("identity"), config)
        env = _open_env(config)
        policy = _load_policy(config, checkpoint / ADAPTER)
        policy.load_reference(checkpoint / ADAPTER)
        run = cls(config, folder, env, policy)
        run.trainer.restore(checkpoint)
        with writing(folder.path):
            write_atomically(folder.config, yaml.safe_dump(config.to_mapping(), sort_keys=False))
        return run

    def train(
        self, on_step: Callable[[Row], None] | None = None, should_stop: Callable[[], bool] | None = None
    ) -> None:
        """Train until the configured end; see `Trainer.train`."""
        with self.folder.logging() as log:
            log.info(
                "training from step %d, settings %s", self.trainer.finished_steps, self.config.digest[:12]
            )
            way = "shared-prefix" if self.policy.shares_prefixes else "generic"
            log.info("%s takes the %s path", type(self.policy.base).__name__, way)
            gaps = ", ".join(sampler_gaps(self.config)) or "nothing"
            log.info("correction %s; sampler and trainer differ by %s", chosen_correction(self.config), gaps)
            self.trainer.train(on_step, should_stop)
            log.info("stopped after step %d", self.trainer.finished_steps)

    def evaluate(self, phase: str) -> list[Evaluation]:
        """Play held-out tasks with the policy as it is, greedy and sampled, and add the rows to the file.

        Args:
            phase: ``before`` or ``after``.
        """
        sampled = SamplingSettings(self.config.temperature, self.config.top_p, self.config.max_new_tokens)
        greedy = SamplingSettings(max_new_tokens=self.config.max_new_tokens, greedy=True)
        rows = [self._evaluate(self.policy, phase, mode) for mode in (greedy, sampled)]
        return self._save(phase, [replace(row, step=self.trainer.finished_steps) for row in rows])

    def evaluate_baselines(self) -> list[Evaluation]:
        """Play the same tasks with the env's scripted policies, exploits left out."""
        names = [name for name in self.env.policies if not name.startswith("exploit_")]
        return self._save("baselines", [self._evaluate(name, name) for name in names])

    def close(self) -> None:
        """Close the envs."""
        self.trainer.close()

    def __enter__(self) -> TrainingRun:
        """Return itself; the end of the block closes it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    # ------------------------------------------------------------------ private

    def _evaluate(
        self, agent: Policy | str, name: str, settings: SamplingSettings | None = None
    ) -> Evaluation:
        return evaluate(
            agent,
            self.env.make,
            self.env.held_out_seeds(self.config.eval_episodes),
            settings=settings,
            options=self.env.options("test"),
            name=name,
            rng_seed=self.config.seed,
        )

    def _save(self, phase: str, rows: list[Evaluation]) -> list[Evaluation]:
        self.evaluations[phase] = rows
        write_evaluations(self.folder.evaluation, self.evaluations)
        return rows


def _open_env(config: TrainConfig) -> TaskEnv:
    return TaskEnv.open(config.env, config.env_kwargs, config.reset_options, config.env_timeout_seconds)


def train(config: TrainConfig) -> TrainingRun:
    """Do a whole run as `scripts/train_agent.py` does, without printing; return it, closed."""
    with TrainingRun.start(config) as run:
        if config.eval_episodes:
            run.evaluate("before")
        run.train()
        if config.eval_episodes:
            run.evaluate("after")
    return run


def run_path(path: str | Path) -> Path:
    """Return the run folder of a run folder or of a checkpoint inside one."""
    path = Path(path)
    return path.parent.parent if path.parent.name == "checkpoints" else path


def settings_of(path: str | Path) -> dict[str, Any]:
    """Return the settings with which a run was started, its folder as ``output``.

    Raises:
        CheckpointError: there is no run at ``path``.
    """
    _, values = RunFolder.open(run_path(path))
    return {**values, "output": str(run_path(path))}


def newest_adapter(path: str | Path) -> tuple[Path, int]:
    """Return the adapter folder of a run's newest checkpoint and its step.

    Raises:
        CheckpointError: there is none, or it is corrupt.
    """
    checkpoint = checkpoint_of(path)
    return checkpoint / ADAPTER, step_of(checkpoint)


def checkpoint_of(path: str | Path) -> Path:
    """Return the newest checkpoint of a run, or the one that is given, verified.

    Raises:
        CheckpointError: there is none, or it is corrupt.
    """
    root = run_path(path)
    folder, _ = RunFolder.open(root)
    if root == Path(path):
        return latest_checkpoint(folder.checkpoints)
    verify_checkpoint(Path(path))
    return Path(path)


def _load_policy(config: TrainConfig, model: str | Path, lora: LoraSettings | None = None) -> Policy:
    policy = Policy.load(
        model, device=config.device, dtype=config.dtype, lora=lora, quantization=config.quantization
    )
    if config.gradient_checkpointing:
        checkpoint_layers(policy.base)
    return policy
