"""The trainer: play groups of episodes, let the algorithm learn from them, write it down."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from pixelis.agents.episodes.answers import diversity_metrics
from pixelis.agents.episodes.episode import Episode
from pixelis.agents.episodes.failures import FailureWatch
from pixelis.agents.episodes.seeds import sampling_seed
from pixelis.agents.episodes.task_env import TaskEnv
from pixelis.agents.models.loading import frozen_fingerprint
from pixelis.agents.models.policy import Policy
from pixelis.agents.optimisation.micro_batch import explain_out_of_memory
from pixelis.agents.playing.sources import engine_of
from pixelis.agents.playing.workers.collector import RayCollector
from pixelis.agents.playing.workers.lookahead import Lookahead, StepRequest
from pixelis.agents.publish.language_stepper import LanguageStepper
from pixelis.agents.rl.alarms import EntropyRange, NoSignal
from pixelis.agents.rl.batch import BatchSettings, StepBatch, batch_metrics
from pixelis.agents.rl.evaluating import Evaluating
from pixelis.agents.rl.gradient import BatchGradient, Gradient
from pixelis.agents.rl.grpo import GrpoLearner, Learner
from pixelis.agents.rl.parts import TrainingParts
from pixelis.agents.rl.ppo import PpoLearner
from pixelis.agents.rl.refill import StepRollouts, play_step
from pixelis.agents.rl.samples import sample_rows
from pixelis.agents.rl.team import Plays, Team, TeamCollector, TeamGradient
from pixelis.agents.rollout.collector import Collector, EpisodeRequest
from pixelis.agents.rollout.sampling import RolloutStats, SamplingSettings
from pixelis.agents.run_files.checkpoint import step_of
from pixelis.agents.run_files.run_folder import RunFolder
from pixelis.agents.runs.metrics import MovingMeans, Row, episode_metrics
from pixelis.agents.runs.sinks.samples import episode_sample
from pixelis.agents.runs.sinks.sink import StepSample
from pixelis.agents.runs.watch.watch import Watch
from pixelis.agents.settings.rl import TrainConfig, chosen_correction
from pixelis.agents.ued.sampler import SampledLevel
from pixelis.errors import CheckpointError

PICTURED = 32
"""Episodes of a step whose pictures are kept until the next step, the first ones."""

MakeLearner = Callable[[TrainConfig, Policy, TaskEnv, Gradient, BatchSettings], Learner]
LEARNERS: dict[str, MakeLearner] = {
    "grpo": GrpoLearner,
    "ppo": PpoLearner,
}


class Trainer(LanguageStepper[TrainConfig]):
    """Trains a policy's adapter, by GRPO or PPO, and keeps the run's files.

    Everything random in step n derives from (``config.seed``, n), so a run that is stopped and restored goes
    on as if it had not been. That holds for a stop inside a step too. A checkpoint holds no rollout: the step
    that was cut off is played again, by the same weights with the same seeds, and gives the same episodes.
    Saving them would cost a write a step (pictures included) to spare a killed run part of one rollout. It
    takes envs that depend on their seed alone. Where one does not, or a time limit strikes, the step has new
    episodes and its old ones leave no trace: their metrics are dropped.

    Args:
        config: see `TrainConfig`.
        policy: with a LoRA adapter; before `load_checkpoint` it must have been loaded from the same
            checkpoint.
        env: what is played.
        run: where files go.
        parts: of the same settings and environment.
        team: other processes that help; None: there are none.

    Attributes:
        env: see there.
        collector: plays the episodes.
        team: see there.
        rewards: of the parts, as are ``watch`` and ``levels``.
        evaluating: evaluates while it trains; None without ``eval_every``.
    """

    def __init__(
        self,
        config: TrainConfig,
        policy: Policy,
        env: TaskEnv,
        run: RunFolder,
        parts: TrainingParts,
        team: Team | None = None,
    ) -> None:
        super().__init__(config, policy, run)
        self._micro_batch_size = config.micro_batch_size
        self.env = env
        self._success, self._no_signal, self._failures = MovingMeans(), NoSignal(), FailureWatch()
        self._entropy = EntropyRange()
        self.rewards, self.watch, self.levels = parts.rewards, parts.watch, parts.levels
        self.rewards.warn_of_length(config.steps)
        self.evaluating = None
        if config.eval_every:
            self.evaluating = Evaluating(config, policy, env, run, self._describe_best)
        self._earlier: dict[str, Any] = {}  # of watch and evaluation, where this session has none
        self.team = team
        self.collector = self._collector_of(config)
        gradient: Gradient = BatchGradient(policy, parts.update)
        if team is not None:
            gradient = TeamGradient(team, gradient)
        self._sampling = SamplingSettings(
            config.temperature,
            config.top_p,
            config.max_new_tokens,
            record_kept=chosen_correction(config) != "none",
        )
        self._stats = RolloutStats()
        self._ahead = None
        if isinstance(self.collector, RayCollector) and config.max_staleness:
            self._ahead = Lookahead(
                self.collector, policy, config.max_staleness, config.steps, self._first_round
            )
        self._learner = LEARNERS[config.algorithm.type](config, policy, env, gradient, parts.batch)
        self._base = frozen_fingerprint(policy.model)
        self._last: tuple[list[Episode], StepBatch]
        self._go_back: Callable[[], None] | None = None  # while a step is played that others may be lost in

    @property
    def total_steps(self) -> int:
        """The step with which training ends."""
        return self.config.steps

    def step(self) -> tuple[Row, list[Episode], StepBatch]:
        """Play, score and update once; return the metrics, the episodes and what was trained on."""
        row = self.timed_step()
        return row, *self._last

    def timed_step(self) -> Row:
        """Take the next step; return its metrics, the speed among them."""
        row = super().timed_step()
        return row | {"time/tokens_per_second": (row["tokens/sampled"] or 0) / (row["time/step"] or 1)}

    def take_step(self, number: int) -> Row:
        """Play, score and update."""
        if self.team is not None or self.config.workers is not None or self.config.sampler.type != "own":
            self._go_back = self.rewards.remember()
        played = self._play(number)
        self._go_back = None
        self._failures.note(played.episodes, f"step {number}")
        batch = self._learner.batch(played, number)
        if played.is_training:
            self._no_signal.note(batch, played.episodes)
        row = episode_metrics(played.episodes) | self._rollout_metrics(batch) | self.rewards.learn()
        if self._ahead is not None:
            row["rollout/staleness"] = self._staleness(played.episodes)
        if self.config.diversity != "none":
            row |= diversity_metrics(played.episodes, self.config.diversity)
        row |= self.levels.note(number, played.episodes)
        row |= self._learner.update(batch, played, number)
        self._success.add(row["success/rate"])
        row |= {f"success/ma{window}": mean for window, mean in self._success.means().items()}
        row["success/slope100"] = self._success.slope(100)
        row["policy/entropy_alarm"] = self._entropy.note(row["policy/entropy"], row["success/ma10"])
        row |= self.rewards.observe(number, row)
        if self.watch is not None:
            row |= self.watch.note(played.episodes, row)
        self._last = played.episodes, batch
        return row

    def go_back(self) -> bool:
        """Put reward terms back to before a step was played; nothing else that is saved changes meanwhile."""
        if self._go_back is None:
            return False
        self._go_back()
        return True

    def after_step(self) -> None:
        """Write sample episodes where it is time to, and a checkpoint where the curriculum has moved on."""
        self._no_signal.tell(is_alarm="no gradient" in self.alarms.on)
        if self.rewards.change is not None:
            self.save_named(self.rewards.change.stage)
        if self.finished_steps % self.config.trajectories_every == 0 or self.finished_steps == 1:
            self._write_samples()

    def sample(self) -> StepSample:
        """Return the distributions, pictures and an episode of the last step."""
        episodes, batch = self._last
        return episode_sample(episodes, batch.advantages)

    def after_last_step(self) -> None:
        """Write the sample episodes of the last step, whichever it was."""
        self._write_samples()

    def explain(self, alarm: str) -> str | None:
        """Return what is known of steps without a gradient, and of scores that part from the reward."""
        watched = None if self.watch is None else self.watch.words
        return {"no gradient": self._no_signal.words, "reward and watched scores part": watched}.get(alarm)

    def lower_rate(self, factor: float) -> Row:
        """Multiply the learning rate; with ``lr: auto`` it stays below a share of what it is now."""
        self._learner.updater.lower_rate(factor)
        return {"policy/lr": self._learner.optimiser.lr}

    def measure(self) -> Row:
        """Evaluate where it is time to, see `Evaluating`."""
        return {} if self.evaluating is None else self.evaluating.after(self.finished_steps)

    def _describe_best(self, folder: Path, step: int) -> None:
        self.describe(folder, {"step": step, "elapsed_seconds": self.elapsed_seconds})

    def close(self) -> None:
        """Close the envs."""
        self.collector.close()
        self.levels.close()

    # ------------------------------------------------------------------ checkpoints

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the optimiser."""
        return self._learner.optimiser.state_dict()

    def load_state_dict(self, tensors: Mapping[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        self._learner.optimiser.load_state_dict(tensors)

    def progress(self) -> dict[str, Any]:
        """Return the moving means, what the base model is, and the size of a forward pass."""
        return {
            "success": self._success.state_dict(),
            "base": self._base,
            "micro_batch_size": self._learner.micro_batch.value,
            "micro_batch_size_set": self._micro_batch_size,
            "entropy": self._entropy.state_dict(),
            "no_signal": self._no_signal.state_dict(),
            "update": self._learner.updater.state_dict(),
            **self._earlier,
            **{name: part.state_dict() for name, part in self._measuring.items()},
        }

    def load_progress(self, progress: Mapping[str, Any]) -> None:
        """Take over what `progress` returned.

        Raises:
            CheckpointError: the base model is another one.
        """
        if progress.get("base") != self._base:
            raise CheckpointError(
                f"the checkpoint belongs to another base model than {self.policy.base_name!r} is now: its "
                "weights differ; put the old one back, or start a new run"
            )
        self._success.load_state_dict(progress["success"])
        self._earlier = {name: progress[name] for name in ("watch", "evaluating") if name in progress}
        for name, part in self._measuring.items():
            if name in progress:
                part.load_state_dict(progress[name])
        parts = {"entropy": self._entropy, "no_signal": self._no_signal, "update": self._learner.updater}
        for name, part in parts.items():
            if name in progress:
                part.load_state_dict(progress[name])
        # Its rounding is part of the numbers: a run that had to halve it goes on with the half, but where
        # another size is set now.
        if progress.get("micro_batch_size_set", self._micro_batch_size) == self._micro_batch_size:
            self._learner.micro_batch.value = int(progress["micro_batch_size"])

    def save_files(self, folder: Path) -> None:
        """Write what the algorithm keeps."""
        self._learner.save_files(folder)
        self.rewards.save_files(folder)
        self.levels.save_files(folder)
        if self._ahead is not None:
            self._ahead.save_files(folder)

    def load_files(self, folder: Path) -> None:
        """Take over what `save_files` wrote."""
        self._learner.load_files(folder)
        self.rewards.load_files(folder)
        self.levels.load_files(folder)
        if self._ahead is not None:
            self._ahead.load_files(folder)

    def take_over(self, checkpoint: Path) -> None:
        """Take from another run's checkpoint what reward terms and algorithm can use; the log says what.

        Raises:
            CheckpointError: a file is damaged, or of other settings of a reward term.
        """
        taken = [
            *self.rewards.take_over(checkpoint),
            *self._learner.take_over(checkpoint, step_of(checkpoint)),
        ]
        with self.run.logging() as log:
            log.info("from %s: the weights%s", checkpoint, "".join(f", {what}" for what in taken))

    # ------------------------------------------------------------------ phases

    def _collector_of(self, config: TrainConfig) -> Plays:
        """Return who plays: workers, this process, or this and those that help it."""
        if config.workers is not None:
            return RayCollector(config, self.policy, self.rewards.stack)
        own = Collector(
            self.env.make,
            env_threads=config.env_threads,
            rewarder=self.rewards.rewarder,
            engine=engine_of(config, self.run.path),
        )
        return own if self.team is None else TeamCollector(self.team, own)

    @property
    def _measuring(self) -> dict[str, Watch | Evaluating]:
        """What there is of watch and evaluation, by its name in a checkpoint."""
        parts = {"watch": self.watch, "evaluating": self.evaluating}
        return {name: part for name, part in parts.items() if part is not None}

    def _write_samples(self) -> None:
        self.run.write_trajectories(self.finished_steps, sample_rows(*self._last, self.policy.tokenizer))

    def _play(self, number: int) -> StepRollouts:
        """Play the step's groups, and others for those without signal if the settings allow it."""
        self._stats = RolloutStats()
        draws = self.levels.begin(number)

        def play(round: int, first: int, groups: int) -> list[Episode]:
            if self._ahead is not None:  # there is one round
                return self._counted(self._ahead.take(number))
            chosen = self.levels.more(number, round, groups) if round else draws
            return self._play_draws(chosen, first, sampling_seed(self.config.seed, number, round))

        def zero_variance(episodes: Sequence[Episode], groups: int) -> np.ndarray:
            found = self._learner.zero_variance_groups(episodes, groups)
            found[list(self.levels.scored_only(number))] = False  # nothing takes their place
            return found

        sizes = {"groups": len(draws), "group_size": self.config.group_size}
        played = play_step(
            play, zero_variance, **sizes, extra=getattr(self.config.algorithm, "refill_episodes", 0)
        )
        return replace(played, scored_only=self.levels.scored_only(number))

    def _first_round(self, step: int) -> StepRequest:
        """Return what a step plays where there is no other round."""
        requests = self._requests(self.levels.begin(step), 0)
        return StepRequest(requests, self._sampling, sampling_seed(self.config.seed, step, 0))

    def _play_draws(self, draws: Sequence[SampledLevel], first: int, rng_seed: int) -> list[Episode]:
        """Play a group on each level, numbered from ``first``, so many of them at once as is allowed."""
        at_once = self.config.groups
        if self.config.workers is None and self.config.groups_at_once is not None:
            at_once = self.config.groups_at_once
        episodes: list[Episode] = []
        for start in range(0, len(draws), at_once):
            episodes += self._collect(self._requests(draws[start : start + at_once], first + start), rng_seed)
        return episodes

    def _requests(self, draws: Sequence[SampledLevel], first: int) -> list[EpisodeRequest]:
        return [
            EpisodeRequest(
                draw.level.seed,
                group,
                member,
                self.levels.options(draw.level),
                pictures=group * self.config.group_size + member < PICTURED,
            )
            for group, draw in enumerate(draws, start=first)
            for member in range(self.config.group_size)
        ]

    def _collect(self, requests: Sequence[EpisodeRequest], rng_seed: int) -> list[Episode]:
        advice = "start again with fewer --groups or --max-new-tokens"
        with explain_out_of_memory(f"sampling {len(requests)} episodes at once", advice):
            episodes = self.collector.collect(self.policy, requests, self._sampling, rng_seed)
        return self._counted(episodes)

    def _counted(self, episodes: list[Episode]) -> list[Episode]:
        """Add the counters of the rollout that these are of."""
        for item in fields(RolloutStats):
            total = getattr(self._stats, item.name) + getattr(self.collector.stats, item.name)
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
            "time/rewards": stats.reward_seconds,
            **(self.collector.metrics() if isinstance(self.collector, RayCollector) else {}),
        }

    def _staleness(self, episodes: Sequence[Episode]) -> int | None:
        """Return how many steps old the oldest weights are that have sampled; None where nobody has."""
        oldest = min((version for each in episodes for version in each.weights_versions), default=None)
        return None if oldest is None else self.finished_steps - oldest
