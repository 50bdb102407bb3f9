"""A user's own agent: a function from what the env says to a turn, or a class of such."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium as gym

from pixelis.agents.episodes.episode import Episode, Segment
from pixelis.agents.episodes.episode_runner import EpisodeRequest, EpisodeRunner
from pixelis.errors import ConfigError
from pixelis.user_code import RAISED, place_of_function

Act = Callable[[Mapping[str, Any], Mapping[str, Any]], str]
"""``(observation, info) → turn``."""


class FunctionAgent:
    """Plays by a function of observation and info, or by a class whose objects, one an episode, ``act`` so.

    Args:
        function: the function or class.
        name: what it is called in tables.

    Attributes:
        base_name: the name.

    Raises:
        ConfigError: it does not take an observation and an info, or is a class without ``act``.
    """

    def __init__(self, function: Any, name: str) -> None:
        _check_agent(function, name)
        self._function, self.base_name = function, name

    def play(
        self,
        requests: Sequence[EpisodeRequest],
        make: Callable[[], gym.Env[Any, Any]],
        on_episodes: Callable[[Sequence[Episode]], None] = lambda _: None,
    ) -> list[Episode]:
        """Play the episodes one after the other; one in which the agent raises counts as failed.

        Args:
            requests: what to play.
            make: makes an env.
            on_episodes: is given each when it ends.
        """
        episodes: list[Episode] = []
        env: gym.Env[Any, Any] | None = None
        try:
            for request in requests:
                env = env or make()
                episodes.append(self._episode(EpisodeRunner(env, request)))
                if not episodes[-1].valid_for_training:  # an env that failed is not trusted again
                    failed, env = env, None
                    with contextlib.suppress(Exception):
                        failed.close()
                on_episodes(episodes[-1:])
        finally:
            if env is not None:
                env.close()
        return episodes

    def _episode(self, runner: EpisodeRunner) -> Episode:
        runner.reset()
        act: Act | None = None
        while not runner.done:
            try:
                act = act or self._begun()
                action = act(runner.observation, runner.info)
            except RAISED as error:
                runner.blame(f"the agent {self.base_name!r}", error)
                break
            if not isinstance(action, str):
                said = (
                    f"the agent {self.base_name!r} returned {type(action).__name__}; return the turn as a str"
                )
                runner.fail(said, place_of_function(act))
                break
            runner.episode.segments += [Segment.given([], runner.seen()[0]), Segment.given([], action)]
            runner.step(action)
        return runner.episode

    def _begun(self) -> Act:
        if not inspect.isclass(self._function):
            return self._function
        player: Any = self._function()
        return player.act


def _check_agent(function: Any, name: str) -> None:
    """Refuse at once what could not play a turn; what cannot be inspected is left to its first turn."""
    act, given, takes = function, 2, "(observation, info)"
    if inspect.isclass(function):
        act, given, takes = getattr(function, "act", None), 3, "(self, observation, info)"
        if not callable(act):
            raise ConfigError(f"the agent {name!r} is a class without act; give it a method act{takes}")
    try:
        signature = inspect.signature(act)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*range(given))
    except TypeError:
        raise ConfigError(f"the agent {name!r} must take {takes}, got {signature}") from None
