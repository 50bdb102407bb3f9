"""What the commands that train share: settings, a run, evaluations, progress, Ctrl-C, a last table."""

from __future__ import annotations

import contextlib
import io
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pixelis.agents.distributed.launched import alone, launched
from pixelis.cli import ALARMED, INTERRUPTED, called_as
from pixelis.cli.arguments import Arguments
from pixelis.cli.console import open_console, warnings_on
from pixelis.cli.evaluating import show_evaluation, show_partial
from pixelis.cli.interrupts import Interrupts
from pixelis.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console

    from pixelis.agents.runs.metrics import Row
    from pixelis.agents.runs.run import Run

DRY_RUN = "--dry-run"
Before = Callable[[Any, "Console", Interrupts], Any]


@dataclass(frozen=True)
class TrainingCommand:
    """A command that trains.

    Attributes:
        program: its file's name.
        description: first lines of its help.
        examples: last lines of its help.
        settings: the class of its settings, or what returns it for settings as they were written.
        run: returns the class of the run of settings (a function, so that the slow imports wait for it).
        describe: returns what the progress line of a run with these settings tells of a step.
        closing: the last line of a run.
        before: what comes before a new run: from its settings to those of the run, or to the exit code where
            it did not come to its end.
        in_team: whether several processes that ``torchrun`` starts can train together.
        dry: for ``--dry-run``, where the command has it: tells of the settings' cost, returns the exit code.
    """

    program: str
    description: str
    examples: str
    settings: type[Any] | Callable[[Mapping[str, Any]], type[Any]]
    run: Callable[[Any], type[Run[Any, Any]]]
    describe: Callable[[Any], Callable[[Row], str]]
    closing: Callable[[Any], str]
    before: Before | None = None
    in_team: bool = False
    dry: Callable[[Any, Console], int] | None = None

    def read(self, words: Sequence[str]) -> tuple[Any, str | None]:
        """Return the settings that words ask for, and the run to resume if there is one.

        Raises:
            ConfigError, CheckpointError: see `Arguments.read_run`.
        """
        arguments: Arguments[Any] = Arguments(
            self.program,
            self.description,
            self.settings,
            self.examples,
            resumes=True,
            switches={DRY_RUN: "say what a step costs by a probe of some seconds"} if self.dry else {},
        )
        return arguments.read_run(words)

    def __call__(self, words: Sequence[str]) -> int:
        """Train; return the exit code."""
        rank, size = launched()
        if size > 1 and not self.in_team:
            alone(self.program)
        is_dry = self.dry is not None and DRY_RUN in words
        if is_dry:
            alone(DRY_RUN)
        # Before any process waits for the others: all of them end by --help, or by a mistake in the words.
        with contextlib.redirect_stdout(io.StringIO()) if rank > 0 else contextlib.nullcontext():
            config, resume = self.read([word for word in words if self.dry is None or word != DRY_RUN])
        if rank > 0:
            from pixelis.agents.rl.helper import help_out

            help_out()
            return 0
        if self.dry is not None and is_dry:
            if resume is not None:
                raise ConfigError(f"{DRY_RUN} is for a new run; leave --resume out")
            return self.dry(config, open_console())
        console, kind = open_console(), self.run(config)
        with Interrupts() as interrupts, warnings_on(console):
            if resume is None and self.before is not None:
                config = self.before(config, console, interrupts)
                if isinstance(config, int):
                    return config
            run = kind.resume(resume, config) if resume is not None else kind.start(config)
            with run:
                console.print(f"run folder: {run.folder.path}", soft_wrap=True)
                console.print(f"model: {run.config.model}", soft_wrap=True)
                trained, whole = run.trainer.parameter_counts()
                console.print(f"trained: {trained:,} parameters, on a model of {whole:,}", soft_wrap=True)
                if not isinstance(config.lr, float):
                    console.print(f"learning rate: {self._rate(run)}; --lr chooses another", soft_wrap=True)
                try:
                    finished = self.complete(run, console, interrupts)
                except KeyboardInterrupt:
                    finished = False
                return 0 if finished else self._broken_off(run, console)

    def _rate(self, run: Run[Any, Any]) -> str:
        """Return how the learning rate that was not given is told."""
        from pixelis.agents.runs.learning_rate import told_rate

        told = told_rate(run.config, run.policy)
        return told if run.config.lr == "auto" else f"{told}, by the model's size"

    def complete(self, run: Run[Any, Any], console: Console, interrupts: Interrupts) -> bool:
        """Evaluate, train and evaluate, with progress; return whether it came to its end, see `stop_of`.

        Raises:
            KeyboardInterrupt: Ctrl-C outside training, or a second one inside.
        """
        from pixelis.cli.progress import TrainingProgress

        config, trainer = run.config, run.trainer
        if run.evaluates and trainer.finished_steps == 0:
            show_evaluation(run, console, "before")
        progress = TrainingProgress(
            console,
            trainer.total_steps,
            config.minutes,
            trainer.finished_steps,
            trainer.elapsed_seconds,
            self.describe(config),
            lambda: trainer.alarms.on,
        )
        with interrupts.deferred(), progress:
            run.train(progress.update, lambda: interrupts.requested)
        if interrupts.requested or trainer.stopped_by:
            return False
        if run.evaluates:
            show_evaluation(run, console, "after")
            if getattr(config, "baselines", False):
                run.evaluate_baselines()
        self._summarise(run, console)
        return True

    # ------------------------------------------------------------------ private

    def _summarise(self, run: Run[Any, Any], console: Console) -> None:
        from pixelis.agents.runs.evaluate import evaluation_table, oracle_gaps

        rows = [row for phase in ("before", "after", "baselines") for row in run.evaluations.get(phase, [])]
        if rows and run.env is not None:
            title = f"{run.env.id}, {run.env.tasks_named('test')}"
            console.print(evaluation_table(oracle_gaps(rows), title=title))
        for table in run.tables():
            console.print(table)
        steps, minutes = run.trainer.finished_steps, run.trainer.elapsed_seconds / 60
        console.print(f"{steps} steps in {minutes:.1f} minutes of training")
        console.print(self.closing(run), soft_wrap=True)

    def _broken_off(self, run: Run[Any, Any], console: Console) -> int:
        """Say what was kept and how to go on from the newest checkpoint; return the exit code."""
        show_partial(run, console)
        command = shlex.join([*called_as(self.program), "--resume", str(run.folder.path)])
        code, why = stop_of(run)
        console.print(f"{why}; resume with:\n  {command}", soft_wrap=True)
        return code


def stop_of(run: Run[Any, Any]) -> tuple[int, str]:
    """Return the exit code of a run that did not come to its end, and why, in words."""
    alarms = run.trainer.stopped_by
    if not alarms:
        return INTERRUPTED, "interrupted"
    told = ", ".join(alarm.name for alarm in alarms)
    return ALARMED, f"stopped after step {run.trainer.finished_steps} by an alarm ({told})"


def number(value: float | int | None, form: str) -> str:
    """Return a number in a format, a dash where there is none."""
    return "–" if value is None else format(value, form)


def adapter_line(run: Any) -> str:
    """Return the last line of a supervised run."""
    return f"the adapter, for --model: {run.adapter}"
