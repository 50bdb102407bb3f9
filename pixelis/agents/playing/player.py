"""Who plays episodes for another process that trains, with the weights and rewards that it is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from pixelis.agents.distributed.code import code_versions
from pixelis.agents.distributed.episode_messages import episodes_message
from pixelis.agents.episodes.episode import Episode
from pixelis.agents.models.loading import frozen_fingerprint
from pixelis.agents.models.policy import Policy
from pixelis.agents.playing.sources import engine_of, open_env, policy_of
from pixelis.agents.playing.term_rewards import TermRewards
from pixelis.agents.rollout.collector import Collector, EpisodeRequest
from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.agents.settings.rl import TrainConfig

Reply = tuple[dict[str, Any], dict[str, torch.Tensor]]
"""A value and tensors, see `pixelis.agents.distributed.wire.pack`."""


class Player:
    """The env, the model and the reward terms of a run, without the run.

    Args:
        config: of the run.
        trained: folder of the weights it starts from; None: as the settings have it.
        folder: where the log of a server goes that is started here.

    Attributes:
        policy: who plays.

    Raises:
        PixelisError: the env or the model cannot be had here.
    """

    def __init__(self, config: TrainConfig, trained: Path | None, folder: Path) -> None:
        env = open_env(config)
        self._rewards = TermRewards(config.rewards, env.traits)
        self.policy = policy_of(config, trained)
        self._collector = Collector(
            env.make,
            env_threads=config.env_threads,
            rewarder=self._rewards.rewarder,
            engine=engine_of(config, folder),
        )

    def about(self) -> dict[str, Any]:
        """Return what must be the same wherever the run is played, in words and fingerprints."""
        return same_everywhere(self.policy)

    def play(self, order: Mapping[str, Any]) -> tuple[list[Episode], Reply]:
        """Play what `play_order` has made, by the policy as it is; return the episodes, also as a message."""
        stack = self._rewards.stack
        if stack is not None:
            stack.load_state_dict(order["rewards"])
        requests = [EpisodeRequest(**each) for each in order["requests"]]
        settings = SamplingSettings(**order["settings"])
        episodes = self._collector.collect(self.policy, requests, settings, order["rng_seed"])
        played, tensors = episodes_message(episodes)
        stats, rewards = asdict(self._collector.stats), None if stack is None else stack.state_dict()
        return episodes, ({"played": played, "stats": stats, "rewards": rewards}, tensors)

    def close(self) -> None:
        """Close the envs."""
        self._collector.close()


def same_everywhere(policy: Policy) -> dict[str, Any]:
    """Return what must be the same in all processes of a run, by its name in a message."""
    return {**code_versions(), "base model": frozen_fingerprint(policy.model)}


def play_order(
    requests: Sequence[EpisodeRequest],
    settings: SamplingSettings,
    rng_seed: int,
    rewards: Any,
) -> dict[str, Any]:
    """Return the order to play some episodes, as JSON values.

    Args:
        requests: what to play.
        settings: how to sample.
        rng_seed: see `Collector.collect`.
        rewards: what it is paid by, see `state_to_pay_by`.
    """
    return {
        "do": "play",
        "requests": [vars(each) for each in requests],
        "settings": asdict(settings),
        "rng_seed": rng_seed,
        "rewards": rewards,
    }
