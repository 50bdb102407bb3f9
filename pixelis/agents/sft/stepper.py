"""The frame of a supervised trainer: steps, metrics, checkpoints that resume to the same numbers."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pixelis.agents.checkpoint import discard_after, save_checkpoint, step_of
from pixelis.agents.grpo.trainer import ADAPTER, PROGRESS
from pixelis.agents.metrics import MetricsLog, Row
from pixelis.agents.policy import Policy
from pixelis.agents.run_folder import RunFolder
from pixelis.agents.sft.learner import Learner, SftSettings
from pixelis.agents.sft.settings import SupervisedConfig
from pixelis.agents.state_files import (
    random_state,
    read_json,
    read_tensors,
    restore_random_state,
    write_json,
    write_tensors,
)
from pixelis.errors import CheckpointError

_OPTIMISER, _RANDOM = "optimiser.pt", "random.pt"


class Stepper(ABC):
    """Takes training steps and keeps the run's files; subclasses say what a step is.

    Args:
        config: the run's settings.
        policy: with a LoRA adapter; before `restore` it must have been loaded from the same checkpoint.
        run: where files go.

    Attributes:
        learner: applies the optimiser.
        finished_steps: training steps done.
        elapsed_seconds: time spent in them, over all sessions of the run.
    """

    def __init__(self, config: SupervisedConfig, policy: Policy, run: RunFolder) -> None:
        self.settings, self.policy, self.run = config, policy, run
        self.finished_steps, self.elapsed_seconds = 0, 0.0
        self.learner = Learner(policy, learner_settings(config))

    @property
    @abstractmethod
    def total_steps(self) -> int:
        """The step with which training ends."""

    @abstractmethod
    def take_step(self, number: int) -> Row:
        """Do step ``number``, counted from 1, and return its metrics."""

    @abstractmethod
    def progress(self) -> dict[str, Any]:
        """Return what a resumed run needs besides adapter, optimiser and generators, as JSON-able values."""

    @abstractmethod
    def go_back_to(self, progress: Mapping[str, Any]) -> None:
        """Take over what `progress` returned."""

    def tensors(self) -> dict[str, Any]:
        """Return what has to be kept as tensors."""
        return self.learner.state()

    def take_over(self, tensors: Mapping[str, Any]) -> None:
        """Take over what `tensors` returned."""
        self.learner.restore(tensors)

    def close(self) -> None:  # noqa: B027 (most have nothing to close)
        """Close what is open."""

    def train(
        self, on_step: Callable[[Row], None] | None = None, should_stop: Callable[[], bool] | None = None
    ) -> None:
        """Take steps until the last or until ``minutes`` are over, or ``should_stop`` says so.

        A checkpoint is written at the start, every ``checkpoint_every`` steps, and at the end.

        Args:
            on_step: is given the metrics of each step.
            should_stop: is asked after each step.

        Raises:
            TrainingError: the loss is not finite.
            OutputError: a file could not be written; the last checkpoint is intact.
        """
        with MetricsLog(self.run.metrics, self.run.tensorboard, after_step=self.finished_steps) as log:
            self.save()
            while not self._is_over() and not (should_stop and should_stop()):
                row = self._timed_step()
                log.write(row)
                if self.finished_steps % self.settings.checkpoint_every == 0:
                    self.save()
                if on_step is not None:
                    on_step(row)
            self.save()

    def save(self) -> Path:
        """Write a checkpoint of the finished steps.

        Raises:
            OutputError: it could not be written; earlier checkpoints are intact.
        """
        return save_checkpoint(
            self.run.checkpoints, self.finished_steps, self._write, keep=self.settings.keep_checkpoints
        )

    def restore(self, checkpoint: Path) -> None:
        """Go on from a verified checkpoint, whose adapter the policy has; drop what came after it.

        Raises:
            CheckpointError: a file of it is damaged or of another version.
        """
        saved = read_json(checkpoint / PROGRESS)
        try:
            self.finished_steps = int(saved["step"])
            self.elapsed_seconds = float(saved["elapsed_seconds"])
            self.go_back_to(saved["progress"])
            self.take_over(read_tensors(checkpoint / _OPTIMISER))
            restore_random_state(read_tensors(checkpoint / _RANDOM))
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, CheckpointError):
                raise
            raise CheckpointError(
                f"checkpoint {str(checkpoint)!r} does not fit this version ({type(error).__name__}: {error})"
            ) from error
        discard_after(self.run.checkpoints, step_of(checkpoint))

    # ------------------------------------------------------------------ private

    def _timed_step(self) -> Row:
        started = time.perf_counter()
        row = {"step": self.finished_steps + 1} | self.take_step(self.finished_steps + 1)
        self.finished_steps += 1
        seconds = time.perf_counter() - started
        self.elapsed_seconds += seconds
        return row | {"time/step": seconds, "time/elapsed": self.elapsed_seconds}

    def _write(self, folder: Path) -> None:
        self.policy.save_adapter(folder / ADAPTER)
        write_tensors(folder / _OPTIMISER, self.tensors())
        write_tensors(folder / _RANDOM, random_state())
        saved = {
            "step": self.finished_steps,
            "elapsed_seconds": self.elapsed_seconds,
            "progress": self.progress(),
            "identity": self.settings.identity,
            "digest": self.settings.digest,
        }
        write_json(folder / PROGRESS, saved)

    def _is_over(self) -> bool:
        minutes = self.settings.minutes
        out_of_time = minutes is not None and self.elapsed_seconds >= 60 * minutes
        return out_of_time or self.finished_steps >= self.total_steps


def learner_settings(config: SupervisedConfig) -> SftSettings:
    """Return how the learner of a run works."""
    return SftSettings(
        batch_size=config.batch_size,
        learning_rate=config.lr,
        weight_decay=config.weight_decay,
        max_grad_norm=config.max_grad_norm,
        seed=config.seed,
        micro_batch_size=config.micro_batch_size,
        packing=config.packing,
        pack_length=config.pack_length,
    )
