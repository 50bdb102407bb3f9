"""Scripted players of ``Pixelis/Gymnasium-v0``: floors for every environment, an oracle for some."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import gymnasium as gym

from pixelis.envs.interop.gymnasium.choices import Choices, Named
from pixelis.envs.interop.gymnasium.tabular import best_actions, transitions_of

if TYPE_CHECKING:
    from pixelis.envs.interop.gymnasium.env import GymnasiumEnv


class Nothing:
    """Says nothing."""

    def __init__(self, env: GymnasiumEnv) -> None: ...

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return the empty turn."""
        return ""


class Random:
    """Takes actions of the space at random, by the generator that ``reset`` has seeded."""

    def __init__(self, env: GymnasiumEnv) -> None:
        self._choices, self._space = env.choices, env.inner.action_space
        self._space.seed(int(env.np_random.integers(2**31)))

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return one of them."""
        return self._choices.word(self._space.sample())


class Oracle:
    """Takes the best action by the environment's own transitions."""

    def __init__(self, env: GymnasiumEnv) -> None:
        table = transitions_of(env.inner)
        assert table is not None  # it is offered only then
        self._env, self._best = env, best_actions(table)

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return its name."""
        inner: Any = self._env.inner.unwrapped
        return self._env.choices.word(self._best[int(inner.s)])


PLAYERS: dict[str, Callable[[GymnasiumEnv], Any]] = {"nothing": Nothing, "random": Random}


def can_be_solved(env: gym.Env[Any, Any], choices: Choices) -> bool:
    """Whether an environment tells its transitions."""
    return isinstance(choices, Named) and transitions_of(env) is not None
