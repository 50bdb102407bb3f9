"""What GRPO does with a step's episodes: advantages from the group, replay, update.

A trainer plays, writes and resumes whatever the algorithm; what differs is behind `Learner`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np

from pixelis.agents.episodes.answers import DIVERSITIES
from pixelis.agents.episodes.episode import Episode
from pixelis.agents.episodes.seeds import replay_generator
from pixelis.agents.episodes.task_env import TaskEnv
from pixelis.agents.models.policy import Policy
from pixelis.agents.optimisation.micro_batch import MicroBatchSize
from pixelis.agents.optimisation.optimiser import Optimiser
from pixelis.agents.rl.batch import BatchSettings, StepBatch, make_batch, score
from pixelis.agents.rl.comparison import COMPARISONS, GroupComparison
from pixelis.agents.rl.gradient import Gradient
from pixelis.agents.rl.refill import StepRollouts
from pixelis.agents.rl.replay import ReplayBuffer, ReplayEntry, with_replay
from pixelis.agents.rl.reward_kl import RewardKL
from pixelis.agents.rl.shaping import ShapingSettings, bonus_of
from pixelis.agents.rl.update import Updater
from pixelis.agents.rl.vote import vote_metrics
from pixelis.agents.run_files.checkpoint import step_of
from pixelis.agents.run_files.saved_run import settings_of
from pixelis.agents.run_files.state_files import read_tensors, write_tensors
from pixelis.agents.runs.learning_rate import rate_of
from pixelis.agents.runs.metrics import Row
from pixelis.agents.settings.algorithm import Grpo
from pixelis.agents.settings.rl import TrainConfig, replayed
from pixelis.agents.settings.vote import read_vote
from pixelis.errors import ConfigError

_REPLAY = "replay.pt"


class Learner(Protocol):
    """What an algorithm does between the rollouts.

    Attributes:
        optimiser: of everything that is trained.
        updater: takes its steps.
        micro_batch: episodes per forward pass now.
    """

    optimiser: Optimiser
    updater: Updater
    micro_batch: MicroBatchSize

    def zero_variance_groups(self, episodes: Sequence[Episode], groups: int) -> np.ndarray:
        """Return which groups have nothing to learn from, bool [groups]."""
        ...

    def batch(self, played: StepRollouts, step: int) -> StepBatch:
        """Return what is trained on in a step."""
        ...

    def update(self, batch: StepBatch, played: StepRollouts, step: int) -> Row:
        """Train on it; return the metrics.

        Raises:
            TrainingError: the loss or its gradient was not finite three times in a row.
        """
        ...

    def save_files(self, folder: Path) -> None:
        """Write what a resumed run needs besides policy and optimiser into a checkpoint's folder."""
        ...

    def load_files(self, folder: Path) -> None:
        """Take over what `save_files` wrote.

        Raises:
            CheckpointError: a file is damaged.
        """
        ...

    def take_over(self, folder: Path, step: int) -> list[str]:
        """Take from another run's checkpoint what this one can use; return what that was, in words."""
        ...


