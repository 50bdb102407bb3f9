"""A whole GRPO or PPO run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from rich.table import Table

from pixelis.agents.distributed.shards import shared_weights
from pixelis.agents.episodes.episode import Episode
from pixelis.agents.episodes.task_env import TaskEnv
from pixelis.agents.models.named_models import CHOOSE
from pixelis.agents.models.policy import Policy
from pixelis.agents.playing.sources import open_env, policy_of
from pixelis.agents.rl.parts import TrainingParts
from pixelis.agents.rl.team import Team
from pixelis.agents.rl.trainer import Trainer
from pixelis.agents.rl.warm_start import open_warm_start, started_from
from pixelis.agents.run_files.checkpoint import list_checkpoints
from pixelis.agents.run_files.run_folder import RunFolder
from pixelis.agents.run_files.saved_run import checkpoint_of, weights_of
from pixelis.agents.runs.evaluate import Evaluation
from pixelis.agents.runs.metrics import Row
from pixelis.agents.runs.run import Run
from pixelis.agents.settings.rl import TrainConfig, chosen_correction, sampler_gaps
from pixelis.agents.settings.run_settings import AUTO
from pixelis.errors import ConfigError, TrainingError


class TrainingRun(Run[TrainConfig, Trainer]):
    """A run of reinforcement learning; the phase ``baselines`` is that of the env's scripted players."""

    def make_trainer(self, material: TrainingParts) -> Trainer:
        """Return the trainer; that of a new run takes over what ``from_run`` left."""
        team = Team.of(self.config, self.policy, material.rewards.stack)
        trainer = Trainer(self.config, self.policy, self.task_env, self.folder, material, team)
        if self.config.from_run is not None and not list_checkpoints(self.folder.checkpoints):
            trainer.take_over(checkpoint_of(self.config.from_run))
        return trainer

    def train(
        self,
        on_step: Callable[[Row], None] | None = None,
        should_stop: Callable[[], bool] | None = None,
        reason: str = "it was interrupted",
    ) -> None:
        """Train until the configured end, with the other processes where there are some.

        Raises:
            LostProcessError: one of them is gone; also where that is why ``should_stop`` says so, as
                ``torchrun`` ends all processes where one has ended.
            PixelisError: see `Stepper.train`.
        """
        self._call_team()
        super().train(on_step, should_stop, reason)
        if (team := self.trainer.team) is not None and should_stop is not None and should_stop():
            team.check()

    def evaluate(self, phase: str) -> list[Evaluation]:
        """Do what `Run.evaluate` does, with the other processes where weights are shared out."""
        self._call_team()
        return super().evaluate(phase)

    def close(self) -> None:
        """Let the other processes end, and close the envs."""
        try:
            super().close()
        finally:
            if (team := self.trainer.team) is not None:
                team.end()

    def _call_team(self) -> None:
        if (team := self.trainer.team) is not None:
            team.begin(self.config, checkpoint_of(self.folder.path))

    @classmethod
    def start(cls, config: TrainConfig) -> TrainingRun:
        """Start a new run; a warm start comes first, and begins where an earlier one was stopped.

        Raises:
            PixelisError: see `Run.start`.
        """
        if config.from_run is not None and (config.warm_start is not None or config.model != CHOOSE):
            raise ConfigError("from_run says which weights are gone on from; leave model and warm_start out")
        if config.warm_start is not None:
            config = cls.ready_for_warm_start(config)
            with open_warm_start(config) as warm:
                warm.complete()
            if alarms := warm.trainer.stopped_by:
                raise TrainingError(
                    f"the warm start in {str(warm.folder.path)!r} was stopped by an alarm "
                    f"({alarms[0].name}); see its log.txt; starting again goes on with it"
                )
            config = started_from(config, warm)
        return super().start(going_on(config))

    @classmethod
    def ready_for_warm_start(cls, config: TrainConfig) -> TrainConfig:
        """Return the settings with their run folder; what can be wrong is told before anything slow begins.

        Raises:
            PixelisError: the environment cannot be had, or the folder already holds a run.
        """
        env, _ = cls.opened_env(config)
        output = cls.with_output(cls.choose_model(config, env)).output
        RunFolder(Path(str(output))).check_free()
        return config.with_values(output=output)

    @classmethod
    def open_env(cls, config: TrainConfig) -> TaskEnv:
        """Return the environment, whose calls may take ``env_timeout_seconds``."""
        return open_env(config)

    @classmethod
    def assemble(cls, config: TrainConfig, env: TaskEnv | None) -> TrainingParts:
        """Return what the trainer is made of besides the policy."""
        assert env is not None  # it is a required setting
        return TrainingParts.of(config, env)

    @classmethod
    def load_policy(cls, config: TrainConfig, adapter: Path | None) -> Policy:
        """Return the policy, see `policy_of`."""
        return policy_of(config, adapter)

    def watched(self, episodes: Sequence[Episode]) -> dict[str, float]:
        """Return the mean of each score that nothing is paid by."""
        return {} if self.trainer.watch is None else self.trainer.watch.means(episodes)

    def tables(self) -> list[Table]:
        """Return what was played, by kind of level."""
        table = self.trainer.levels.table()
        return [] if table is None else [table]

    def notes(self) -> list[str]:
        """Say which off-policy correction there is, and why."""
        gaps = ", ".join(sampler_gaps(self.config)) or "nothing"
        notes = [] if self.trainer.team is None else [f"{self.trainer.team.world.size} processes train it"]
        if self.config.shard:
            parts = [each.numel() * each.element_size() for each in shared_weights(self.policy)]
            notes.append(f"weights of {sum(parts) / 2**20:,.0f} MiB are shared out among them")
        notes += [f"correction {chosen_correction(self.config)}; sampler and trainer differ by {gaps}"]
        if (
            self.config.train == "full"
            and self.config.lr == AUTO
            and self.config.step_size.take_back is not None
        ):
            notes.append("lr auto keeps copies of weights and moments during an update, 12 bytes a weight")
        if self.config.train == "full" and self.config.beta:
            size = sum(each.numel() * each.element_size() for each in self.policy.trainable_parameters())
            notes.append(
                f"beta {self.config.beta:g} keeps a frozen copy of the weights in memory and in each "
                f"checkpoint: {size / 2**20:,.0f} MiB; beta 0 saves it"
            )
        return notes


def going_on(config: TrainConfig) -> TrainConfig:
    """Return the settings with the weights of ``from_run`` as the model, if there is one.

    Raises:
        ConfigError: it is no run.
        CheckpointError: it has no checkpoint, or a corrupt one.
    """
    if config.from_run is None:
        return config
    weights = weights_of(config.from_run)
    if weights is None:
        raise ConfigError(
            f"from_run must be the folder of a training run or of one of its checkpoints, got "
            f"{config.from_run!r}; a model of another kind goes with model"
        )
    return config.with_values(model=str(weights))


def train(config: TrainConfig) -> TrainingRun:
    """Do a whole run, see `Run.whole`."""
    return TrainingRun.whole(config)
