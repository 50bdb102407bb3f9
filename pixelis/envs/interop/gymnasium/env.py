"""``Pixelis/Gymnasium-v0``: any Gymnasium environment, played in words."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import load_env_creator

from pixelis.envs.actions import check_turn
from pixelis.envs.interop.gymnasium.choices import Choices, choices_of
from pixelis.envs.interop.gymnasium.known import GOALS, NOTES, NUMBERS, family_of
from pixelis.envs.interop.gymnasium.players import PLAYERS, Oracle, can_be_solved
from pixelis.envs.interop.gymnasium.words import (
    first_sentence,
    picture_in,
    picture_shape,
    plain,
    said,
    success_in,
)
from pixelis.envs.interop.randomness import GlobalRandomness
from pixelis.envs.keywords import Turns, checked_keywords
from pixelis.envs.registration import check_env_id
from pixelis.envs.spaces import Utf8Text, clean_text, truncate_text
from pixelis.errors import ConfigError, UnknownEnvError, shown
from pixelis.user_code import RAISED, described

ENV_ID = "Pixelis/Gymnasium-v0"
MOST_TURNS = 100
"""Where the environment has no limit of its own."""
TRIED_STEPS = 200
TEXT_LENGTH, TURN_LENGTH, LONGEST_ID = 8000, 4000, 200
Info = dict[str, Any]


class GymnasiumEnv(gym.Env[dict[str, Any], str]):
    """Play any Gymnasium environment by saying what to do.

    Observations become text: what the environment draws for a terminal where it does, else its numbers, with
    names where they are known; pictures stay pictures. An action is the name of a choice or its number, or
    numbers; the turn may hold other words, or put it in ``<answer>``. A turn that says none, or several, is
    answered by the rule and leaves the environment where it was; it pays the mean reward of a step of random
    play, or nothing where that is not below 0, so that silence is no better than random play.

    Args:
        env: its id, with ``module:`` where it must be imported first.
        env_kwargs: keywords for ``gymnasium.make``.
        actions: names of the choices, in order; None: as environment or documentation name them.
        names: of the numbers of an observation; None: as the documentation has them.
        picture: show what it renders as a picture (``rgb_array``), in the place of a drawing in text.
        success_at: least sum of rewards that is a success. None: what ``info`` says as ``success`` or
            ``is_success``; else reaching the goal, in environments that are known to end there alone; else
            the ``reward_threshold`` of the id; else anything above 0.
        max_turns: after these the episode is truncated; None: the steps that its id has, or 100.

    Raises:
        UnknownEnvError: no such id.
        ConfigError: its actions cannot be said, it cannot be rendered so, or a keyword does not fit.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  # Gymnasium's own

    @checked_keywords
    def __init__(
        self,
        *,
        env: str,
        env_kwargs: dict[str, Any] | None = None,
        actions: list[str] | None = None,
        names: list[str] | None = None,
        picture: bool = False,
        success_at: float | None = None,
        max_turns: Turns | None = None,
    ) -> None:
        if len(env) > LONGEST_ID:
            raise UnknownEnvError(f"no environment is registered as {shown(env, 60)}")
        check_env_id(env)
        self._picture, modes = picture, _modes(env)
        if picture and "rgb_array" not in modes:
            raise ConfigError(f"{env} renders no rgb_array, only {shown(modes, 60)}; leave picture out")
        self._draws = "ansi" in modes and not picture
        drawing = {"render_mode": "rgb_array" if picture else "ansi"} if picture or self._draws else {}
        self.inner = _made(env, {**drawing, **(env_kwargs or {})})
        self.choices: Choices = choices_of(self.inner, env, actions)
        self._names = NUMBERS.get(family_of(env), ()) if names is None else tuple(names)
        note = NOTES.get(family_of(env), "") if self._draws else ""
        self._intro = "\n".join(filter(None, (first_sentence(_documentation(self.inner)), note)))
        self._success_at, self._ends_at_goal = success_at, family_of(env) in GOALS
        spec: Any = self.inner.spec
        self._threshold = spec.reward_threshold
        limit = spec.max_episode_steps or getattr(self.inner.unwrapped, "max_steps", None)  # MiniGrid's own
        self.max_turns = max_turns or limit or MOST_TURNS
        self._seen: Any = None
        self.silence = min(0.0, _random_reward(env, env_kwargs or {}))
        self._turns, self._total, self._over = 0, 0.0, True
        self.action_space = Utf8Text(TURN_LENGTH)
        self._shape = self._rendered_shape() if picture else picture_shape(self.inner.observation_space)
        parts: dict[str, gym.Space[Any]] = {"text": Utf8Text(TEXT_LENGTH)}
        if self._shape is not None:
            parts["image"] = gym.spaces.Box(0, 255, self._shape, np.uint8)
        self.observation_space = gym.spaces.Dict(parts)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], Info]:
        """Begin an episode of the environment; ``options`` are its own."""
        super().reset(seed=seed)
        self._seen, info = self.inner.reset(seed=seed, options=options)
        self._turns, self._total, self._over = 0, 0.0, False
        return self._observation(self._intro, self._said(), self.choices.rule), {"gymnasium": dict(info)}

    def step(self, action: str) -> tuple[dict[str, Any], float, bool, bool, Info]:
        """Do what a turn says.

        Raises:
            ActionTypeError: the turn is no text.
            gymnasium.error.ResetNeeded: the episode is over.
        """
        check_turn(action, over=self._over)
        self._turns += 1
        late = self._turns >= self.max_turns
        chosen = self.choices.read(clean_text(action))
        if chosen is None:
            seen = self._observation(f"That says no action, or several. {self.choices.rule}")
            self._total += self.silence
            info = self._info({}, understood=False, terminated=False, over=late)
            return seen, self.silence, False, late, info
        self._seen, paid, terminated, truncated, given = self.inner.step(chosen)
        reward, terminated = float(paid), bool(terminated)
        truncated = bool(truncated) or (late and not terminated)
        self._total += reward
        seen = self._observation(f"Reward: {reward:g}." if reward else "", self._said())
        info = self._info(given, understood=True, terminated=terminated, over=terminated or truncated)
        return seen, reward, terminated, truncated, info

    def close(self) -> None:
        """Close the environment."""
        self.inner.close()

    def players(self) -> dict[str, Callable[[GymnasiumEnv], Any]]:
        """Return the scripted players, with an ``oracle`` where the environment tells its transitions."""
        return {**PLAYERS, "oracle": Oracle} if can_be_solved(self.inner, self.choices) else dict(PLAYERS)

    # ------------------------------------------------------------------ private

    def _said(self) -> str:
        if self._draws:
            return plain(str(self.inner.render()))
        return said(self.inner.observation_space, self._seen, self._names)

    def _observation(self, *lines: str) -> dict[str, Any]:
        text = truncate_text(clean_text("\n".join(filter(None, lines))), TEXT_LENGTH)
        if self._shape is None:
            return {"text": text}
        space = self.inner.observation_space
        seen: Any = self.inner.render() if self._picture else picture_in(space, self._seen)
        return {"text": text, "image": np.array(seen, np.uint8, order="C")}  # a copy: it may be shown again

    def _rendered_shape(self) -> tuple[int, ...]:
        self.inner.reset(seed=0)
        seen: Any = self.inner.render()
        return np.asarray(seen).shape

    def _info(self, given: Mapping[str, Any], *, understood: bool, terminated: bool, over: bool) -> Info:
        self._over = over
        info: Info = {"gymnasium": dict(given), "understood": understood}
        return {**info, "success": self._succeeded(given, terminated)} if over else info

    def _succeeded(self, given: Mapping[str, Any], terminated: bool) -> bool:
        if self._success_at is not None:
            return self._total >= self._success_at
        if (told := success_in(given)) is not None:
            return told
        if self._ends_at_goal:
            return terminated
        return self._total > 0 if self._threshold is None else self._total >= self._threshold


