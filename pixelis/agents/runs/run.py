"""A whole training run, whatever it trains by: open or resume its folder, evaluate, train, evaluate again."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, TypeVar, cast

import torch
import yaml
from rich.table import Table

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.episodes.task_env import TaskEnv
from pixelis.agents.models.named_models import CHOOSE, default_model, note_untaught
from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.agents.run_files.about import TRAITS, write_about
from pixelis.agents.run_files.claim import claim
from pixelis.agents.run_files.run_folder import RunFolder, free_run_path, log_failure
from pixelis.agents.run_files.saved_run import PROGRESS, checkpoint_of, run_path, trained_in
from pixelis.agents.run_files.state_files import read_json
from pixelis.agents.runs.callbacks import Callback, Callbacks
from pixelis.agents.runs.evaluate import PICTURED, AtOnce, Evaluation, Listener, play
from pixelis.agents.runs.evaluation_file import read_evaluations, write_evaluations
from pixelis.agents.runs.learning_rate import count_parameters, told_rate
from pixelis.agents.runs.metrics import Row, read_metrics
from pixelis.agents.runs.phases import evaluable, play_phase, row_of
from pixelis.agents.runs.run_policy import as_chosen, load_policy, settled
from pixelis.agents.runs.sinks.board import write_final_success
from pixelis.agents.runs.sinks.trackers import imported
from pixelis.agents.runs.stepper import Stepper
from pixelis.agents.settings.run_settings import AnyRunSettings, RunSettings
from pixelis.errors import ConfigError, UserCodeError
from pixelis.files import write_atomically, writing

C = TypeVar("C", bound=AnyRunSettings)
T = TypeVar("T", bound=Stepper[Any])
R = TypeVar("R", bound="Run[Any, Any]")
Follow = Callable[[str, int], contextlib.AbstractContextManager[Listener]]


class Run(ABC, Generic[C, T]):
    """A run in progress; make one with `start` or `resume`, use it as a context manager.

    Attributes:
        config: its settings.
        folder: where its files are.
        env: what is played, None where there is no environment.
        policy: what is trained: a language model, or what a subclass's ``load_policy`` returns.
        trainer: does the training.
        evaluations: phase (``before``, ``after``, …) → its rows.
        follow: from a label and a number of episodes to who shows how their evaluation goes on; None: nobody.
    """

    def __init__(
        self, config: C, folder: RunFolder, env: TaskEnv | None, policy: Any, material: Any = None
    ) -> None:
        self.config, self.folder, self.env, self.policy = config, folder, env, policy
        self.trainer = self.make_trainer(material)
        self.follow: Follow | None = None
        self.evaluations = read_evaluations(folder.evaluation)
        self._claim = contextlib.ExitStack()  # on the folder, until it is closed

    @abstractmethod
    def make_trainer(self, material: Any) -> T:
        """Return the trainer of this run; called once, with what `prepare` returned."""

    @classmethod
    def open_env(cls, config: Any) -> TaskEnv | None:
        """Return the environment.

        Raises:
            PixelisError: there is none such, or the settings do not go with it.
        """
        if config.env is None:
            return None
        return TaskEnv.open(config.env, config.env_kwargs, config.reset_options)

    @classmethod
    def assemble(cls, config: Any, env: TaskEnv | None) -> Any:
        """Return what training needs and can be had without the model, by default nothing.

        Raises:
            PixelisError: a setting is wrong, which is so told before anything slow begins.
        """

    @classmethod
    def opened_env(cls, config: Any) -> tuple[TaskEnv | None, Any]:
        """Return what `open_env` and `assemble` do; where the user's code fails, the run's log says how.

        Raises:
            PixelisError: see there.
        """
        for name in config.log_to:
            imported(name)
        torch.manual_seed(config.seed)  # for what a user's own parts draw when they are made
        with cls._logging_failure(config):
            env = evaluable(cls.open_env(config), config)
            return env, cls.assemble(config, env)

    @classmethod
    @contextlib.contextmanager
    def _logging_failure(cls, config: Any) -> Iterator[None]:
        try:
            yield
        except UserCodeError as error:
            folder = RunFolder(Path(cls.with_output(cls.choose_model(config, None)).output))
            log_failure(folder.log, error)
            raise

    @classmethod
    def choose_model(cls, config: Any, env: TaskEnv | None) -> Any:
        """Return the settings with a model named in them; without an environment it is one that sees."""
        if getattr(config, "model", None) != CHOOSE:
            return config
        name, images = (None, True) if env is None else (env.id, env.shows_images)
        return config.with_values(model=default_model(name, images))

    @classmethod
    def load_policy(cls, config: Any, adapter: Path | None) -> Any:
        """Return the policy of a new run, or of one that goes on with a checkpoint's adapter.

        Raises:
            ModelLoadError: it cannot be loaded.
        """
        return load_policy(config, adapter)

    @classmethod
    def settle(cls, config: Any, policy: Any) -> Any:
        """Return the settings with what the loaded model decides written into them, see `settled`."""
        return settled(config, policy) if isinstance(config, RunSettings) else config

    @classmethod
    def prepare(cls, config: Any, env: TaskEnv | None, policy: Any, parts: Any) -> Any:
        """Return what training needs to have at hand, before any file is written; by default ``parts``.

        Args:
            config: of the run.
            env: what is played.
            policy: what is trained.
            parts: what `assemble` returned.

        Raises:
            PixelisError: it cannot be had.
        """
        return parts

    @classmethod
    def default_name(cls, config: Any) -> str:
        """Return what a run without ``output`` is called after."""
        return config.env or "run"

    @classmethod
    def with_output(cls, config: Any) -> Any:
        """Return the settings with a run folder named in them; call `choose_model` before."""
        path = config.output or free_run_path(cls.default_name(config), config.model, config.seed)
        return config.with_values(output=str(path))

    @classmethod
    def start(cls: type[R], config: Any) -> R:
        """Start a new run: check the env, load the model, make the folder.

        Raises:
            PixelisError: the env, the data, the model or the folder cannot be had; see `pixelis.errors`.
        """
        env, parts = cls.opened_env(config)
        config = cls.choose_model(config, env)
        if env is not None:
            note_untaught(getattr(config, "model", ""), env.id, env.difficulty)
        torch.manual_seed(config.seed)  # the adapter's first weights, and dropout
        policy = cls.load_policy(config, None)
        config = cls.settle(config, policy)
        with cls._logging_failure(config):
            material = cls.prepare(config, env, policy, parts)
        config = cls.with_output(config)
        folder = RunFolder.create(config.output, config.to_mapping())
        with contextlib.ExitStack() as claimed:
            claimed.enter_context(claim(folder.path))
            run = cls(config, folder, env, policy, material)
            if env is not None:  # what is stored is to be judged by it, however the code is changed later
                write_about(folder.path, {TRAITS: env.traits.to_json()})
            run.trainer.save()
            run._claim = claimed.pop_all()
        return run

    @classmethod
    def resume(cls: type[R], path: str | Path, config: Any) -> R:
        """Go on with a run from its newest checkpoint, or from the checkpoint folder that is given.

        Args:
            path: a run folder, or one of its ``checkpoints/step-NNNNNNNN``.
            config: the run's settings (see `settings_of`); those that decide its numbers must be unchanged.

        Raises:
            CheckpointError: there is no run or checkpoint, it is corrupt, or it belongs to other settings.
            ConfigError: another process trains in the folder.
        """
        folder, _ = RunFolder.open(run_path(path))
        with contextlib.ExitStack() as claimed:
            claimed.enter_context(claim(folder.path))
            run = cls._resumed(folder, path, config)
            run._claim = claimed.pop_all()
        return run

    @classmethod
    def _resumed(cls: type[R], folder: RunFolder, path: str | Path, config: Any) -> R:
        checkpoint = checkpoint_of(path)
        saved = read_json(checkpoint / PROGRESS).get("identity")
        config = as_chosen(config, saved)
        config.check_same(saved)
        env, parts = cls.opened_env(config)
        policy = cls.load_policy(config, trained_in(checkpoint))
        run = cls(config, folder, env, policy, cls.prepare(config, env, policy, parts))
        run.trainer.load_checkpoint(checkpoint)
        with writing(folder.path):
            write_atomically(folder.config, yaml.safe_dump(config.to_mapping(), sort_keys=False))
        return run

    @classmethod
    def whole(cls: type[R], config: Any) -> R:
        """Do a whole run as ``scripts/train_agent.py`` does, without printing; return it, closed.

        Raises:
            PixelisError: see `start`.
        """
        with cls.start(config) as run:
            run.complete()
        return run

    def complete(self, on_step: Callback | None = None, on_evaluation: Callback | None = None) -> None:
        """Evaluate (where nothing was trained yet), train until the configured end, evaluate again.

        Callbacks are given the metrics of each step, or of those with an evaluation; True ends training.
        Where an alarm ends it before (``on_alarm: stop``), that is not evaluated.
        """
        callbacks = Callbacks(on_step, on_evaluation)
        if self.evaluates and self.trainer.finished_steps == 0:
            self.evaluate("before")
        self.train(callbacks.step, callbacks.ended, "a callback ended it")
        if self.evaluates and not self.trainer.stopped_by:
            self.evaluate("after")

    @property
    def metrics(self) -> list[Row]:
        """What each training step measured so far, in order, see docs/reference/metrics.md."""
        return read_metrics(self.folder.metrics)

    def train(
        self,
        on_step: Callable[[Row], None] | None = None,
        should_stop: Callable[[], bool] | None = None,
        reason: str = "it was interrupted",
    ) -> None:
        """Train until the configured end; see `Stepper.train`. The log gives ``reason`` for a stop before."""
        with self.folder.logging() as log:
            step, settings = self.trainer.finished_steps, self.config.digest[:12]
            log.info("training from step %d, settings %s", step, settings)
            for line in [*self.policy_notes(), *self.notes()]:
                log.info(line)
            self.trainer.train(on_step, should_stop)
            log.info("stopped after step %d%s", self.trainer.finished_steps, self._why_stopped(reason))

    def _why_stopped(self, reason: str) -> str:
        if self.trainer.is_out_of_time:
            return f": its {self.config.minutes:g} minutes are over"
        if alarms := self.trainer.stopped_by:
            return f": on_alarm stop ({', '.join(alarm.name for alarm in alarms)})"
        return "" if self.trainer.finished_steps >= self.trainer.total_steps else f": {reason}"

    def policy_notes(self) -> list[str]:
        """Return what the log should say of the policy."""
        way = "shared-prefix" if self.policy.shares_prefixes else "generic"
        trained, config = sum(each.numel() for each in self.policy.trainable_parameters()), self.config
        known = isinstance(config, RunSettings)
        what, rate = (config.train, told_rate(config, self.policy)) if known else ("", f"{config.lr:g}")
        return [
            f"model {self.policy.base_name}: {type(self.policy.base).__name__} takes the {way} path",
            f"{trained:,} parameters are trained, on a model of {count_parameters(self.policy.model):,}"
            f" (train {what}) at a learning rate of {rate}",
        ]

    def notes(self) -> list[str]:
        """Return what else the log should say when training begins."""
        return []

    def tables(self) -> list[Table]:
        """Return what a command shows when the run is over, besides evaluations; none by default."""
        return []

    @property
    def task_env(self) -> TaskEnv:
        """The environment, for what cannot be done without one.

        Raises:
            ConfigError: there is none.
        """
        if self.env is None:
            raise ConfigError("there is no environment to play in; give --env")
        return self.env

    @property
    def evaluates(self) -> bool:
        """Whether there is an environment to evaluate in, and that is wanted."""
        return self.env is not None and self.config.eval_episodes > 0

    def evaluate(self, phase: str) -> list[Evaluation]:
        """Play the tasks for evaluation with the policy as it is, and add the rows to the file.

        What was played is kept, in the file and as ``trajectories/evaluation-PHASE.jsonl``, also where the
        rest was not. The first success ``after`` training also goes beside the settings in TensorBoard.

        Args:
            phase: ``before`` or ``after``.

        Raises:
            ConfigError: there is no environment.
            EpisodesFailedError: no episode could be played to its end.
        """
        rows = play_phase(self, phase, [(phase, mode) for mode in self.evaluation_modes])
        if phase == "after" and rows[0].says_success:
            with writing(self.folder.tensorboard):
                step, success = self.trainer.finished_steps, rows[0].success_rate
                write_final_success(self.folder.tensorboard, step, success)
        return rows

    @property
    def evaluation_modes(self) -> tuple[str, ...]:
        """How the policy is let choose when it is evaluated."""
        return "greedy", "sampled"

    def play_tasks(self, name: str, mode: str, listener: Listener | None = None) -> list[Episode]:
        """Play the tasks for evaluation with the policy, or with the scripted player of that name.

        Args:
            name: of a scripted player, where ``mode`` is ``scripted``.
            mode: ``greedy``, ``sampled`` or ``scripted``.
            listener: is told of the episodes as they come.
        """
        env, config = self.task_env, cast(Any, self.config)
        settings = None
        if mode != "scripted":
            settings = SamplingSettings(max_new_tokens=config.max_new_tokens, greedy=True)
        if mode == "sampled":
            settings = SamplingSettings(config.temperature, config.top_p, config.max_new_tokens)
        episodes, _ = play(
            name if settings is None else self.policy,
            env.make,
            env.held_out_seeds(config.eval_episodes),
            settings=settings,
            options=env.options("test"),
            rng_seed=config.seed,
            at_once=AtOnce(threads=getattr(config, "env_threads", None), pictured=PICTURED),
            listener=listener,
        )
        return episodes

    def watched(self, episodes: Sequence[Episode]) -> dict[str, float]:
        """Return the mean over episodes of scores that training does not see; none by default."""
        return {}

    def play_scripted(self, name: str) -> Evaluation:
        """Play the tasks for evaluation with one of the env's scripted players; no file is written."""
        return row_of(self, self.play_tasks(name, "scripted"), name, "scripted")

    def evaluate_baselines(self) -> list[Evaluation]:
        """Play the held-out tasks with the env's scripted players, exploits left out."""
        names = [name for name in self.task_env.players if not name.startswith("exploit_")]
        return play_phase(self, "baselines", [(name, "scripted") for name in names])

    def save_evaluation(self, phase: str, rows: list[Evaluation]) -> list[Evaluation]:
        """Add the rows of a phase to the file, and return them.

        Raises:
            OutputError: the file cannot be written.
        """
        self.evaluations[phase] = list(rows)
        write_evaluations(self.folder.evaluation, self.evaluations)
        return rows

    def close(self) -> None:
        """Close the envs, and let others train in the folder."""
        with self._claim:
            self.trainer.close()

    def __enter__(self: R) -> R:
        """Return itself; the end of the block closes it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close; the log says why where the block was left by an error."""
        try:
            self.close()
        finally:
            if isinstance(error, Exception):
                log_failure(self.folder.log, error)
