"""Several processes that train one model: what the one that leads does.

It keeps the run, decides and takes the optimiser's steps, all as it does alone. Two things are shared out:
the groups of a step are played by everyone, whole groups each, and everyone computes the gradient of the
episodes that it has played. Both depend on weights, requests and seeds alone, so the numbers are those of one
process up to the rounding of sums. What stays with the leader: the reference of a penalty in the reward, the
KL of a step, a value head, evaluations. Where frozen weights are shared out
(`pixelis.agents.distributed.shards`) all processes are in every pass of any of them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from pixelis.agents.distributed.episode_messages import read_episodes
from pixelis.agents.distributed.launched import launched
from pixelis.agents.distributed.process_group import LEADER, ProcessGroup
from pixelis.agents.distributed.shards import Shards
from pixelis.agents.episodes.episode import Episode
from pixelis.agents.losses.aggregation import StepCounts
from pixelis.agents.models.policy import Policy
from pixelis.agents.optimisation.noise_scale import squared_norm
from pixelis.agents.playing.player import play_order, same_everywhere
from pixelis.agents.playing.shares import add_paid, added, check_shareable, shared_out, state_to_pay_by
from pixelis.agents.rl.gradient import BatchGradient, Totals
from pixelis.agents.rollout.collector import Collector, EpisodeRequest
from pixelis.agents.rollout.sampling import RolloutStats, SamplingSettings
from pixelis.agents.settings.rl import TrainConfig
from pixelis.errors import ConfigError, TrainingError
from pixelis.rewards.stack.stack import RewardStack


class Plays(Protocol):
    """Plays episodes: `Collector`, or several of them."""

    stats: RolloutStats

    def collect(
        self, policy: Policy, requests: Sequence[EpisodeRequest], settings: SamplingSettings, rng_seed: int
    ) -> list[Episode]:
        """Play the requested episodes and return them in the order of the requests."""
        ...

    def close(self) -> None:
        """Close what is open."""
        ...


class Team:
    """The processes of a training, as the one that leads sees them.

    Args:
        world: the connection.
        policy: whose weights everyone plays and computes with.
        rewards: the reward terms; None without any.

    Attributes:
        world: see there.
        rewards: see there.
        owners: id() of an episode of this step → who played it, and its number there.
    """

    def __init__(self, world: ProcessGroup, policy: Policy, rewards: RewardStack | None) -> None:
        self.world, self._policy, self.rewards = world, policy, rewards
        self.owners: dict[int, tuple[int, int]] = {}
        self._has_begun = self._is_at_work = self._has_called = False

    @classmethod
    def of(cls, config: TrainConfig, policy: Policy, rewards: RewardStack | None) -> Team | None:
        """Return the team that ``torchrun`` has started this process in; None where it is alone.

        Raises:
            ConfigError: this process does not lead; or there are more processes than groups, or reward terms
                that learn from what is played.
        """
        rank, size = launched()
        if size == 1:  # without shares, see `policy_of`
            return None
        if rank != LEADER:
            raise ConfigError(
                f"this is process {rank} of {size}: only process 0 keeps a run; let the others call "
                "pixelis.agents.rl.helper.help_out()"
            )
        if config.workers is not None:
            raise ConfigError(
                f"workers play for one process that trains, and torchrun has started {size}; leave one out"
            )
        if config.groups < size:
            raise ConfigError(
                f"groups must be at least the number of processes, {size}, got {config.groups}: a group is "
                "played by one process; set --groups, or start fewer"
            )
        check_shareable(config, rewards, "processes")
        return cls(ProcessGroup.join(), policy, rewards)

    def begin(self, config: TrainConfig, checkpoint: Path) -> None:
        """Have the others help from here on, if they do not yet.

        Args:
            config: of the run.
            checkpoint: of the run, which every process can read.

        Raises:
            TrainingError: one cannot, or is gone, or has other code or another base model.
        """
        if not self._has_begun:
            self._has_begun = True
            self._begin(config, checkpoint)

    def check(self) -> None:
        """Have everyone answer.

        Raises:
            LostProcessError: one is gone.
        """
        self.do(self.all_do({"do": "join"}), False, lambda: None)

    def end(self) -> None:
        """Let the others end."""
        with contextlib.suppress(TrainingError):  # what stopped training is told, not this
            self._let_go()
        with contextlib.suppress(TrainingError):
            self._tell_all({"do": "end"})
        self.world.leave()

    def share_weights(self) -> None:
        """Give the others the policy's weights as they are."""
        self.world.broadcast([each.data for each in self._policy.trainable_parameters()])

    def replies(self) -> list[tuple[int, tuple[Any, dict[str, torch.Tensor]]]]:
        """Wait for a reply of everyone; return rank and reply of each, in order.

        Raises:
            TrainingError: one says that something went wrong, or is gone.
        """
        found = [(rank, self.world.receive(rank)) for rank in self.world.helpers]
        for rank, (reply, _) in found:
            if "error" in reply:
                raise TrainingError(f"in process {rank}: {reply['error']}")
        return found

    def do(
        self, orders: Mapping[int, Any], weights: bool, own: Callable[[], Any]
    ) -> tuple[Any, list[tuple[int, tuple[Any, dict[str, torch.Tensor]]]]]:
        """Give everyone an order, do an own part meanwhile; return its result and the replies."""
        self._let_go()
        for rank in self.world.helpers:
            self.world.send(rank, orders[rank])
        if weights:
            self.share_weights()
        self._is_at_work = True
        try:
            done = own()
            self._finish()
        except Exception:
            with contextlib.suppress(TrainingError):
                self._finish()
                self.replies()
            raise
        finally:
            self._is_at_work = False
        return done, self.replies()

    def all_do(self, order: Mapping[str, Any]) -> dict[int, Mapping[str, Any]]:
        """Return the same order for everyone."""
        return dict.fromkeys(self.world.helpers, order)

    def _begin(self, config: TrainConfig, checkpoint: Path) -> None:
        start = {"do": "begin", "config": config.to_mapping(), "checkpoint": str(checkpoint.resolve())}
        self._tell_all(start)
        own = same_everywhere(self._policy)
        for rank, (reply, _) in self.replies():
            for what, wanted in own.items():
                if reply[what] != wanted:
                    raise TrainingError(
                        f"process {rank} has another {what} than process 0; let every machine have the same"
                    )

        if config.shard:
            order = {"do": "shard", "offload": config.offload}
            self.do(self.all_do(order), False, lambda: Shards(self.world, self._policy, config.offload))
            self._policy.shards.call = self._call

    def _call(self) -> None:
        """Have the others gather along in what the leader does alone, until there is an order for them."""
        if not self._is_at_work and not self._has_called:
            self._has_called = True
            self._tell_all({"do": "join"})

    def _let_go(self) -> None:
        if self._has_called:
            self._has_called = False
            self._finish()
            self.replies()

    def _finish(self) -> None:
        if self._policy.shards is not None:
            self._policy.shards.finish()

    def _tell_all(self, value: Any) -> None:
        for rank in self.world.helpers:
            self.world.send(rank, value)


