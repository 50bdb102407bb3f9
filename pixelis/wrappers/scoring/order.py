"""Which wrappers are on an environment, and whether one more makes sense on top of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
from gymnasium.vector import VectorWrapper
from gymnasium.wrappers import Autoreset, TimeLimit

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


def check_calling_wrappers(inner: Any) -> None:
    """Check the wrappers outside ``inner``: none of them may end episodes, which ``inner`` would not see.

    A wrapper does not know what is put around it. But every call from outside passes through all of it, so
    this looks at the callers; call it where ``inner`` is being called (in ``reset``, once is enough).

    Raises:
        WrapperOrderError: a ``TimeLimit`` is outside.
    """
    frame = sys._getframe(1)
    while frame is not None:
        owner = frame.f_locals.get("self")
        if _ends_episodes(owner) and any(layer is inner for layer in layers(owner)):
            name = type(inner).__name__
            _refuse(
                f"{type(owner).__name__} is outside {name}, which does not see the episodes end that it cuts "
                "off and would pay nothing for them; put the limit inside: "
                "wrap(TimeLimit(env, …), …) or gym.make(…, max_episode_steps=…)"
            )
        frame = frame.f_back


def _ends_episodes(layer: Any) -> bool:
    """Return whether a wrapper ends episodes by itself: Gymnasium's, or a vector's of the same name."""
    return isinstance(layer, TimeLimit) or (
        isinstance(layer, VectorWrapper) and "TimeLimit" in type(layer).__name__
    )


def check_term_order(env: Any, wrapper: str, name: str) -> None:
    """Check that a term may be added on top of ``env``.

    Raises:
        WrapperOrderError: an orchestrator is below, the term is there already, or a recorder is in between.
    """
    below = list(layers(env))
    _check_resets(below, wrapper)
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
    _check_resets(below, wrapper)
    if any(map(is_orchestrator, below)):
        _refuse(f"there are two {wrapper}s; leave one of them out")
    _check_recorders(below, wrapper)


def _check_resets(below: list[Any], wrapper: str) -> None:
    """Refuse what begins episodes below without a word: their first observation would never come up."""
    if any(isinstance(layer, Autoreset) for layer in below):
        _refuse(f"Autoreset is inside {wrapper}, which then does not see episodes begin; put it outside")


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
