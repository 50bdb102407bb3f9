"""The frame of every trainer: steps, metrics, checkpoints that resume to the same numbers."""

from __future__ import annotations

import contextlib
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from pixelis.agents.models.policy import Policy
from pixelis.agents.run_files.about import read_about, write_about
from pixelis.agents.run_files.checkpoint import (
    discard_after,
    list_checkpoints,
    save_checkpoint,
    save_named,
    step_of,
)
from pixelis.agents.run_files.run_folder import RunFolder
from pixelis.agents.run_files.saved_run import PROGRESS
from pixelis.agents.run_files.state_files import (
    random_state,
    read_json,
    read_tensors,
    restore_random_state,
    write_json,
    write_tensors,
)
from pixelis.agents.runs.alarm_watch import Alarm
from pixelis.agents.runs.learning_rate import count_parameters
from pixelis.agents.runs.metrics import MetricsLog, Row, read_metrics
from pixelis.agents.runs.run_alarms import RunAlarms
from pixelis.agents.runs.sinks.sink import RunFacts, StepSample
from pixelis.agents.runs.smoothing import Smoothing
from pixelis.agents.runs.system import SystemMeter
from pixelis.agents.settings.run_settings import AnyRunSettings
from pixelis.errors import CheckpointError, ConfigError, LostProcessError, OutputError, SamplerError

_OPTIMISER, _RANDOM = "optimiser.pt", "random.pt"

C = TypeVar("C", bound=AnyRunSettings)


