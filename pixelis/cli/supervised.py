"""What the commands of supervised training share: settings, a run, progress, Ctrl-C, a last table."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pixelis.agents.settings.run_settings import RUN
from pixelis.cli import INTERRUPTED, called_as
from pixelis.cli.arguments import Arguments
from pixelis.cli.console import open_console, warnings_on
from pixelis.cli.evaluating import show_evaluation, show_partial
from pixelis.cli.interrupts import Interrupts

if TYPE_CHECKING:
    from rich.console import Console

    from pixelis.agents.runs.metrics import Row
    from pixelis.agents.sft.run import SupervisedRun


@dataclass(frozen=True)
class Command:
    """A command that trains.

    Attributes:
        program: its file's name.
        description: first lines of its help.
        examples: last lines of its help.
        settings: the dataclass of its options.
        run: returns the class of its runs (a function, so that the slow imports wait for it).
        describe: what the progress line tells of a step.
    """

    program: str
    description: str
    examples: str
    settings: type[Any]
    run: Callable[[], type[SupervisedRun[Any, Any]]]
    describe: Callable[[Row], str]

    def read(self, words: Sequence[str]) -> tuple[Any, str | None]:
        """Return the settings that words ask for, and the run to resume if there is one.

        Raises:
            ConfigError, CheckpointError: a wrong word, or no such run.
        """
        values, extra = self._arguments().parse(words)
        if extra["resume"] is not None:
            from pixelis.agents.run_files.saved_run import settings_of

            saved = settings_of(extra["resume"])
            self.settings.from_mapping(saved)
            values, _ = self._arguments().parse(words, base=saved)
        return self.settings.from_mapping(values), extra["resume"]

    def __call__(self, words: Sequence[str]) -> int:
        """Train; return the exit code."""
        config, resume = self.read(words)

        console = open_console()
        kind = self.run()
        with Interrupts() as interrupts, warnings_on(console):
            run = kind.resume(resume, config) if resume is not None else kind.start(config)
            with run:
                console.print(f"run folder: {run.folder.path}", soft_wrap=True)
                console.print(f"model: {run.config.model}", soft_wrap=True)
                if config.lr is None:
                    console.print(
                        f"learning rate: {run.config.lr:g}, by the model's size; --lr chooses another"
                    )
                try:
                    finished = self.complete(run, console, interrupts)
                except KeyboardInterrupt:
                    finished = False
                return 0 if finished else _interrupted(run, console, self.program)

    def complete(self, run: SupervisedRun[Any, Any], console: Console, interrupts: Interrupts) -> bool:
        """Evaluate, train and evaluate, with progress; return whether it came to its end.

        Raises:
            KeyboardInterrupt: Ctrl-C outside training, or a second one inside.
        """
        from pixelis.cli.progress import TrainingProgress

        trainer = run.trainer
        if run.evaluates and trainer.finished_steps == 0:
            _evaluate(run, console, "before")
        progress = TrainingProgress(
            console,
            trainer.total_steps,
            run.config.minutes,
            trainer.finished_steps,
            trainer.elapsed_seconds,
            self.describe,
        )
        with interrupts.deferred(), progress:
            run.train(progress.update, lambda: interrupts.requested)
        if interrupts.requested:
            return False
        if run.evaluates:
            _evaluate(run, console, "after")
        _summarise(run, console)
        return True

    # ------------------------------------------------------------------ private

    def _arguments(self) -> Arguments[Any]:
        arguments = Arguments(self.program, self.description, self.settings, self.examples)
        arguments.add(RUN, "--resume", "FOLDER", "go on with the run in this folder, with its settings")
        return arguments


def number(value: float | int | None, form: str) -> str:
    """Return a number in a format, a dash where there is none."""
    return "–" if value is None else format(value, form)


def _evaluate(run: SupervisedRun[Any, Any], console: Console, phase: str) -> None:
    show_evaluation(run, console, phase)


def _summarise(run: SupervisedRun[Any, Any], console: Console) -> None:
    from pixelis.agents.runs.evaluate import evaluation_table

    rows = [row for phase in ("before", "after") for row in run.evaluations.get(phase, [])]
    if rows and run.env is not None:
        console.print(evaluation_table(rows, title=f"{run.env.id}, {run.env.tasks_named('test')}"))
    trainer = run.trainer
    console.print(f"{trainer.finished_steps} steps in {trainer.elapsed_seconds / 60:.1f} minutes of training")
    console.print(f"the adapter, for --model: {run.adapter}", soft_wrap=True)


def _interrupted(run: SupervisedRun[Any, Any], console: Console, program: str) -> int:
    """Say what was kept and how to go on from the newest checkpoint; return the exit code."""
    show_partial(run, console)
    command = shlex.join([*called_as(program), "--resume", str(run.folder.path)])
    console.print(f"interrupted; resume with:\n  {command}", soft_wrap=True)
    return INTERRUPTED