class GrpoLearner:
    """Group-relative policy optimisation (Shao et al. 2024, arXiv 2402.03300) and what was added to it since.

    Args:
        config: see `TrainConfig`.
        policy: what is trained.
        env: what was played.
        gradient: where gradients come from.
        batch: how episodes are compared.

    Attributes:
        optimiser: of the policy's trainable parameters.
        updater: see `Learner`.
        micro_batch: see `Learner`.
        replay: episodes of earlier steps; None without ``algorithm.replay``.
    """

    def __init__(
        self,
        config: TrainConfig,
        policy: Policy,
        env: TaskEnv,
        gradient: Gradient,
        batch: BatchSettings,
    ) -> None:
        assert isinstance(config.algorithm, Grpo)
        self._config, self._algorithm = config, config.algorithm
        self._settings = batch
        self._longest = longest_completion(config, env)
        self.optimiser = policy_optimiser(config, policy)
        stored = self._algorithm.replay
        self.replay = ReplayBuffer(stored.capacity, stored.staleness) if stored else None
        self.updater = Updater(self.optimiser, gradient)
        self.micro_batch = self.updater.micro_batch
        self._drawn: list[ReplayEntry] = []
        self._penalty = RewardKL.of(config, policy, self.micro_batch) if config.penalises_reward else None
        self._penalty_row = Row()

    def zero_variance_groups(self, episodes: Sequence[Episode], groups: int) -> np.ndarray:
        """Return which groups have no differences in their returns, bool [groups]."""
        size, scale = self._config.group_size, self._algorithm.scale
        return score(episodes, groups, size, scale, self._settings).zero_variance

    def batch(self, played: StepRollouts, step: int) -> StepBatch:
        """Score the episodes, and draw stored ones to go with them."""
        config, penalties = self._config, None
        if self._penalty is not None:
            penalties, self._penalty_row = self._penalty.penalties(played.episodes)
        fresh = make_batch(
            played.episodes,
            groups=played.groups,
            group_size=config.group_size,
            scale=self._algorithm.scale,
            max_completion_length=self._longest,
            settings=self._settings,
            left_out=played.left_out | played.scored_only,
            penalties=penalties,
        )
        if scored := len(played.scored_only):  # in the matrix they are rows without scores
            fresh = replace(
                fresh,
                groups=fresh.groups - scored,
                dropped=fresh.dropped - scored,
                left_out=fresh.left_out - scored,
            )
        if self.replay is None:
            return fresh
        self.replay.forget(step)
        self._drawn = self.replay.draw(replayed(config, config.groups), replay_generator(config.seed, step))
        self.replay.add(fresh, step)
        return with_replay(fresh, self._drawn, self._longest)

    def update(self, batch: StepBatch, played: StepRollouts, step: int) -> Row:
        """Train on the batch; see `Updater.update`."""
        row = self.updater.update(batch, played.episodes) | self._penalty_row
        if self._settings.vote is not None:
            row |= vote_metrics(played.episodes, self._settings.vote)
        if self.replay is not None:
            ages = [step - each.step for each in self._drawn]
            row |= {
                "replay/size": len(self.replay),
                "replay/drawn": len(ages),
                "replay/age": float(np.mean(ages)) if ages else None,
            }
        return row

    def save_files(self, folder: Path) -> None:
        """Write the stored episodes, if episodes are stored."""
        if self.replay is not None:
            write_tensors(folder / _REPLAY, self.replay.state_dict())

    def load_files(self, folder: Path) -> None:
        """Read the stored episodes, if episodes are stored."""
        comparison = self._settings.comparison
        if comparison is not None and step_of(folder):  # names were checked before: who earns nothing is none
            comparison.known_parts.update(comparison.part_weights)
        if self.replay is not None:
            self.replay.load_state_dict(read_tensors(folder / _REPLAY))

    def take_over(self, folder: Path, step: int) -> list[str]:
        """Take the stored episodes of another run's checkpoint, if both store some and credit them alike.

        They are what that run played and paid: of labels, say, where members vote here.
        """
        if not (folder / _REPLAY).is_file():
            return []
        if self.replay is None:
            return ["not its stored episodes (algorithm.replay is not set here)"]
        there = settings_of(folder)
        by_turn = self._settings.credit == "turn"
        others = self.replay.take_over(read_tensors(folder / _REPLAY), step, by_turn=by_turn)
        credit = f"not {others} that were credited {'as wholes' if by_turn else 'by turn'}"
        paid = "votes" if read_vote(there.get("rewards") or {}) is not None else "its rewards"
        taken = f"{len(self.replay)} stored episodes (of {there.get('env')}, paid by {paid} there)"
        return [taken, *([credit] if others else [])]


def longest_completion(config: TrainConfig, env: TaskEnv) -> int:
    """Return how many tokens an episode's turns can have together."""
    return config.max_new_tokens * env.max_turns


def batch_settings(config: TrainConfig, env: TaskEnv) -> BatchSettings:
    """Return how a run compares its episodes.

    Raises:
        ConfigError: there is no such bonus, measure or comparison, or the overlong buffer is longer than an
            episode.
    """
    if config.diversity != "none":
        DIVERSITIES.find(config.diversity)
    shaped = config.shaping
    adds = shaped.overlong or shaped.bonus or shaped.duplicate_penalty
    batch = BatchSettings(
        shaping=_shaping(config, longest_completion(config, env)) if adds else None,
        mask_truncated=shaped.mask_truncated,
        advantage_clip=shaped.advantage_clip,
        vote=read_vote(config.rewards),
    )
    if not isinstance(config.algorithm, Grpo):
        return batch
    algorithm = config.algorithm
    return replace(
        batch,
        credit=algorithm.credit.type,
        gamma=algorithm.gamma,
        advantage_threshold=algorithm.threshold,
        comparison=None if algorithm.advantage.type == "sum" else _comparison(algorithm, config.diversity),
    )


def _shaping(config: TrainConfig, longest: int) -> ShapingSettings:
    """Return what is added to rewards, where ``longest`` tokens are the longest episode."""
    overlong, bonus = config.shaping.overlong, config.shaping.bonus
    if overlong is not None and overlong.buffer > longest:
        raise ConfigError(
            f"shaping.overlong.buffer must be at most the {longest} tokens that an episode can have "
            f"(max_new_tokens x turns), got {overlong.buffer}"
        )
    shaping = ShapingSettings(
        overlong_buffer=overlong.buffer if overlong else 0,
        overlong_penalty=overlong.penalty if overlong else 0.0,
        length_limit=longest,
        bonus=bonus.name if bonus else None,
        bonus_weight=bonus.weight if bonus else 0.0,
        diversity=config.diversity,
        duplicate_penalty=config.shaping.duplicate_penalty,
    )
    if shaping.bonus is not None:
        bonus_of(shaping)
    return shaping


def _comparison(algorithm: Grpo, diversity: str) -> GroupComparison:
    """Return what members of a group are compared by instead of their rewards."""
    COMPARISONS.find(algorithm.advantage.type)
    constants = {"part_weights" if name == "weights" else name: value for name, value in algorithm.advantage}
    return GroupComparison(constants.pop("type"), diversity=diversity, **constants)


def policy_optimiser(config: TrainConfig, policy: Policy) -> Optimiser:
    """Return the optimiser of a policy's trainable parameters."""
    return Optimiser(
        policy.trainable_parameters(),
        lr=rate_of(config, policy),
        warmup_steps=config.warmup_steps,
        decay_steps=config.decay_steps,
        weight_decay=config.weight_decay,
        max_grad_norm=config.max_grad_norm,
    )
