"""What PPO does with a step's episodes: values, advantages by token, update of policy and value head."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.episodes.task_env import TaskEnv
from pixelis.agents.losses.aggregation import StepCounts
from pixelis.agents.losses.gae import gae, token_rewards
from pixelis.agents.models.policy import Policy
from pixelis.agents.optimisation.optimiser import Optimiser
from pixelis.agents.rl.batch import BatchSettings, StepBatch, padded, reward_matrix
from pixelis.agents.rl.gradient import Gradient
from pixelis.agents.rl.grpo import longest_completion, policy_optimiser
from pixelis.agents.rl.refill import StepRollouts
from pixelis.agents.rl.reward_kl import RewardKL
from pixelis.agents.rl.shaping import extra_rewards
from pixelis.agents.rl.update import Updater
from pixelis.agents.rl.value import ValueHead, clipped_value_loss, token_states
from pixelis.agents.run_files.state_files import read_tensors, write_tensors
from pixelis.agents.runs.metrics import Row
from pixelis.agents.settings.algorithm import Ppo
from pixelis.agents.settings.rl import TrainConfig
from pixelis.errors import CheckpointError

_VALUE = "value.pt"


class PpoLearner:
    """Proximal policy optimisation (Schulman et al. 2017, arXiv 1707.06347) with a value head.

    An action is a token; the reward of a turn comes with its last token. Advantages are scaled to mean 0 and
    deviation 1 over the tokens of the step.

    Args:
        config: see `TrainConfig`; groups are only played, not compared.
        policy: what is trained.
        env: what was played.
        gradient: where gradients come from.
        batch: how episodes are compared.

    Attributes:
        optimiser: of the policy's trainable parameters.
        updater: see `Learner`.
        micro_batch: see `Learner`.
        head: estimates returns.
    """

    def __init__(
        self,
        config: TrainConfig,
        policy: Policy,
        env: TaskEnv,
        gradient: Gradient,
        batch: BatchSettings,
    ) -> None:
        assert isinstance(config.algorithm, Ppo)
        self._config, self._algorithm, self._policy = config, config.algorithm, policy
        self._settings = batch
        self._longest = longest_completion(config, env)
        self.optimiser = policy_optimiser(config, policy)
        self.updater = Updater(self.optimiser, gradient)
        self.micro_batch = self.updater.micro_batch
        width = policy.base.config.get_text_config(decoder=True).hidden_size
        self.head = ValueHead(width).to(policy.device)
        self._value_optimiser = Optimiser(list(self.head.parameters()), lr=self._algorithm.value_lr)
        self._targets: tuple[Tensor, Tensor, Tensor] | None = None  # states, values, returns
        self._penalty = RewardKL.of(config, policy, self.micro_batch) if config.penalises_reward else None
        self._penalty_row = Row()

    def zero_variance_groups(self, episodes: Sequence[Episode], groups: int) -> np.ndarray:
        """Return that no group is without signal: the baseline is not the group's, bool [groups]."""
        return np.zeros(groups, bool)

    def batch(self, played: StepRollouts, step: int) -> StepBatch:
        """Estimate values and advantages of every valid episode."""
        rewards = reward_matrix(played.episodes, played.groups, self._config.group_size)
        extra = np.zeros(len(played.episodes))
        if self._settings.shaping is not None:
            extra += extra_rewards(played.episodes, self._settings.shaping)
        if self._penalty is not None:
            penalties, self._penalty_row = self._penalty.penalties(played.episodes)
            extra -= penalties
        pairs = [
            (episode, float(more))
            for episode, more in zip(played.episodes, extra, strict=True)
            if np.isfinite(rewards[episode.group, episode.member])
            and episode.completion_length > 0
            and episode.group not in played.scored_only
        ]
        kept = [pair for pair in pairs if not (self._settings.mask_truncated and pair[0].truncated)]
        kept.sort(key=lambda pair: len(pair[0]))
        episodes = tuple(episode for episode, _ in kept)
        tokens = sum(episode.completion_length for episode in episodes)
        return StepBatch(
            episodes,
            self._advantages(episodes, [more for _, more in kept]),
            StepCounts(tokens, len(episodes), self._longest) if kept else None,
            groups=played.groups - len(played.scored_only),
            dropped=0,
            masked=len(pairs) - len(kept),
            tokens=tokens,
            sequences=len(episodes),
        )

    def update(self, batch: StepBatch, played: StepRollouts, step: int) -> Row:
        """Train the policy on the batch and the head on its returns."""
        row = self.updater.update(batch, played.episodes) | self._penalty_row
        start = time.perf_counter()
        return row | self._fit() | {"time/value": time.perf_counter() - start}

    def save_files(self, folder: Path) -> None:
        """Write the head and its optimiser."""
        state = {"head": self.head.state_dict(), "optimiser": self._value_optimiser.state_dict()}
        write_tensors(folder / _VALUE, state)

    def take_over(self, folder: Path, step: int) -> list[str]:
        """Take nothing: the value head of another run was trained on other rewards."""
        return []

    def load_files(self, folder: Path) -> None:
        """Read the head and its optimiser."""
        state = read_tensors(folder / _VALUE)
        try:
            self.head.load_state_dict(state["head"])
        except RuntimeError as error:  # another width
            raise CheckpointError(f"the value head in {str(folder)!r} does not fit the model") from error
        self._value_optimiser.load_state_dict(state["optimiser"])

    # ------------------------------------------------------------------ private

    def _advantages(self, episodes: Sequence[Episode], extra: Sequence[float]) -> np.ndarray:
        """Return the scaled advantages, float64 [B', T]; keep what the head is fitted to."""
        self._targets = None
        if not episodes:
            return np.zeros((0, 0))
        states = self.micro_batch.fit(lambda size: token_states(self._policy, episodes, size), len(episodes))
        with torch.no_grad():
            values = [self.head(each) for each in states]
        rows, returns = [], []
        for episode, value, more in zip(episodes, values, extra, strict=True):
            advantages, targets = gae(
                token_rewards(episode, more),
                value.cpu().numpy(),
                self._algorithm.gamma,
                self._algorithm.gae_lambda,
            )
            rows.append(advantages)
            returns.append(torch.from_numpy(targets).float())
        self._targets = (torch.cat(states), torch.cat(values), torch.cat(returns).to(self._policy.device))
        return padded([_placed(e, row) for e, row in zip(episodes, self._scaled(rows), strict=True)])

    def _scaled(self, rows: Sequence[np.ndarray]) -> list[np.ndarray]:
        everything = np.concatenate(rows)
        mean, deviation = everything.mean(), everything.std()
        scaled = [(row - mean) / (deviation + 1e-8) for row in rows]
        clip = self._settings.advantage_clip
        return scaled if clip is None else [np.clip(row, -clip, clip) for row in scaled]

    def _fit(self) -> Row:
        """Take the head's optimiser steps on the step's returns."""
        if self._targets is None:
            return {"value/loss": None, "value/explained_variance": None, "value/mean": None}
        states, old, returns = self._targets
        loss = torch.zeros(())
        for _ in range(self._algorithm.value_epochs):
            self._value_optimiser.zero_grad()
            loss = clipped_value_loss(self.head(states), old, returns, self._algorithm.value_clip).mean()
            loss.backward()
            self._value_optimiser.step(loss.item())
        spread = float(returns.var(correction=0))
        return {
            "value/loss": loss.item(),
            "value/mean": float(old.mean()),
            "value/explained_variance": 1 - float((returns - old).var(correction=0)) / spread
            if spread > 1e-12
            else None,
        }


def _placed(episode: Episode, values: np.ndarray) -> np.ndarray:
    """Return a row as long as the episode with the values at its sampled tokens, 0 elsewhere."""
    row = np.zeros(len(episode))
    row[episode.loss_mask] = values
    return row
