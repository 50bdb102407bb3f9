"""GRPO for the network that PPO trains: no critic, the group of episodes of one task is the baseline.

Advantages and surrogate are the functions that train language models (`pixelis.agents.rl`). There is no
reference model and no KL penalty: the network begins at random, so there is nothing to stay near to.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.episodes.episode_runner import EpisodeRequest
from pixelis.agents.episodes.seeds import task_seeds
from pixelis.agents.losses.advantages import group_advantages, zero_variance_groups
from pixelis.agents.losses.surrogate import SURROGATES, SurrogateConstants, SurrogateInputs
from pixelis.agents.runs.metrics import Row
from pixelis.agents.sb3.config import GroupAgent, Sb3Config
from pixelis.agents.sb3.episodes import Observations, PlayedStep, play
from pixelis.agents.sb3.learners import StepPPO
from pixelis.agents.sb3.library import obs_as_tensor


@dataclass(frozen=True)
class Batch:
    """The steps of a rollout that carry signal.

    Attributes:
        observations: name → [N, …].
        actions: [N, …].
        logprobs: float32 [N], of the policy that played.
        advantages: float32 [N], of the episode that a step belongs to.
    """

    observations: dict[str, Tensor]
    actions: Tensor
    logprobs: Tensor
    advantages: Tensor

    def __len__(self) -> int:
        """Return N."""
        return len(self.advantages)

    def rows(self, index: Tensor) -> Batch:
        """Return some of the steps."""
        seen = {name: values[index] for name, values in self.observations.items()}
        return Batch(seen, self.actions[index], self.logprobs[index], self.advantages[index])


class GroupLearner(StepPPO):
    """GRPO (Shao et al. 2024, arXiv 2402.03300) on SB3's actor-critic network; the critic is left alone.

    A step plays ``groups`` tasks ``group_size`` times each, whole episodes. Groups without signal are left
    out. Every step of an episode has the episode's advantage, and counts as much as any other step.
    """

    options: dict[str, Any]
    settings: Sb3Config
    agent: GroupAgent

    def take_step(self, number: int) -> tuple[list[Episode], Row]:
        """Play a round of groups and train on it."""
        episodes, steps = self._play(number)
        batch, row = self._batch(episodes, steps)
        settings, epochs = self.settings, self.agent.epochs
        parts = minibatches(len(batch), settings.batch_size, epochs, (settings.seed, number))
        updates = [self._update(batch.rows(index)) for index in parts]
        self._n_updates += self.agent.epochs if len(batch) else 0
        names = updates[0] if updates else ("train/loss", "train/entropy", "train/clip_fraction")
        row |= {name: float(np.mean([each[name] for each in updates])) if updates else None for name in names}
        return episodes, row

    # ------------------------------------------------------------------ private

    def _play(self, number: int) -> tuple[list[Episode], list[list[PlayedStep]]]:
        """Return the episodes, and the steps of each."""
        settings, vector = self.settings, self.get_env()
        assert vector is not None  # it was made with one
        requests = [
            EpisodeRequest(seed, group, member, self.options)
            for group, seed in enumerate(task_seeds(settings.seed, number, self.agent.groups))
            for member in range(self.agent.group_size)
        ]
        self.policy.set_training_mode(False)
        open_steps: defaultdict[int, list[PlayedStep]] = defaultdict(list)
        episodes, steps = [], []
        for step in play(vector, requests, self._choose):
            self.num_timesteps += 1
            open_steps[step.place].append(step)
            if step.record is not None:
                episodes.append(step.record)
                steps.append(open_steps.pop(step.place))
        return episodes, steps

    def _choose(self, observations: Observations) -> tuple[np.ndarray, np.ndarray]:
        with torch.no_grad():
            distribution = self.policy.get_distribution(obs_as_tensor(observations, self.device))  # type: ignore[arg-type]
            actions = distribution.get_actions()
            return actions.cpu().numpy(), distribution.log_prob(actions).cpu().numpy()

    def _batch(self, episodes: list[Episode], steps: list[list[PlayedStep]]) -> tuple[Batch, Row]:
        rewards = np.full((self.agent.groups, self.agent.group_size), np.nan)
        for episode in episodes:
            if episode.valid_for_training:
                rewards[episode.group, episode.member] = episode.reward
        advantages = group_advantages(rewards, self.agent.advantage)
        zero_variance = zero_variance_groups(rewards)
        kept = [
            (step, advantages[episode.group, episode.member])
            for episode, played in zip(episodes, steps, strict=True)
            if episode.valid_for_training and not zero_variance[episode.group]
            for step in played
        ]
        row: Row = {"groups/count": self.agent.groups, "groups/dropped": int(zero_variance.sum())}
        return self._tensors(kept), row

    def _tensors(self, kept: list[tuple[PlayedStep, float]]) -> Batch:
        device = self.device
        names = kept[0][0].observation if kept else ()
        seen = {
            name: torch.as_tensor(np.stack([step.observation[name] for step, _ in kept]), device=device)
            for name in names
        }
        actions = torch.as_tensor(np.array([step.action for step, _ in kept]), device=device)
        logprobs = torch.tensor([step.extra for step, _ in kept], dtype=torch.float32, device=device)
        advantages = torch.tensor([a for _, a in kept], dtype=torch.float32, device=device)
        return Batch(seen, actions, logprobs, advantages)

    def _update(self, batch: Batch) -> dict[str, float]:
        """Take one optimiser step: mean surrogate over the steps, minus the entropy bonus."""
        policy, settings = self.policy, self.settings
        policy.set_training_mode(True)
        self._update_learning_rate(policy.optimizer)
        _, logprobs, entropy = policy.evaluate_actions(batch.observations, batch.actions)  # type: ignore[arg-type]
        assert entropy is not None  # categorical distributions have one
        surrogate = SURROGATES["clip"](
            SurrogateInputs(
                (logprobs - batch.logprobs)[:, None],
                batch.advantages[:, None],
                logprobs[:, None],
                torch.ones(len(batch), 1, dtype=torch.bool, device=logprobs.device),
            ),
            SurrogateConstants(self.agent.clip, self.agent.clip),
        )
        loss = surrogate.loss.mean() - self.agent.entropy * entropy.mean()
        policy.optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(policy.parameters(), settings.max_grad_norm)
        policy.optimizer.step()
        clipped = surrogate.clipped_low, surrogate.clipped_high
        return {
            "train/loss": loss.item(),
            "train/entropy": entropy.mean().item(),
            "train/grad_norm": norm.item(),
            "train/clip_fraction": sum(c.float().mean().item() for c in clipped if c is not None),
        }


def minibatches(count: int, size: int, epochs: int, seeds: tuple[int, int]) -> list[Tensor]:
    """Return the steps of each optimiser step, as many in each, every epoch in another order.

    Args:
        count: of all steps.
        size: the most in one.
        epochs: how often each is in one.
        seeds: of the orders.
    """
    order, parts = np.random.default_rng(seeds), math.ceil(count / size)
    return [
        torch.as_tensor(part)
        for shuffled in (order.permutation(count) for _ in range(epochs))
        for part in (np.array_split(shuffled, parts) if parts else ())
    ]
