"""Which wrappers are on an environment, and whether one more makes sense on top of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
from gymnasium.vector import VectorWrapper

from pixelis.errors import WrapperOrderError, shown

RIGHT_ORDER = "RecordTrajectory(RewardOrchestrator(ToolPenalty(CoherenceReward(CuriosityReward(env)))))"


def layers(env: Any) -> Iterator[Any]:
    """Yield an environment's wrappers, the outermost first, without the environment itself."""
    while isinstance(env, gym.Wrapper | VectorWrapper):
        yield env
        env = env.env


def is_term(layer: Any) -> bool:
    """Return whether a wrapper is one of ours that adds a reward term."""
    return getattr(layer, "reward_role", None) == "term"


def is_orchestrator(layer: Any) -> bool:
    """Return whether a wrapper is one of ours that replaces the reward by a total."""
    return getattr(layer, "reward_role", None) == "orchestrator"


def is_recorder(layer: Any) -> bool:
    """Return whether a wrapper is one of ours that records episodes."""
    return getattr(layer, "reward_role", None) == "recorder"


def check_term_order(env: Any, wrapper: str, name: str) -> None:
    """Check that a term may be added on top of ``env``.

    Raises:
        WrapperOrderError: an orchestrator is below, the term is there already, or a recorder is in between.
    """
    below = list(layers(env))
    if any(map(is_orchestrator, below)):
        _refuse(f"{wrapper} is outside the RewardOrchestrator, which could neither weigh nor bound it")
    if any(is_term(layer) and layer.term_name == name for layer in below):
        _refuse(f"the term {shown(name)} is there twice; leave one of them out, or give one another name")
    _check_recorders(below, wrapper)


def check_orchestrator_order(env: Any, wrapper: str) -> None:
    """Check that an orchestrator may be put on top of ``env``.

    Raises:
        WrapperOrderError: there is one already, or a recorder is between it and its terms.
    """
    below = list(layers(env))
    if any(map(is_orchestrator, below)):
        _refuse(f"there are two {wrapper}s; leave one of them out")
    _check_recorders(below, wrapper)


def _check_recorders(below: list[Any], wrapper: str) -> None:
    """Refuse a recorder between reward wrappers: it would record neither the task's nor the final reward."""
    for place, layer in enumerate(below):
        if is_recorder(layer) and any(map(is_term, below[place:])):
            _refuse(
                f"{type(layer).__name__} is between the reward wrappers, inside {wrapper}; put it outside "
                "all of them to record the final reward, or inside all of them to record the task's"
            )


def _refuse(problem: str) -> None:
    raise WrapperOrderError(f"{problem}. The right order is {RIGHT_ORDER}")
