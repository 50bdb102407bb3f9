"""The environment that a command names, checked before anything slow begins."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import gymnasium as gym
from gymnasium.envs.registration import load_env_creator

from pixelis.agents.scripted import scripted_names
from pixelis.agents.timed_env import EnvTimeoutError, TimedEnv
from pixelis.envs.registration import check_env_id
from pixelis.errors import ConfigError, PixelisError, suggest
from pixelis.rewards.traits import RewardTraits
from pixelis.wrappers.traits import traits_of


@dataclass(frozen=True)
class TaskEnv:
    """A Gymnasium id with its keywords and reset options.

    Attributes:
        id: the Gymnasium id.
        kwargs: keyword arguments for ``gymnasium.make``.
        reset_options: for ``reset``, the split left out.
        max_turns: longest episode in steps; 1 when the env does not say.
        has_splits: whether ``reset`` takes the option ``split``.
        draws: whether the env can render to an array.
        shows_images: whether its observations hold pictures.
        policies: names of the scripted policies the env ships.
        traits: what it declares to reward terms: its task's gap, and its tools.
        timeout_seconds: longest time that making, resetting, stepping or closing an env may take; None for no
            limit.
    """

    id: str
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    reset_options: Mapping[str, Any] = field(default_factory=dict)
    max_turns: int = 1
    has_splits: bool = False
    draws: bool = False
    shows_images: bool = False
    policies: tuple[str, ...] = ()
    traits: RewardTraits = field(default_factory=RewardTraits)
    timeout_seconds: float | None = None

    @classmethod
    def open(
        cls,
        env_id: str,
        kwargs: Mapping[str, Any],
        reset_options: Mapping[str, Any],
        timeout_seconds: float | None = None,
    ) -> TaskEnv:
        """Make the environment once, reset it, and describe it.

        Raises:
            UnknownEnvError: the id.
            ConfigError: a keyword, an env whose observations hold no text, or one that is late.
            DifficultyError, SplitError: a reset option out of range.
        """
        check_env_id(env_id)
        draft = cls(env_id, dict(kwargs), dict(reset_options), timeout_seconds=timeout_seconds)
        try:
            return draft._described()
        except EnvTimeoutError as error:
            raise ConfigError(
                f"environment {env_id!r}: {error}; raise --env-timeout-seconds, or see why it hangs"
            ) from error

    def make(self, **extra: Any) -> gym.Env[Any, Any]:
        """Return a new environment; ``extra`` keywords are added to its own."""
        kwargs = {**self.kwargs, **extra}

        def factory() -> gym.Env[Any, Any]:
            return gym.make(self.id, disable_env_checker=True, **kwargs)

        return factory() if self.timeout_seconds is None else TimedEnv(factory, self.timeout_seconds)

    def options(self, split: str) -> dict[str, Any]:
        """Return the options for ``reset`` that ask for tasks of a split, where the env has splits."""
        return {**self.reset_options, **({"split": split} if self.has_splits else {})}

    def held_out_seeds(self, count: int) -> list[int]:
        """Return reset seeds for evaluation.

        They count from 0 where the ``test`` split keeps tasks apart, else from 2**31, above training's.
        """
        first = 0 if self.has_splits else 2**31
        return list(range(first, first + count))

    def _described(self) -> TaskEnv:
        """Return a copy with what an env that was made and reset says of itself."""
        try:
            env = self.make()
        except PixelisError:
            raise
        except TypeError as error:  # what the constructor says of an unknown keyword
            raise _explained(self.id, self.kwargs, error) from error
        try:
            _check_text(self.id, env)
            env.reset(seed=0, options=dict(self.reset_options) or None)
            inner: Any = env.unwrapped
            turns = getattr(inner, "max_turns", None) or (env.spec and env.spec.max_episode_steps) or 1
            return replace(
                self,
                max_turns=int(turns),
                has_splits=hasattr(inner, "split"),
                draws="rgb_array" in env.metadata.get("render_modes", ()),
                shows_images="image" in cast(gym.spaces.Dict, env.observation_space).spaces,
                policies=scripted_names(env),
                traits=traits_of(env),
            )
        finally:
            env.close()


def _explained(env_id: str, kwargs: Mapping[str, Any], error: TypeError) -> ConfigError:
    creator = gym.spec(env_id).entry_point
    creator = load_env_creator(creator) if isinstance(creator, str) else creator
    known = [name for name in inspect.signature(creator).parameters if name != "self"] if creator else []
    for name in kwargs:
        if known and name not in known:
            return ConfigError(f"environment {env_id!r} has no keyword {name!r}.{suggest(name, known)}")
    return ConfigError(f"environment {env_id!r} does not take {dict(kwargs)!r}: {error}")


def _check_text(env_id: str, env: gym.Env[Any, Any]) -> None:
    space = env.observation_space
    if not isinstance(space, gym.spaces.Dict) or "text" not in space.spaces:
        raise ConfigError(
            f"a language policy needs observations that are a dict with 'text', {env_id!r} has {space}; "
            "use an env whose observation_space is Dict(text=..., [image=...])"
        )