class Stepper(ABC, Generic[C]):
    """Takes training steps and keeps the run's files; subclasses say what a step is.

    Args:
        config: the run's settings.
        policy: what is trained; before `load_checkpoint` it must have been loaded from the same checkpoint.
        run: where files go.

    Attributes:
        finished_steps: training steps done; the policy's ``weights_version`` with them.
        elapsed_seconds: time spent in them, over all sessions of the run.
        alarms: judge each step.

    Raises:
        ConfigError: ``on_alarm: lower_lr`` for a trainer without a learning rate.
    """

    def __init__(self, config: C, policy: Policy, run: RunFolder) -> None:
        self.config, self.policy, self.run = config, policy, run
        self.elapsed_seconds = 0.0
        self.finished_steps = policy.weights_version = 0
        self._smoothing = Smoothing(config.smoothed)
        self._log: MetricsLog | None = None  # while it trains
        self.alarms = RunAlarms(config.on_alarm, self.explain, self.lower_rate, config.alarms)
        if config.on_alarm == "lower_lr" and type(self).lower_rate is Stepper.lower_rate:
            raise ConfigError(
                f"on_alarm lower_lr needs a learning rate, and {type(self).__name__} has none that can be "
                "lowered; set on_alarm: warn, or stop"
            )

    @property
    @abstractmethod
    def total_steps(self) -> int:
        """The step with which training ends."""

    @abstractmethod
    def take_step(self, number: int) -> Row:
        """Do step ``number``, counted from 1, and return its metrics."""

    @abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """Return the state of the optimiser, and what else is kept as tensors."""

    @abstractmethod
    def load_state_dict(self, tensors: Mapping[str, Any]) -> None:
        """Take over what `state_dict` returned."""

    @abstractmethod
    def progress(self) -> dict[str, Any]:
        """Return what a resumed run needs besides, as entries of ``progress.json``."""

    @abstractmethod
    def load_progress(self, progress: Mapping[str, Any]) -> None:
        """Take over what `progress` returned.

        Raises:
            CheckpointError: it does not go with what this trainer was made of.
        """

    def save_files(self, folder: Path) -> None:
        """Write files of the trainer's own into a checkpoint's folder."""

    def load_files(self, folder: Path) -> None:
        """Take over what `save_files` wrote."""

    def measure(self) -> Row:
        """Return what is measured apart from training, whose time does not count as training's; none here."""
        return {}

    def explain(self, alarm: str) -> str | None:
        """Return what is wrong and what to do, in words, where that is known better than by the metrics."""
        return None

    def lower_rate(self, factor: float) -> Row:
        """Multiply the learning rate of the steps to come, for good; return the metrics that this changes.

        Args:
            factor: between 0 and 1.
        """
        raise NotImplementedError

    def go_back(self) -> bool:
        """Put everything back to before the step that has failed; return whether that can be done."""
        return False

    @property
    def stopped_by(self) -> tuple[Alarm, ...]:
        """The alarms that ended training before its end; empty where none did."""
        return () if self._is_over() else self.alarms.stopped

    def sample(self) -> StepSample | None:
        """Return what the last step looked like beyond its metrics; None where there is nothing to see."""
        return None

    def parameter_counts(self) -> tuple[int, int]:
        """Return how many parameters are trained, and how many the model has."""
        trained = sum(parameter.numel() for parameter in self.policy.trainable_parameters())
        return trained, count_parameters(self.policy.model)

    def after_last_step(self) -> None:
        """Do what is done once training stops, at its end or before, if there was a step."""

    def describe(self, trained: Path, progress: Mapping[str, Any]) -> None:
        """Write for people, beside weights, what they are; nothing by default.

        Args:
            trained: the folder of the weights.
            progress: ``step`` and ``elapsed_seconds`` after which they were trained.
        """

    def after_evaluation(self) -> None:
        """Do what is done once somebody has played the tasks for evaluation."""

    def after_save(self, checkpoint: Path) -> None:
        """Do what is done once a checkpoint is whole."""

    def after_step(self) -> None:
        """Do what is done once a step's metrics are written."""

    def close(self) -> None:
        """Close what is open."""

    def train(
        self, on_step: Callable[[Row], None] | None = None, should_stop: Callable[[], bool] | None = None
    ) -> None:
        """Take steps until the last, until ``minutes`` are over, an alarm or ``should_stop`` says so.

        A checkpoint is written at the start, every ``checkpoint_every`` steps, and at the end.

        Args:
            on_step: is given the metrics of each step.
            should_stop: is asked after each step.

        Raises:
            TrainingError: updates are not finite, or memory ran out for good; the last checkpoint is intact.
            SamplerError, LostProcessError: others who play are gone; finished steps are saved, see `go_back`.
            OutputError: a file could not be written; the last checkpoint is intact.
        """
        with self._opened_log() as log:
            self.save()
            first, meter = self.finished_steps, SystemMeter(self.policy.device)
            self.alarms.stopped = ()
            try:
                while not (self._is_over() or self.alarms.stopped or (should_stop and should_stop())):
                    row = self._next_step()
                    row |= self.measure()
                    row |= self.alarms.note(row)
                    row |= self._smoothing.note(row) | meter.read()
                    log.write(row, self._due_sample())
                    self.after_step()
                    if self.finished_steps % self.config.checkpoint_every == 0:
                        self.save()
                    if on_step is not None:
                        on_step(row)
            finally:
                if self.finished_steps > first:
                    with contextlib.suppress(OutputError):  # what stopped training is told, not this
                        self.after_last_step()
            self.save()

    @property
    def is_out_of_time(self) -> bool:
        """Whether the ``minutes`` of training are over."""
        minutes = self.config.minutes
        return minutes is not None and self.elapsed_seconds >= 60 * minutes

    def timed_step(self) -> Row:
        """Take the next step; return its metrics with its number and its time."""
        started = time.perf_counter()
        row = {"step": self.finished_steps + 1} | self.take_step(self.finished_steps + 1)
        self.finished_steps = self.policy.weights_version = self.finished_steps + 1
        seconds = time.perf_counter() - started
        self.elapsed_seconds += seconds
        return row | {"time/step": seconds, "time/elapsed": self.elapsed_seconds}

    def save(self) -> Path:
        """Write a checkpoint of the finished steps.

        Raises:
            OutputError: it could not be written; earlier checkpoints are intact.
        """
        self._sync_metrics()
        saved = save_checkpoint(
            self.run.checkpoints, self.finished_steps, self._write, keep=self.config.keep_checkpoints
        )
        self.after_save(saved)
        if self._log is not None:
            self._log.intact = saved.name
        return saved

    def save_named(self, name: str) -> Path:
        """Write a checkpoint of the finished steps that is kept under a name; raises like `save`."""
        self._sync_metrics()
        return save_named(self.run.checkpoints, name, self.finished_steps, self._write)

    def load_checkpoint(self, checkpoint: Path) -> None:
        """Go on from a verified checkpoint, whose adapter the policy has; drop what came after it.

        Raises:
            CheckpointError: it belongs to other settings, or a file of it is damaged or of another version.
        """
        saved = read_json(checkpoint / PROGRESS)
        self.config.check_same(saved.get("identity"))
        try:
            self.finished_steps = self.policy.weights_version = int(saved["step"])
            self.elapsed_seconds = float(saved["elapsed_seconds"])
            self.load_progress(saved)
            self._load_alarms(saved)
            self._smoothing.load_state_dict(saved.get("smoothed", {}))
            self.load_state_dict(read_tensors(checkpoint / _OPTIMISER))
            self.load_files(checkpoint)
            restore_random_state(read_tensors(checkpoint / _RANDOM))
        except CheckpointError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"checkpoint {str(checkpoint)!r} does not fit this version ({type(error).__name__}: {error})"
            ) from error
        discard_after(self.run.checkpoints, step_of(checkpoint))
        self.run.discard_after(self.finished_steps)

    # ------------------------------------------------------------------ private

    def _next_step(self) -> Row:
        """Take the next step; where it fails as others who play are gone, save what was there before it."""
        before = random_state()
        try:
            return self.timed_step()
        except (SamplerError, LostProcessError) as error:
            saved = [step_of(each) for each in list_checkpoints(self.run.checkpoints)]
            if self.finished_steps not in saved and self.go_back():
                restore_random_state(before)
                with contextlib.suppress(OutputError):  # what stopped training is told, not this
                    self.save()
                    error.args = (
                        f"{error.args[0]}; step {self.finished_steps}, the last one, has been saved",
                    )
            raise

    @contextlib.contextmanager
    def _opened_log(self) -> Iterator[MetricsLog]:
        """Open the metrics of the run, and say in its folder what is trained."""
        trained, whole = self.parameter_counts()
        known = read_about(self.run.path).get("id")
        about = write_about(
            self.run.path,
            {"id": known or secrets.token_hex(4), "trained_parameters": trained, "parameters": whole},
        )
        settings = {**self.config.to_mapping(), "trained_parameters": trained, "parameters": whole}
        facts = RunFacts(self.run.path, about["id"], settings)
        log = MetricsLog(
            self.run.metrics, self.run.tensorboard, self.finished_steps, facts, log_to=self.config.log_to
        )
        with log:
            self._log = log
            try:
                yield log
            finally:
                self._log = None

    def _due_sample(self) -> StepSample | None:
        every = self.config.samples_every
        is_due = every > 0 and (self.finished_steps % every == 0 or self.finished_steps == 1)
        return self.sample() if is_due else None

    def _sync_metrics(self) -> None:
        """Put the rows on the disk before a checkpoint that counts on them."""
        if self._log is not None:
            self._log.sync()

    def _write(self, folder: Path) -> None:
        trained = self.policy.save_trained(folder)
        write_tensors(folder / _OPTIMISER, self.state_dict())
        self.save_files(folder)
        write_tensors(folder / _RANDOM, random_state())
        saved = {
            "step": self.finished_steps,
            "elapsed_seconds": self.elapsed_seconds,
            **self.progress(),
            "alarms": self.alarms.state_dict(),
            **({"smoothed": state} if (state := self._smoothing.state_dict()) else {}),
            "identity": self.config.identity,
            "digest": self.config.digest,
        }
        write_json(folder / PROGRESS, saved)
        self.describe(trained, saved)

    def _load_alarms(self, saved: Mapping[str, Any]) -> None:
        """Take over the state of the alarms; from the metrics where the checkpoint is older than alarms."""
        if "alarms" in saved:
            self.alarms.load_state_dict(saved["alarms"])
        else:
            rows = read_metrics(self.run.metrics)
            self.alarms.catch_up(row for row in rows if row["step"] <= self.finished_steps)

    def _is_over(self) -> bool:
        return self.is_out_of_time or self.finished_steps >= self.total_steps