def _random_reward(env_id: str, keywords: Mapping[str, Any]) -> float:
    """Return the mean reward of `TRIED_STEPS` steps of random play, rounded down to what can be read.

    Another instance plays, and the process's generators are put back. 0 where it cannot be played so.
    """
    rewards: list[float] = []
    with (
        contextlib.suppress(*RAISED),  # a stranger's code
        GlobalRandomness(0).lent(),
        contextlib.closing(gym.make(env_id, **keywords)) as env,
    ):
        env.action_space.seed(0)
        env.reset(seed=0)
        for _ in range(TRIED_STEPS):
            _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
            rewards.append(float(reward))
            if terminated or truncated:
                env.reset()
    mean = sum(rewards) / max(1, len(rewards))
    return math.floor(round(100 * mean, 6)) / 100 if math.isfinite(mean) else 0.0


def _made(env_id: str, keywords: Mapping[str, Any]) -> gym.Env[Any, Any]:
    try:
        return gym.make(env_id, **keywords)
    except RAISED as error:  # what a stranger's code makes of keywords may be anything
        given = shown(dict(keywords), 80)
        raise ConfigError(f"{env_id} cannot be made with env_kwargs {given}: {described(error)}") from error


def _modes(env_id: str) -> tuple[str, ...]:
    """Return the render modes of an id, which its class says before it is made."""
    entry = gym.spec(env_id.rpartition(":")[2]).entry_point
    creator = load_env_creator(entry) if isinstance(entry, str) else entry
    return tuple(getattr(creator, "metadata", {}).get("render_modes", ()))


def _documentation(env: gym.Env[Any, Any]) -> str | None:
    documentation = type(env.unwrapped).__doc__
    return None if documentation == gym.Env.__doc__ else documentation
