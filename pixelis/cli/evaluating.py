"""The evaluations of a run on the console: how far they are, and what came of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from pixelis.agents.runs.run import Run


def show_evaluation(run: Run[Any, Any], console: Console, phase: str) -> None:
    """Evaluate a run, with progress, and print what it reached.

    Raises:
        EpisodesFailedError: no episode could be played to its end.
    """
    from pixelis.agents.runs.evaluate import success_text
    from pixelis.cli.progress import EvaluationProgress

    env = run.task_env
    note = f" ({env.tasks_named('test')})"
    console.print(f"evaluating {phase} training on {run.config.eval_episodes} tasks{note} …", soft_wrap=True)
    if env.split_note and phase == "before":
        console.print(f"  {env.split_note}", soft_wrap=True)
    run.follow = lambda label, count: EvaluationProgress(console, label, count)
    for row in run.evaluate(phase):
        console.print(f"  {row.mode}: success {success_text(row)}, reward {row.mean_reward:.3f}")


def show_partial(run: Run[Any, Any], console: Console) -> None:
    """Say what was kept of an evaluation that was cut off, if one was."""
    for phase, rows in run.evaluations.items():
        for row in rows:
            if row.is_partial:
                count = f"{row.episodes + row.failed} of {row.planned} episodes"
                console.print(
                    f"{count} of the evaluation {phase} training ({row.mode}) are in {run.folder.evaluation}",
                    soft_wrap=True,
                )