class TeamCollector:
    """Plays episodes in all processes, whole groups in each.

    Args:
        team: of this process.
        own: plays the leader's share.

    Attributes:
        stats: counters of the last call of `collect`; times are the longest of any process.
    """

    def __init__(self, team: Team, own: Collector) -> None:
        self._team, self._own, self.stats = team, own, RolloutStats()

    def collect(
        self, policy: Policy, requests: Sequence[EpisodeRequest], settings: SamplingSettings, rng_seed: int
    ) -> list[Episode]:
        """Play the requested episodes and return them in the order of the requests; see `Collector.collect`.

        Raises:
            TrainingError: a process is gone, or its share failed.
        """
        team = self._team
        shares = shared_out(requests, team.world.size)
        paid_by = state_to_pay_by(team.rewards)
        which = {"weights_version": policy.weights_version}
        orders = {
            rank: play_order(share, settings, rng_seed, paid_by) | which for rank, share in enumerate(shares)
        }
        own, replies = team.do(
            orders, True, lambda: self._own.collect(policy, shares[LEADER], settings, rng_seed)
        )
        episodes, every = list(own), [self._own.stats]
        for rank, (reply, tensors) in replies:
            played = read_episodes(reply["played"], tensors)
            numbers = range(reply["first"], reply["first"] + len(played))
            team.owners |= {id(e): (rank, number) for e, number in zip(played, numbers, strict=True)}
            episodes += played
            every.append(RolloutStats(**reply["stats"]))
        add_paid(team.rewards, [reply["rewards"] for _, (reply, _) in replies])
        self.stats = added(every)
        return episodes

    def close(self) -> None:
        """Close the leader's envs; the others close theirs when they are told that it is over."""
        self._own.close()


class TeamGradient:
    """Computes a gradient in all processes: each that of the episodes it has played.

    Args:
        team: of this process.
        own: computes the leader's share, and what nobody here has played, such as replayed episodes.

    Attributes:
        policy: see `Gradient`.
        settings: see `Gradient`.
        micro_batch: of the leader; the others have their own.
    """

    def __init__(self, team: Team, own: BatchGradient) -> None:
        self._team, self._own, self.micro_batch = team, own, own.micro_batch
        self.policy, self.settings = own.policy, own.settings

    def begin(self, episodes: Sequence[Episode], advantages: np.ndarray) -> None:
        """Take a batch; everyone computes the reference of its share."""
        team = self._team
        nobody = (LEADER, -1)
        owners = [team.owners.get(id(each), nobody) for each in episodes]
        rows = {
            rank: [row for row, owner in enumerate(owners) if owner[0] == rank]
            for rank in range(team.world.size)
        }
        orders = {
            rank: {
                "do": "hold",
                "numbers": [owners[row][1] for row in rows[rank]],
                "advantages": advantages[rows[rank]],
            }
            for rank in team.world.helpers
        }
        mine = [episodes[row] for row in rows[LEADER]]
        team.do(orders, True, lambda: self._own.begin(mine, advantages[rows[LEADER]]))
        team.owners.clear()

    def compute(self, counts: StepCounts) -> Totals:
        """Leave the gradient of the whole batch in the leader's parameters, whatever was there before."""
        team, parameters = self._team, self._own.policy.trainable_parameters()
        totals, replies = team.do(
            team.all_do({"do": "compute", "counts": asdict(counts)}), True, lambda: self._own.compute(counts)
        )
        has = [each.grad is not None for each in parameters]
        for _, (reply, _) in replies:
            totals += Totals.from_json(reply["totals"])
            has = [one or other for one, other in zip(has, reply["has"], strict=True)]
        team.do(team.all_do({"do": "add up"}), False, lambda: add_up(team.world, parameters))
        for parameter, some in zip(parameters, has, strict=True):
            parameter.grad = parameter.grad if some else None
        totals.squares = squared_norm(parameters)
        return totals

    def measure(self, episodes: Sequence[Episode]) -> Totals:
        """Score one micro-batch without training on it, in this process."""
        return self._own.measure(episodes)


def add_up(world: ProcessGroup, parameters: Sequence[torch.nn.Parameter]) -> None:
    """Leave the sums of the gradients of all processes with the leader; one that has none adds nothing."""
    for each in parameters:
        if each.grad is None:
            each.grad = torch.zeros_like(each)
    world.add_up([each.grad for each in parameters if each.grad is not None])
