"""``make_vec``: the environments of a run as one of stable-baselines3's vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pixelis  # noqa: F401  # registers the ids, also in a spawned process
from pixelis.agents.episodes.task_env import TaskEnv
from pixelis.agents.sb3.episodes import RequestedEpisodes
from pixelis.agents.sb3.library import DummyVecEnv, SubprocVecEnv, VecEnv, VecTransposeImage
from pixelis.envs.registration import check_env_id
from pixelis.errors import ConfigError
from pixelis.rewards.stack.reward_config import read_rewards
from pixelis.rewards.terms.registry import make_term
from pixelis.wrappers.discrete.discrete_tool_actions import DiscreteToolActions
from pixelis.wrappers.stacking import wrap


@dataclass(frozen=True)
class EnvMaker:
    """Makes an environment with numbers for actions, which plays training tasks unless asked otherwise.

    Attributes:
        task_env: what is played.
        action_kwargs: keywords of `DiscreteToolActions`.
        rewards: terms to put around the environment, below the numbers; empty for none. They see the
            environment's own turns and observations, as they do around a language model.
    """

    task_env: TaskEnv
    action_kwargs: Mapping[str, Any] = field(default_factory=dict)
    rewards: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self) -> RequestedEpisodes:
        """Return a new one.

        Raises:
            ConfigError: it is no pixel environment, a keyword is out of range, or a reward term learns.
        """
        check_env_id(self.task_env.id)
        env = self.task_env.make()
        if self.rewards:
            check_nothing_learns(self.rewards)
            env = wrap(env, self.rewards)
        return RequestedEpisodes(
            DiscreteToolActions(env, **self.action_kwargs), self.task_env.options("train")
        )


def check_nothing_learns(rewards: Mapping[str, Any]) -> None:
    """Raise ``ConfigError`` for a term with a state.

    Every environment has terms of its own, maybe in another process: what they learnt would differ with the
    number of environments, and no checkpoint would hold it.
    """
    for entry in read_rewards(rewards).terms:
        if make_term(entry.name, entry.settings).state_dict():
            raise ConfigError(
                f"rewards: {entry.name} learns while it pays, which agents without language do not support; "
                "leave it out, or train a language model (--agent language)"
            )


def check_sums_matter(rewards: Mapping[str, Any]) -> None:
    """Raise ``ConfigError`` for a term whose sum over an episode is the same whatever is done.

    sb3-grpo compares whole episodes, which such a term leaves as they are.
    """
    for entry in read_rewards(rewards).terms:
        if getattr(make_term(entry.name, entry.settings), "telescopes", False):
            raise ConfigError(
                f"rewards: {entry.name} only moves reward between the turns of an episode, and sb3-grpo "
                "compares whole ones; leave it out, or train by sb3-ppo or sb3-dqn"
            )


def make_vec(make_env: EnvMaker, count: int, processes: str = "none") -> VecEnv:
    """Return ``count`` environments in one vector, pictures as SB3's networks take them (channels first).

    Args:
        make_env: makes one.
        count: how many.
        processes: ``none`` steps them one after the other in this process; ``fork``, ``spawn`` and
            ``forkserver`` give each a process made in that way. What is played is the same.

    Raises:
        PixelisError: an environment cannot be made with these settings.
    """
    makers: list[Any] = [make_env] * count
    if processes != "none":  # a process of its own would say of a mistake no more than that it has ended
        make_env().close()
    vector = DummyVecEnv(makers) if processes == "none" else SubprocVecEnv(makers, start_method=processes)
    return VecTransposeImage(vector)
