"""The environment's oracle: what a level pays at best, and whether it can be solved at all."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium as gym

from pixelis.agents.episodes.episode_runner import EpisodeRequest
from pixelis.agents.episodes.scripted import play_scripted
from pixelis.agents.ued.space import Level, LevelSpace

ORACLE = "oracle"
_REMEMBERED = 4096


@dataclass(frozen=True)
class OracleResult:
    """What the oracle got on a level.

    Attributes:
        value: its episode's reward.
        solved: whether it succeeded; where the environment does not say, whether the reward was above 0.
    """

    value: float
    solved: bool


class LevelOracle:
    """Plays levels with the scripted player ``oracle``; a level that it has played is remembered.

    Args:
        make: makes the environment.
        space: its levels.
        options: reset options that hold for all of them, the split among them.
    """

    def __init__(
        self, make: Callable[[], gym.Env[Any, Any]], space: LevelSpace, options: Mapping[str, Any]
    ) -> None:
        self._make, self._space, self._options = make, space, dict(options)
        self._env: gym.Env[Any, Any] | None = None
        self._known: OrderedDict[Level, OracleResult] = OrderedDict()

    def play(self, level: Level) -> OracleResult | None:
        """Return how the oracle fares; None if the environment failed, which says nothing of the level."""
        if level in self._known:
            self._known.move_to_end(level)
            return self._known[level]
        self._env = self._env or self._make()
        request = EpisodeRequest(level.seed, options={**self._options, **self._space.options(level.cell)})
        episode = play_scripted(self._env, ORACLE, request).episode
        if not episode.valid_for_training:  # an env that failed is not trusted again
            self.close()
            return None
        solved = episode.reward > 0 if episode.success is None else episode.success
        self._known[level] = result = OracleResult(episode.reward, solved)
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return result

    def close(self) -> None:
        """Close the environment."""
        if self._env is not None:
            env, self._env = self._env, None
            env.close()
