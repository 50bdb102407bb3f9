"""``scripts/train_agent.py``: train a model by GRPO, from flags and YAML."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pixelis.agents.grpo.config import TrainConfig
from pixelis.agents.run_settings import RUN
from pixelis.cli import INTERRUPTED, run_command
from pixelis.cli.arguments import Arguments
from pixelis.cli.console import open_console
from pixelis.cli.interrupts import Interrupts

if TYPE_CHECKING:
    from rich.console import Console

    from pixelis.agents.grpo.run import TrainingRun

PROGRAM = "train_agent.py"
DESCRIPTION = """\
Train a language or vision-language model by GRPO in a Pixelis environment.
Every setting below is also a key of the YAML file given with --config; flags win over the file."""
EXAMPLES = """\
examples:
  train_agent.py --env Pixelis/ZoomRead-v0
  train_agent.py --config configs/zoom_read.yaml --minutes 5 --seed 1
  train_agent.py --resume runs/zoomread-pixelis-tiny-seed0 --steps 400"""


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    return run_command(_train, words)


def read_settings(words: Sequence[str]) -> tuple[TrainConfig, str | None]:
    """Return the settings that the words of a command line ask for, and the run to resume if there is one.

    Raises:
        ConfigError, CheckpointError: see `Arguments.parse` and `TrainingRun.resume`.
    """
    arguments = _arguments()
    values, extra = arguments.parse(words)
    if extra["resume"] is not None:
        from pixelis.agents.saved_run import settings_of

        saved = settings_of(extra["resume"])
        TrainConfig.from_mapping(saved)
        values, _ = _arguments().parse(words, base=saved)
    return TrainConfig.from_mapping(values), extra["resume"]


def _arguments() -> Arguments:
    arguments = Arguments(PROGRAM, DESCRIPTION, TrainConfig, EXAMPLES)
    arguments.add(RUN, "--resume", "FOLDER", "go on with the run in this folder, with its settings")
    return arguments


def _train(words: Sequence[str]) -> int:
    config, resume = read_settings(words)

    from pixelis.agents.grpo.run import TrainingRun

    console = open_console()
    with Interrupts() as interrupts:
        run = TrainingRun.resume(resume, config) if resume is not None else TrainingRun.start(config)
        with run:
            console.print(f"run folder: {run.folder.path}", soft_wrap=True)
            try:
                return _whole(run, console, interrupts)
            except KeyboardInterrupt:
                return _interrupted(run, console)


def _whole(run: TrainingRun, console: Console, interrupts: Interrupts) -> int:
    """Evaluate, train, evaluate; return the exit code."""
    from pixelis.cli.progress import TrainingProgress

    config, trainer = run.config, run.trainer
    if config.eval_episodes and trainer.finished_steps == 0:
        _evaluate(run, console, "before")
    progress = TrainingProgress(
        console, config.steps, config.minutes, trainer.finished_steps, trainer.elapsed_seconds
    )
    with interrupts.deferred(), progress:
        run.train(progress.update, lambda: interrupts.requested)
    if interrupts.requested:
        return _interrupted(run, console)
    if config.eval_episodes:
        _evaluate(run, console, "after")
    _summarise(run, console)
    return 0


def _evaluate(run: TrainingRun, console: Console, phase: str) -> None:
    console.print(f"evaluating {phase} training on {run.config.eval_episodes} held-out tasks …")
    for row in run.evaluate(phase):
        low, high = row.interval
        console.print(f"  {row.mode}: success {row.success_rate:.3f} (95 % interval {low:.3f}–{high:.3f})")


def _summarise(run: TrainingRun, console: Console) -> None:
    from pixelis.agents.evaluate import evaluation_table, oracle_gaps

    if run.config.baselines and run.config.eval_episodes:
        run.evaluate_baselines()
    rows = [row for phase in ("before", "after", "baselines") for row in run.evaluations.get(phase, [])]
    if rows:
        console.print(evaluation_table(oracle_gaps(rows), title=f"{run.task_env.id}, held-out tasks"))
    trainer = run.trainer
    console.print(f"{trainer.finished_steps} steps in {trainer.elapsed_seconds / 60:.1f} minutes of training")
    console.print(f"everything is in {run.folder.path}", soft_wrap=True)


def _interrupted(run: TrainingRun, console: Console) -> int:
    """Say how to go on from the newest checkpoint; return the exit code."""
    console.print(f"interrupted; resume with:\n  {resume_command(str(run.folder.path))}", soft_wrap=True)
    return INTERRUPTED


def resume_command(folder: str) -> str:
    """Return the command that goes on with a run."""
    return shlex.join(["python", sys.argv[0] or PROGRAM, "--resume", folder])
