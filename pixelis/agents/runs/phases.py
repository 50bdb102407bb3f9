"""The evaluations of a run: every agent plays, and what was played is kept whatever comes after."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.episodes.task_env import TaskEnv
from pixelis.agents.runs.evaluate import Evaluation, Listener, summarise
from pixelis.agents.runs.transcripts import episode_row

if TYPE_CHECKING:
    from pixelis.agents.runs.run import Run


def evaluable(env: TaskEnv | None, config: Any) -> TaskEnv | None:
    """Return an environment, which has tasks for evaluation if a run of these settings is to play some.

    Raises:
        ConfigError: it has none.
    """
    if env is not None and config.eval_episodes > 0:
        env.check_test()
    return env


def play_phase(run: Run[Any, Any], phase: str, agents: Sequence[tuple[str, str]]) -> list[Evaluation]:
    """Let agents play a run's tasks for evaluation; write the rows, and every episode in words.

    Args:
        run: the run.
        phase: ``before``, ``after`` or ``baselines``.
        agents: name and mode of each, see `Run.play_tasks`.

    Raises:
        EpisodesFailedError: no episode of an agent could be played to its end.
        OutputError: a file cannot be written.
    """
    rows: list[Evaluation] = []
    transcripts: list[dict[str, Any]] = []
    with run.folder.logging() as log:
        tasks = run.task_env.tasks_named("test")
        log.info("evaluation %s: %d tasks (%s)", phase, run.config.eval_episodes, tasks)
        for name, mode in agents:
            kept = _Kept()
            label = f"{phase if mode != 'scripted' else name} {mode}"
            shown = run.follow(label, run.config.eval_episodes) if run.follow else contextlib.nullcontext()
            try:
                with shown as kept.listener:
                    episodes = run.play_tasks(name, mode, kept)
                watched = run.watched(episodes)
            except BaseException:
                if kept.episodes:
                    rows.append(row_of(run, kept.episodes, name, mode))
                    _keep(run, phase, rows, [*transcripts, *_in_words(rows[-1], kept.episodes)])
                raise
            rows.append(replace(row_of(run, episodes, name, mode), watched=watched))
            transcripts += _in_words(rows[-1], episodes)
            _keep(run, phase, rows, transcripts)
    return rows


def row_of(run: Run[Any, Any], episodes: Sequence[Episode], name: str, mode: str) -> Evaluation:
    """Return what an agent reached in a run's tasks."""
    step = None if mode == "scripted" else run.trainer.finished_steps
    planned, tasks = run.config.eval_episodes, run.task_env.tasks_named("test")
    return replace(summarise(episodes, agent=name, mode=mode), step=step, planned=planned, tasks=tasks)


def _keep(
    run: Run[Any, Any], phase: str, rows: list[Evaluation], transcripts: Sequence[dict[str, Any]]
) -> None:
    run.save_evaluation(phase, rows)
    run.folder.write_rows(f"evaluation-{phase}", transcripts)
    run.trainer.after_evaluation()


def _in_words(row: Evaluation, episodes: Sequence[Episode]) -> list[dict[str, Any]]:
    return [{"agent": row.agent, "mode": row.mode} | episode_row(episode) for episode in episodes]


class _Kept:
    """Keeps the episodes of an evaluation, and passes them on to whoever shows it."""

    def __init__(self) -> None:
        self.episodes: list[Episode] = []
        self.listener: Listener | None = None

    def ended(self, count: int) -> None:
        """Pass it on."""
        if self.listener is not None:
            self.listener.ended(count)

    def played(self, episodes: Sequence[Episode]) -> None:
        """Keep them, and pass them on."""
        self.episodes += episodes
        if self.listener is not None:
            self.listener.played(episodes)
