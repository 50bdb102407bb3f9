"""The KL penalty in the reward: what each episode of a step pays for having left the reference policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.losses.kl import episode_kl
from pixelis.agents.models.policy import Policy
from pixelis.agents.optimisation.micro_batch import MicroBatchSize
from pixelis.agents.rl.batch import reading_order, sampled_logprobs
from pixelis.agents.runs.metrics import Row
from pixelis.agents.settings.rl import TrainConfig


@dataclass(frozen=True)
class RewardKL:
    """Scores episodes against the reference, the base model without its adapter.

    Attributes:
        policy: with an adapter to disable.
        beta: what one nat of divergence costs, > 0.
        estimator: a name in ``KL_ESTIMATORS``.
        temperature: the one the episodes were sampled at.
        size: episodes per forward pass, fewer when memory runs out.
    """

    policy: Policy
    beta: float
    estimator: str
    temperature: float
    size: MicroBatchSize

    @classmethod
    def of(cls, config: TrainConfig, policy: Policy, size: MicroBatchSize) -> RewardKL:
        """Return the penalty of a run whose settings ask for it."""
        return cls(policy, config.beta, config.loss.kl.estimator, config.temperature, size)

    def penalties(self, episodes: Sequence[Episode]) -> tuple[np.ndarray, Row]:
        """Return ``beta KL`` of each episode, float64 [n], and what to log of it.

        The policy's log-probabilities are those recorded when sampling. Episodes that cannot be trained on,
        or in which nothing was sampled, pay nothing.
        """
        scored = [
            index
            for index, each in enumerate(episodes)
            if each.valid_for_training and each.completion_length > 0
        ]
        scored = [scored[place] for place in reading_order([episodes[index] for index in scored])]
        divergences = np.zeros(len(episodes))

        def work(size: int) -> None:
            for start in range(0, len(scored), size):
                chunk = scored[start : start + size]
                divergences[chunk] = self._divergences([episodes[index] for index in chunk])

        self.size.fit(work, len(scored))
        tokens, total = sum(episodes[index].completion_length for index in scored), divergences.sum()
        return self.beta * divergences, {
            "policy/kl_reference": float(total / tokens) if tokens else None,
            "reward/kl_penalty": float(self.beta * total / len(scored)) if scored else None,
        }

    @torch.no_grad()
    def _divergences(self, episodes: Sequence[Episode]) -> list[float]:
        with self.policy.reference():
            reference = self.policy.logprobs(episodes, self.temperature)
        sampled = sampled_logprobs(episodes).to(reference.logprobs.device)
        return episode_kl(sampled, reference.logprobs, reference.mask, self.estimator).tolist()
