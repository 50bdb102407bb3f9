"""``make_vec``: the environments of a run as one of stable-baselines3's vectors."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pixelis  # noqa: F401  # registers the ids, also in a spawned process
from pixelis.agents.sb3.episodes import RequestedEpisodes
from pixelis.agents.sb3.library import DummyVecEnv, SubprocVecEnv, VecEnv, VecTransposeImage
from pixelis.agents.task_env import TaskEnv
from pixelis.envs.registration import check_env_id
from pixelis.wrappers.discrete_tool_actions import DiscreteToolActions


def make_env(task_env: TaskEnv, action_kwargs: Mapping[str, Any]) -> RequestedEpisodes:
    """Return one environment with numbers for actions, which plays training tasks unless asked otherwise.

    Raises:
        ConfigError: it is no pixel environment, or a keyword is out of range.
    """
    check_env_id(task_env.id)
    return RequestedEpisodes(DiscreteToolActions(task_env.make(), **action_kwargs), task_env.options("train"))


def make_vec(
    task_env: TaskEnv, action_kwargs: Mapping[str, Any], count: int, processes: str = "none"
) -> VecEnv:
    """Return ``count`` environments in one vector, pictures as SB3's networks take them (channels first).

    Args:
        task_env: what is played.
        action_kwargs: keywords of `DiscreteToolActions`.
        count: how many.
        processes: ``none`` steps them one after the other in this process; ``fork``, ``spawn`` and
            ``forkserver`` give each a process made in that way. What is played is the same.
    """
    makers: list[Any] = [partial(make_env, task_env, dict(action_kwargs))] * count
    vector = DummyVecEnv(makers) if processes == "none" else SubprocVecEnv(makers, start_method=processes)
    return VecTransposeImage(vector)
