"""The GRPO trainer: play groups of episodes, score them against each other, update, write it down."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pixelis.agents.checkpoint import discard_after, save_checkpoint, step_of
from pixelis.agents.episode import Episode
from pixelis.agents.fingerprint import frozen_fingerprint
from pixelis.agents.grpo.batch import StepBatch, make_batch
from pixelis.agents.grpo.config import TrainConfig
from pixelis.agents.grpo.loss import LossSettings
from pixelis.agents.grpo.micro_batch import told_memory
from pixelis.agents.grpo.no_signal import NoSignal
from pixelis.agents.grpo.optimiser import Optimiser
from pixelis.agents.grpo.samples import sample_rows
from pixelis.agents.grpo.seeds import sampling_seed, task_seeds
from pixelis.agents.grpo.update import Updater, UpdateSettings
from pixelis.agents.metrics import MetricsLog, MovingMeans, Row, episode_metrics
from pixelis.agents.policy import Policy
from pixelis.agents.rollout import Collector, EpisodeRequest
from pixelis.agents.run_folder import RunFolder
from pixelis.agents.sampling import SamplingSettings
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


class Trainer:
    """Trains a policy's adapter by GRPO and keeps the run's files.

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
        self._sampling = SamplingSettings(config.temperature, config.top_p, config.max_new_tokens)
        self._optimiser = Optimiser(
            policy.trainable_parameters(),
            lr=config.lr,
            warmup_steps=config.warmup_steps,
            decay_steps=config.decay_steps,
            weight_decay=config.weight_decay,
            max_grad_norm=config.max_grad_norm,
        )
        self._updater = Updater(policy, self._optimiser, _update_settings(config))
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
        episodes = self._play(number)
        batch = make_batch(
            episodes,
            groups=self.config.groups,
            group_size=self.config.group_size,
            scale=self.config.advantage_scale,
            max_completion_length=self.config.max_new_tokens * self.env.max_turns,
        )
        self._no_signal.note(batch, episodes)
        row: Row = {"step": number} | episode_metrics(episodes) | self._rollout_metrics(batch)
        row |= self._updater.update(batch, episodes)
        self.finished_steps = number
        self._success.add(row["success/rate"])
        seconds = time.perf_counter() - started
        self.elapsed_seconds += seconds
        row |= {f"success/ma{window}": mean for window, mean in self._success.means().items()}
        row |= {
            "time/step": seconds,
            "time/elapsed": self.elapsed_seconds,
            "time/tokens_per_second": (row["tokens/sampled"] or 0) / seconds,
        }
        return row, episodes, batch

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
            # Its rounding is part of the numbers: a run that had to halve it goes on with the half.
            self._updater.micro_batch.value = int(progress["micro_batch_size"])
            self._optimiser.restore(read_tensors(checkpoint / _OPTIMISER))
            restore_random_state(read_tensors(checkpoint / _RANDOM))
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"checkpoint {str(checkpoint)!r} does not fit this version ({type(error).__name__}: {error})"
            ) from error
        discard_after(self.run.checkpoints, step_of(checkpoint))
        self.run.discard_after(self.finished_steps)

    def _write(self, folder: Path) -> None:
        self.policy.save_adapter(folder / ADAPTER)
        write_tensors(folder / _OPTIMISER, self._optimiser.state())
        write_tensors(folder / _RANDOM, random_state())
        progress = {
            "step": self.finished_steps,
            "elapsed_seconds": self.elapsed_seconds,
            "success": self._success.state(),
            "base": self._base,
            "micro_batch_size": self._updater.micro_batch.value,
            "identity": self.config.identity,
            "digest": self.config.digest,
        }
        write_json(folder / PROGRESS, progress)

    # ------------------------------------------------------------------ phases

    def _play(self, number: int) -> list[Episode]:
        seeds = task_seeds(self.config.seed, number, self.config.groups)
        requests = [
            EpisodeRequest(seed, group, member, self.env.options("train"))
            for group, seed in enumerate(seeds)
            for member in range(self.config.group_size)
        ]
        advice = "start again with fewer --groups or --max-new-tokens"
        with told_memory(f"sampling {len(requests)} episodes at once", advice):
            return self._collector.collect(
                self.policy, requests, self._sampling, sampling_seed(self.config.seed, number)
            )

    def _rollout_metrics(self, batch: StepBatch) -> Row:
        stats = self._collector.stats
        return {
            "groups/count": batch.groups,
            "groups/dropped": batch.dropped,
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

    Raises:
        CheckpointError: naming the settings that differ.
    """
    if not isinstance(saved, dict):
        raise CheckpointError("the checkpoint does not say which settings it belongs to")
    now = config.identity
    different = sorted(name for name in {*saved, *now} if saved.get(name) != now.get(name))
    if different:
        changes = ", ".join(f"{name} was {saved.get(name)!r} and is {now.get(name)!r}" for name in different)
        raise CheckpointError(
            f"the checkpoint belongs to other settings: {changes}; use the same, or a new run"
        )


def _update_settings(config: TrainConfig) -> UpdateSettings:
    loss = LossSettings(
        aggregation=config.aggregation,
        kl=config.kl,
        epsilon_low=config.epsilon_low,
        epsilon_high=config.epsilon_high,
        beta=config.beta,
    )
    return UpdateSettings(loss, config.temperature, config.epochs, config.micro_batch_size)
