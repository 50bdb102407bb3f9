"""The trainer: play groups of episodes, let the algorithm learn from them, write it down."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from pixelis.agents.checkpoint import discard_after, save_checkpoint, step_of
from pixelis.agents.episode import Episode
from pixelis.agents.fingerprint import frozen_fingerprint
from pixelis.agents.grpo.advantages import ADVANTAGES
from pixelis.agents.grpo.batch import StepBatch, batch_metrics
from pixelis.agents.grpo.config import TrainConfig
from pixelis.agents.grpo.correction import chosen_correction
from pixelis.agents.grpo.learner import GrpoLearner, Learner
from pixelis.agents.grpo.loss import LossSettings
from pixelis.agents.grpo.micro_batch import told_memory
from pixelis.agents.grpo.no_signal import NoSignal
from pixelis.agents.grpo.options import default_of
from pixelis.agents.grpo.refill import Played, play_step
from pixelis.agents.grpo.samples import sample_rows
from pixelis.agents.grpo.seeds import sampling_seed, task_seeds
from pixelis.agents.grpo.update import UpdateSettings
from pixelis.agents.metrics import MetricsLog, MovingMeans, Row, episode_metrics
from pixelis.agents.policy import Policy
from pixelis.agents.ppo.learner import PpoLearner
from pixelis.agents.rollout import Collector, EpisodeRequest
from pixelis.agents.run_folder import RunFolder
from pixelis.agents.sampling import RolloutStats, SamplingSettings
from pixelis.agents.state_files import (
    random_state,
    read_json,
    read_tensors,
    restore_random_state,
    write_json,
    write_tensors,
)
from pixelis.agents.task_env import TaskEnv
from pixelis.errors import CheckpointError

ADAPTER, PROGRESS = "adapter", "progress.json"
_OPTIMISER, _RANDOM = "optimiser.pt", "random.pt"
LEARNERS: dict[str, Callable[[TrainConfig, Policy, TaskEnv, UpdateSettings], Learner]] = {
    "grpo": GrpoLearner,
    "ppo": PpoLearner,
}


class Trainer:
    """Trains a policy's adapter, by GRPO or PPO, and keeps the run's files.

    Everything random in step n derives from (``config.seed``, n), so a run that is stopped and restored goes
    on as if it had not been. That holds for a stop inside a step too. A checkpoint holds no rollout: the step
    that was cut off is played again, by the same weights with the same seeds, and gives the same episodes.
    Saving them would cost a write a step (pictures included) to spare a killed run part of one rollout. It
    takes envs that depend on their seed alone. Where one does not, or a time limit strikes, the step has new
    episodes and its old ones leave no trace: their metrics are dropped.

    Args:
        config: see `TrainConfig`.
        policy: with a LoRA adapter; after `restore` it must have been loaded from the same checkpoint.
        env: what is played.
        run: where files go.

    Attributes:
        finished_steps: training steps done.
        elapsed_seconds: time spent in them, over all sessions of the run.
    """

    def __init__(self, config: TrainConfig, policy: Policy, env: TaskEnv, run: RunFolder) -> None:
        self.config, self.policy, self.env, self.run = config, policy, env, run
        self.finished_steps, self.elapsed_seconds = 0, 0.0
        self._success, self._no_signal = MovingMeans(), NoSignal()
        self._collector = Collector(env.make, env_threads=config.env_threads)
        self._sampling = SamplingSettings(
            config.temperature,
            config.top_p,
            config.max_new_tokens,
            record_kept=chosen_correction(config) != "none",
        )
        self._stats = RolloutStats()
        self._learner = LEARNERS[config.algorithm](config, policy, env, update_settings(config))
        self._base = frozen_fingerprint(policy.model)

    def train(
        self, on_step: Callable[[Row], None] | None = None, should_stop: Callable[[], bool] | None = None
    ) -> None:
        """Take steps until ``config.steps`` or ``config.minutes`` is reached, or ``should_stop`` says so.

        A checkpoint is written at the start, every ``config.checkpoint_every`` steps, and at the end.

        Args:
            on_step: is given the metrics of each step.
            should_stop: is asked after each step.

        Raises:
            TrainingError: three updates in a row were not finite, or memory ran out for good; the last
                checkpoint is intact.
            OutputError: a file could not be written; the last checkpoint is intact.
        """
        with MetricsLog(self.run.metrics, self.run.tensorboard, after_step=self.finished_steps) as log:
            self.save()
            while not self._is_over() and not (should_stop and should_stop()):
                row, episodes, batch = self.step()
                log.write(row)
                if self.finished_steps % self.config.trajectories_every == 0 or self.finished_steps == 1:
                    self.run.write_trajectories(self.finished_steps, sample_rows(episodes, batch))
                if self.finished_steps % self.config.checkpoint_every == 0:
                    self.save()
                if on_step is not None:
                    on_step(row)
            self.save()

    def step(self) -> tuple[Row, list[Episode], StepBatch]:
        """Play, score and update once; return the metrics, the episodes and what was trained on."""
        started = time.perf_counter()
        number = self.finished_steps + 1
        played = self._play(number)
        batch = self._learner.batch(played, number)
        self._no_signal.note(batch, played.episodes)
        row: Row = {"step": number} | episode_metrics(played.episodes) | self._rollout_metrics(batch)
        row |= self._learner.update(batch, played, number)
        self.finished_steps = number
        self._success.add(row["success/rate"])
        seconds = time.perf_counter() - started
        self.elapsed_seconds += seconds
        row |= {f"success/ma{window}": mean for window, mean in self._success.means().items()}
        row["success/slope100"] = self._success.slope(100)
        row |= {
            "time/step": seconds,
            "time/elapsed": self.elapsed_seconds,
            "time/tokens_per_second": (row["tokens/sampled"] or 0) / seconds,
        }
        return row, played.episodes, batch

    def close(self) -> None:
        """Close the envs."""
        self._collector.close()

    # ------------------------------------------------------------------ checkpoints

    def save(self) -> Path:
        """Write a checkpoint of the finished steps.

        Raises:
            OutputError: it could not be written; earlier checkpoints are intact.
        """
        return save_checkpoint(
            self.run.checkpoints, self.finished_steps, self._write, keep=self.config.keep_checkpoints
        )

    def restore(self, checkpoint: Path) -> None:
        """Go on from a verified checkpoint, whose adapter the policy has; drop what came after it.

        Raises:
            CheckpointError: it belongs to other settings, or a file of it is damaged.
        """
        progress = read_json(checkpoint / PROGRESS)
        check_same_settings(progress.get("identity"), self.config)
        if progress.get("base") != self._base:
            raise CheckpointError(
                f"the checkpoint belongs to another base model than {self.policy.base_name!r} is now: its "
                "weights differ; put the old one back, or start a new run"
            )
        try:
            self.finished_steps = int(progress["step"])
            self.elapsed_seconds = float(progress["elapsed_seconds"])
            self._success.restore(progress["success"])
            self._learner.optimiser.restore(read_tensors(checkpoint / _OPTIMISER))
            self._learner.restore(checkpoint)
            # Its rounding is part of the numbers: a run that had to halve it goes on with the half.
            self._learner.micro_batch.value = int(progress["micro_batch_size"])
            restore_random_state(read_tensors(checkpoint / _RANDOM))
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"checkpoint {str(checkpoint)!r} does not fit this version ({type(error).__name__}: {error})"
            ) from error
        discard_after(self.run.checkpoints, step_of(checkpoint))
        self.run.discard_after(self.finished_steps)

    def _write(self, folder: Path) -> None:
        self.policy.save_adapter(folder / ADAPTER)
        write_tensors(folder / _OPTIMISER, self._learner.optimiser.state())
        self._learner.write(folder)
        write_tensors(folder / _RANDOM, random_state())
        progress = {
            "step": self.finished_steps,
            "elapsed_seconds": self.elapsed_seconds,
            "success": self._success.state(),
            "base": self._base,
            "micro_batch_size": self._learner.micro_batch.value,
            "identity": self.config.identity,
            "digest": self.config.digest,
        }
        write_json(folder / PROGRESS, progress)

    # ------------------------------------------------------------------ phases

    def _play(self, number: int) -> Played:
        """Play the step's groups, and others for those without signal if the settings allow it."""
        self._stats = RolloutStats()
        return play_step(
            lambda round, first, groups: self._play_round(number, round, first, groups),
            self._learner.flat_groups,
            groups=self.config.groups,
            group_size=self.config.group_size,
            extra=self.config.refill_episodes,
        )

    def _play_round(self, number: int, round: int, first: int, groups: int) -> list[Episode]:
        seeds = task_seeds(self.config.seed, number, groups, round)
        requests = [
            EpisodeRequest(seed, first + group, member, self.env.options("train"))
            for group, seed in enumerate(seeds)
            for member in range(self.config.group_size)
        ]
        rng_seed = sampling_seed(self.config.seed, number, round)
        advice = "start again with fewer --groups or --max-new-tokens"
        with told_memory(f"sampling {len(requests)} episodes at once", advice):
            episodes = self._collector.collect(self.policy, requests, self._sampling, rng_seed)
        for item in fields(RolloutStats):
            total = getattr(self._stats, item.name) + getattr(self._collector.stats, item.name)
            setattr(self._stats, item.name, total)
        return episodes

    def _rollout_metrics(self, batch: StepBatch) -> Row:
        stats = self._stats
        return batch_metrics(batch) | {
            "tokens/prefilled": stats.prefilled_tokens,
            "rollout/forks": stats.forks,
            "rollout/timeouts": stats.timeouts,
            "time/generation": stats.generation_seconds,
            "time/env": stats.env_seconds,
        }

    def _is_over(self) -> bool:
        minutes = self.config.minutes
        out_of_time = minutes is not None and self.elapsed_seconds >= 60 * minutes
        return out_of_time or self.finished_steps >= self.config.steps


