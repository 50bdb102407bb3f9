"""The expert iteration trainer: a step is a round of playing, keeping and imitating."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.episodes.failures import FailureWatch
from pixelis.agents.episodes.seeds import sampling_seed, task_seeds
from pixelis.agents.episodes.task_env import TaskEnv
from pixelis.agents.models.policy import Policy
from pixelis.agents.rollout.collector import Collector, EpisodeRequest
from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.agents.run_files.run_folder import RunFolder
from pixelis.agents.runs.metrics import MovingMeans, Row, episode_metrics
from pixelis.agents.runs.sinks.samples import episode_sample
from pixelis.agents.runs.sinks.sink import StepSample
from pixelis.agents.settings.expert import ExpertConfig
from pixelis.agents.sft.expert.selection import select
from pixelis.agents.sft.learner import SftLearner, SftStep
from pixelis.agents.sft.stepper import SupervisedStepper, learner_settings

_ORDER = 3  # what the generator is for; 1 and 2 are tasks and sampling


class ExpertTrainer(SupervisedStepper[ExpertConfig]):
    """Trains a policy's adapter on its own best episodes.

    The tasks and the generators of a round are those of GRPO's step of the same number and seed.

    Args:
        config: see `ExpertConfig`.
        policy: see `Stepper`.
        run: where files go.
        env: what is played.
    """

    def __init__(self, config: ExpertConfig, policy: Policy, run: RunFolder, env: TaskEnv) -> None:
        super().__init__(config, policy, run)
        self.env = env
        self._success, self._failures = MovingMeans(), FailureWatch()
        self._last: list[Episode] = []
        self._collector = Collector(env.make, env_threads=config.env_threads)
        self._sampling = SamplingSettings(config.temperature, config.top_p, config.max_new_tokens)
        self._start = [parameter.detach().clone() for parameter in policy.trainable_parameters()]

    @property
    def total_steps(self) -> int:
        """The round with which training ends."""
        return self.config.steps

    def take_step(self, number: int) -> Row:
        """Play, keep, imitate."""
        episodes = self._play(number)
        self._failures.note(episodes, f"step {number}")
        self._last = episodes
        kept = select(episodes, self.config.select, self.config.min_reward)
        row: Row = dict(episode_metrics(episodes))
        row |= {"expert/kept": len(kept), "expert/tasks_kept": len({episode.group for episode in kept})}
        row |= _summary(self._imitate(kept, number) if kept else [])
        self._success.add(row["success/rate"])
        stats = self._collector.stats
        row |= {f"success/ma{window}": mean for window, mean in self._success.means().items()}
        return row | {"time/generation": stats.generation_seconds, "time/env": stats.env_seconds}

    def sample(self) -> StepSample:
        """Return the distributions and an episode of the last round."""
        return episode_sample(self._last)

    def progress(self) -> dict[str, Any]:
        """Return the moving means."""
        return {"progress": {"success": self._success.state_dict()}}

    def load_progress(self, progress: Mapping[str, Any]) -> None:
        """Take over what `progress` returned."""
        self._success.load_state_dict(progress["progress"]["success"])

    def state_dict(self) -> dict[str, Any]:
        """Return the learner's state and, where rounds go back to it, the starting adapter."""
        return {**super().state_dict(), "start": self._start if self.config.restart else []}

    def load_state_dict(self, tensors: Mapping[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        super().load_state_dict(tensors)
        if self.config.restart:
            self._start = [each.to(self.policy.device) for each in tensors["start"]]

    def close(self) -> None:
        """Close the envs."""
        self._collector.close()

    # ------------------------------------------------------------------ phases

    def _play(self, number: int) -> list[Episode]:
        seeds = task_seeds(self.config.seed, number, self.config.groups)
        requests = [
            EpisodeRequest(seed, group, member, self.env.options("train"))
            for group, seed in enumerate(seeds)
            for member in range(self.config.group_size)
        ]
        rng_seed = sampling_seed(self.config.seed, number)
        return self._collector.collect(self.policy, requests, self._sampling, rng_seed)

    def _imitate(self, kept: Sequence[Episode], number: int) -> list[SftStep]:
        config = self.config
        if config.restart:
            self._go_back_to_start()
        steps = []
        for epoch in range(config.epochs):
            order = np.random.default_rng([config.seed, number, _ORDER, epoch]).permutation(len(kept))
            for first in range(0, len(order), config.batch_size):
                batch = [kept[index] for index in order[first : first + config.batch_size]]
                share = min(1.0, (self.learner.steps + 1) / (config.warmup_steps + 1))
                steps.append(self.learner.step(batch, self.rate * share))
        return steps

    def _go_back_to_start(self) -> None:
        with torch.no_grad():
            for parameter, start in zip(self.policy.trainable_parameters(), self._start, strict=True):
                parameter.copy_(start)
        self.learner = SftLearner(self.policy, learner_settings(self.config, self.rate))


def _summary(steps: Sequence[SftStep]) -> Row:
    """Return the means of a round's optimiser steps; None where nothing was kept."""
    count = len(steps)
    return {
        "train/updates": count,
        "train/loss": sum(step.loss for step in steps) / count if count else None,
        "train/grad_norm": max((step.grad_norm for step in steps), default=None),
        "train/lr": steps[-1].learning_rate if count else None,
    }
