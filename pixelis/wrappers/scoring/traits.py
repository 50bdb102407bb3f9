"""What an environment, or a vector of them, declares to reward terms and to the orchestrator."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from gymnasium.vector import VectorEnv
from gymnasium.wrappers import NormalizeReward
from gymnasium.wrappers import vector as vector_wrappers

from pixelis.rewards.terms.traits import RewardTraits, together
from pixelis.wrappers.scoring.order import is_orchestrator, is_term, layers

_REWARD_CHANGERS = (
    gym.RewardWrapper,
    NormalizeReward,
    gym.vector.VectorRewardWrapper,
    vector_wrappers.NormalizeReward,
)
_NAMES = _TRAITS, _GAP, _LINE = "reward_traits", "task_gap", "success_line"


def traits_of(env: Any) -> RewardTraits:
    """Return the traits of an environment or a vector.

    An environment declares them by the attribute ``reward_traits`` (every ``ToolEnv`` has it), or by
    ``task_gap`` and ``success_line`` alone. A vector has the smallest gap of its environments. Where a
    wrapper of Gymnasium's changes the task's reward, the gap is not the environment's any more, and unknown.

    Raises:
        ConfigError: what is declared is no gap or line.
    """
    found = _of_vector(env.unwrapped) if isinstance(env, VectorEnv) else _of_one(env)
    below = list(layers(env))
    ours = [place for place, layer in enumerate(below) if is_term(layer) or is_orchestrator(layer)]
    below = below[ours[-1] + 1 :] if ours else below  # info["reward_task"] is the reward below the innermost
    if any(isinstance(layer, _REWARD_CHANGERS) for layer in below):
        return RewardTraits(tools=found.tools, frame_tools=found.frame_tools)
    return found


def progress_of(env: gym.Env[Any, Any]) -> float | None:
    """Return how near its goal the episode of an environment is, 0-1, see ``ToolEnv.progress``."""
    return env.get_wrapper_attr("progress")()


def progress_of_lanes(envs: VectorEnv[Any, Any, Any]) -> list[float | None]:
    """Return the same of every environment of a vector.

    One that has reset itself in the last step speaks of the episode that begins, which has made none.
    """
    vector: Any = envs.unwrapped
    return list(vector.call("progress"))


def _of_one(env: gym.Env[Any, Any]) -> RewardTraits:
    return _read({name: env.get_wrapper_attr(name) for name in _NAMES if env.has_wrapper_attr(name)})


def _of_vector(envs: Any) -> RewardTraits:
    if hasattr(envs, "envs"):  # SyncVectorEnv
        return together([traits_of(env) for env in envs.envs])
    if not hasattr(envs, "call"):  # a vector without environments of its own
        return _read({name: getattr(envs, name) for name in _NAMES if hasattr(envs, name)})
    # In other processes: asking for what is not there would end them.
    lanes: list[dict[str, Any]] = [{} for _ in range(envs.num_envs)]
    for name in _NAMES:
        if all(envs.call("has_wrapper_attr", name)):
            for lane, value in zip(lanes, envs.get_attr(name), strict=True):
                lane[name] = value
    return together([_read(lane) for lane in lanes])


def _read(said: dict[str, Any]) -> RewardTraits:
    traits = said.get(_TRAITS)
    if isinstance(traits, RewardTraits):
        return traits
    return RewardTraits(said.get(_GAP), said.get(_LINE))