def check_same_settings(saved: Any, config: TrainConfig) -> None:
    """Check that a checkpoint's settings are those of the run that wants to go on from it.

    A setting that came after the checkpoint counts as what it is by default, which is what was done before.

    Raises:
        CheckpointError: naming the settings that differ.
    """
    if not isinstance(saved, dict):
        raise CheckpointError("the checkpoint does not say which settings it belongs to")
    now = config.identity
    defaults = {item.name: default_of(item) for item in fields(config) if item.name in now}
    saved = {**defaults, **saved}
    different = sorted(name for name in {*saved, *now} if saved.get(name) != now.get(name))
    if different:
        changes = ", ".join(f"{name} was {saved.get(name)!r} and is {now.get(name)!r}" for name in different)
        raise CheckpointError(
            f"the checkpoint belongs to other settings: {changes}; use the same, or a new run"
        )


def update_settings(config: TrainConfig) -> UpdateSettings:
    """Return the part of the settings that the update needs.

    Raises:
        ConfigError: a function of the loss is not registered, or the module that has it cannot be imported.
    """
    ADVANTAGES.find(config.advantage_scale)
    loss = LossSettings(
        epsilon_low=config.epsilon_low,
        epsilon_high=config.epsilon_high,
        dual_clip=config.dual_clip,
        sapo_positive=config.sapo_positive,
        sapo_negative=config.sapo_negative,
        ratio=config.ratio,
        surrogate=config.surrogate,
        aggregation=config.aggregation,
        kl=config.kl,
        beta=config.beta if config.kl_in == "loss" else 0.0,
        kl_ratio=config.kl_ratio,
        correction=chosen_correction(config),
        correction_level=config.correction_level,
        correction_cap=config.correction_cap,
    )
    return UpdateSettings(loss, config.temperature, config.epochs, config.micro_batch_size)
