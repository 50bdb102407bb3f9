"""Plays the episodes of a training by workers of Ray."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from pixelis.agents.distributed.episode_messages import read_episodes
from pixelis.agents.distributed.wire import pack, unpack
from pixelis.agents.episodes.episode import Episode
from pixelis.agents.models.policy import Policy
from pixelis.agents.playing.player import play_order, same_everywhere
from pixelis.agents.playing.shares import (
    add_paid,
    added,
    check_shareable,
    in_parts,
    shared_out,
    state_to_pay_by,
)
from pixelis.agents.playing.workers.cluster import Cluster
from pixelis.agents.playing.workers.crew import Crew, PieceOfWork
from pixelis.agents.playing.workers.ledger import Piece
from pixelis.agents.rollout.collector import EpisodeRequest
from pixelis.agents.rollout.sampling import RolloutStats, SamplingSettings
from pixelis.agents.runs.metrics import Row
from pixelis.agents.settings.rl import TrainConfig
from pixelis.errors import TrainingError
from pixelis.rewards.stack.stack import RewardStack


class Acting(NamedTuple):
    """By what episodes are played.

    Attributes:
        version: of the weights, see `Policy.weights_version`.
        weights: of the policy, those that are trained.
        rewards: state of the reward terms, see `state_to_pay_by`.
    """

    version: int
    weights: Sequence[torch.Tensor]
    rewards: Any


class RayCollector:
    """Plays episodes in workers, whole groups in each.

    A piece is ``groups_at_once`` groups, or an equal share; what comes of it depends on weights, requests and
    seeds alone, so it does not matter who plays it, or whether it is played again after a worker was lost.

    Args:
        config: of the run.
        policy: what is trained.
        rewards: the reward terms; None without any.

    Attributes:
        stats: counters of the last rollout; times are the longest of any piece.

    Raises:
        ConfigError: the run cannot be played by workers, or there is no such cluster.
        TrainingError: a worker cannot play it.
    """

    def __init__(self, config: TrainConfig, policy: Policy, rewards: RewardStack | None) -> None:
        assert config.workers is not None
        check_shareable(config, rewards, "workers")
        self._config, self._rewards, self.stats = config, rewards, RolloutStats()
        self._cluster = Cluster(config.ray_address, config.workers * config.worker_threads)
        try:
            self._crew = Crew(self._cluster, config, same_everywhere(policy))
        except BaseException:
            self._cluster.close()
            raise
        self._rollouts = self._sent = self._received = 0

    def collect(
        self, policy: Policy, requests: Sequence[EpisodeRequest], settings: SamplingSettings, rng_seed: int
    ) -> list[Episode]:
        """Play the requested episodes and return them in the order of the requests; see `Collector.collect`.

        Raises:
            TrainingError: a worker's piece failed.
            SamplerError: nobody plays.
        """
        return self.finish(self.begin(self.acting(policy), requests, settings, rng_seed))

    def acting(self, policy: Policy) -> Acting:
        """Return by what is played and paid now."""
        return Acting(policy.weights_version, policy.trainable_parameters(), state_to_pay_by(self._rewards))

    def begin(
        self,
        acting: Acting,
        requests: Sequence[EpisodeRequest],
        settings: SamplingSettings,
        rng_seed: int,
    ) -> int:
        """Have episodes played; return the number of the rollout.

        Raises:
            SamplerError: the weights cannot be handed out.
        """
        number, self._rollouts = self._rollouts, self._rollouts + 1
        at_once = self._config.groups_at_once
        workers = min(int(self._config.workers or 1), len({each.group for each in requests}))
        parts = shared_out(requests, workers) if at_once is None else in_parts(requests, at_once)
        parameters = {str(place): each for place, each in enumerate(acting.weights)}
        weights = pack({"version": acting.version}, parameters)
        shared = self._cluster.put(weights)
        orders = [pack(play_order(part, settings, rng_seed, acting.rewards)) for part in parts]
        self._sent += len(weights) + sum(map(len, orders))
        jobs = [PieceOfWork(order, shared, acting.version) for order in orders]
        self._crew.plan({Piece(number, place): job for place, job in enumerate(jobs)})
        return number

    def finish(self, rollout: int) -> list[Episode]:
        """Wait for a rollout; return its episodes in the order of the requests.

        Raises:
            TrainingError: a piece failed.
            SamplerError: nobody plays.
        """
        messages = self._crew.take(rollout)
        self._received += sum(map(len, messages))
        replies = [unpack(each) for each in messages]
        for reply, _ in replies:
            if "error" in reply:
                raise TrainingError(f"in a worker: {reply['error']}")
        episodes = [each for reply, tensors in replies for each in read_episodes(reply["played"], tensors)]
        self.stats = added([RolloutStats(**reply["stats"]) for reply, _ in replies])
        add_paid(self._rewards, [reply["rewards"] for reply, _ in replies])
        return episodes

    def metrics(self) -> Row:
        """Return who plays, and what has been lost since this process began."""
        books = self._crew.ledger
        return {
            "system/workers": len(self._crew.ready),
            "system/pieces": books.kept,
            "system/pieces_lost": books.lost,
            "system/pieces_unaccounted": books.balance,
            "system/sent": self._sent / 2**20,
            "system/received": self._received / 2**20,
        }

    def close(self) -> None:
        """End the workers, and the cluster if it was started here."""
        self._crew.close()
        self._cluster.close()
