"""Evaluation while a run trains: how the policy plays tasks for evaluation, and the best adapter so far.

Nothing random of training is touched: tasks and sampling have seeds of their own, environments are others,
and the global generators are put back. A run has the same numbers with and without it.
"""

from __future__ import annotations

import logging
import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pixelis.agents.episodes.behaviour import Row
from pixelis.agents.episodes.task_env import TaskEnv
from pixelis.agents.models.policy import Policy
from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.agents.run_files.run_folder import RunFolder
from pixelis.agents.run_files.state_files import random_state, read_json, restore_random_state, write_json
from pixelis.agents.runs.evaluate import PICTURED, AtOnce, Evaluation, play, summarise
from pixelis.agents.runs.evaluation_file import evaluation_to_row
from pixelis.agents.runs.transcripts import episode_row
from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.settings.vote import read_vote
from pixelis.files import writing

_LOG = logging.getLogger(__name__)
BEST, EVALUATION = "best", "evaluation.json"
_BEFORE = f".{BEST}-before"


class Evaluating:
    """Plays ``eval_episodes`` tasks every ``eval_every`` steps and at the end, greedily.

    Where members vote for what is right, the tasks are the check set: they are played as in training,
    sampled, and after the first step too, so that what a vote spoils is seen from where it began.

    The adapter with the highest success rate, of equals the highest mean reward, of these the earliest, is
    kept as the folder ``best`` of the run, with its numbers as ``best/evaluation.json``. Where members vote
    and the check set has no labels nothing is.

    Args:
        config: of the run, with ``eval_every`` of at least 1.
        policy: what is trained.
        env: what is played.
        run: where files go.
        describe: ``(folder, step)``; writes for people, beside the weights, what they are.
    """

    def __init__(
        self,
        config: TrainConfig,
        policy: Policy,
        env: TaskEnv,
        run: RunFolder,
        describe: Callable[[Path, int], None],
    ) -> None:
        self._config, self._policy, self._env, self._run = config, policy, env, run
        self._describe = describe
        self._best: dict[str, float] | None = None
        self._saved: int | None = None  # the step that was the best when that was last written down
        self._votes, self._warned = read_vote(config.rewards) is not None, False

    def after(self, step: int) -> Row:
        """Evaluate if it is time to; return the metrics under ``evaluation/``, none otherwise.

        Raises:
            EpisodesFailedError: no episode could be played to its end.
            OutputError: a file cannot be written.
        """
        is_due = step % self._config.eval_every == 0 or step == self._config.steps
        if not is_due and not (self._votes and step == 1):
            return {}
        started, generators = time.perf_counter(), random_state()
        try:
            row = self._play(step)
        finally:
            restore_random_state(generators)
        if self._votes and not row.says_success:
            self._warn_once()  # and nothing is the best by a reward that nobody knows
        elif self._is_best(row):
            self._best = {"step": step, "key": self._key(row)[0], "reward": row.mean_reward}
            self._leave(row, step)
        known: Row = {"evaluation/reward": row.mean_reward, "evaluation/failed_share": _failed_share(row)}
        if row.says_success:
            low, high = row.interval
            known |= {
                "evaluation/success": row.success_rate,
                "evaluation/success_low": low,
                "evaluation/success_high": high,
            }
        best = None if self._best is None else int(self._best["step"])
        seconds = time.perf_counter() - started
        return known | {"evaluation/best_step": best, "time/evaluation": seconds}

    def state_dict(self) -> dict[str, Any]:
        """Return which step was the best so far, as JSON-able values."""
        self._saved = None if self._best is None else int(self._best["step"])
        return {"best": self._best}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` returned.

        Where the run went back before its best, that is put aside as ``best-step-N``: it is of steps that are
        no more. What was the best until here takes its place again where it lies beside it, as it does since
        the last checkpoint; else the next evaluation is the best.
        """
        self._best = state["best"]
        self._saved = None if self._best is None else int(self._best["step"])
        final, before = self._run.path / BEST, self._run.path / _BEFORE
        lies = _step_of(final)
        if self._best is not None and lies == self._saved:
            return
        with writing(self._run.path):
            if lies is not None:
                aside = final.with_name(f"{BEST}-step-{lies}")
                shutil.rmtree(aside, ignore_errors=True)
                os.replace(final, aside)
            if self._best is not None and _step_of(before) == self._saved:
                os.replace(before, final)
            else:
                self._best = self._saved = None

    # ------------------------------------------------------------------ private

    def _play(self, step: int) -> Evaluation:
        config, env = self._config, self._env
        sampling = SamplingSettings(max_new_tokens=config.max_new_tokens, greedy=True)
        if self._votes:
            sampling = replace(sampling, greedy=False, temperature=config.temperature, top_p=config.top_p)
        episodes, mode = play(
            self._policy,
            env.make,
            env.held_out_seeds(config.eval_episodes),
            settings=sampling,
            options=env.options("test"),
            rng_seed=config.seed,
            at_once=AtOnce(pictured=PICTURED),
        )
        self._run.write_rows(f"evaluation-step-{step:08d}", [episode_row(episode) for episode in episodes])
        row = summarise(episodes, agent=f"step {step}", mode=mode)
        return replace(row, step=step, planned=config.eval_episodes, tasks=env.tasks_named("test"))

    def _warn_once(self) -> None:
        if not self._warned:
            _LOG.warning(
                "the check set has no labels, so nothing tells whether members are right, and no best/ is "
                "left: give some tasks of the split 'test' labels, see docs/guide/without_labels.md"
            )
        self._warned = True

    def _key(self, row: Evaluation) -> tuple[float, float]:
        return row.success_rate if row.says_success else 0.0, row.mean_reward

    def _is_best(self, row: Evaluation) -> bool:
        return self._best is None or self._key(row) > (self._best["key"], self._best["reward"])

    def _leave(self, row: Evaluation, step: int) -> None:
        """Write what is trained as ``best``, whole or not at all: an adapter, or the whole model."""
        final, before = self._run.path / BEST, self._run.path / _BEFORE
        fresh = final.with_name(f".{BEST}.unfinished")
        with writing(self._run.path):
            shutil.rmtree(fresh, ignore_errors=True)
            self._policy.save_weights(fresh)
            write_json(Path(fresh) / EVALUATION, evaluation_to_row(row))
            self._describe(Path(fresh), step)
            if self._saved is not None and _step_of(final) == self._saved:  # a resume may go back to it
                shutil.rmtree(before, ignore_errors=True)
                os.replace(final, before)
            shutil.rmtree(final, ignore_errors=True)
            os.replace(fresh, final)


def _step_of(best: Path) -> int | None:
    return read_json(best / EVALUATION).get("step") if (best / EVALUATION).is_file() else None


def _failed_share(row: Evaluation) -> float:
    return row.failed / (row.episodes + row.failed)
