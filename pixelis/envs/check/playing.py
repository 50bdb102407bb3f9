"""Play episodes and compare what they said: what the contract's clauses are made of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from pixelis.envs.check.nasty_actions import BAD_CALLS
from pixelis.envs.players import ScriptedPlayer
from pixelis.envs.tool_env import ToolEnv

Turn = tuple[dict[str, Any], float, bool, bool, dict[str, Any]]
"""What ``step`` returns; for ``reset``, reward 0 and both flags false."""


def play(
    env: ToolEnv[Any], player: ScriptedPlayer, seed: int, options: dict[str, Any] | None = None
) -> list[Turn]:
    """Play an episode with a player to its end; return what ``reset`` and every ``step`` said."""
    turns = [_start(env, seed, options)]
    while not (turns[-1][2] or turns[-1][3]):
        turns.append(env.step(player.act(turns[-1][0], turns[-1][4])))
    return turns


def play_asking(
    env: ToolEnv[Any], policy: ScriptedPlayer, seed: int, options: dict[str, Any] | None = None
) -> tuple[list[Turn], list[float | None]]:
    """Play as ``play`` does; return besides what ``progress`` said at the start and after every turn."""
    turns, progress = [_start(env, seed, options)], [env.progress()]
    while not (turns[-1][2] or turns[-1][3]):
        turns.append(env.step(policy.act(turns[-1][0], turns[-1][4])))
        progress.append(env.progress())
    return turns, progress


def play_turns(env: ToolEnv[Any], actions: Iterable[str], seed: int) -> list[Turn]:
    """Play given turns until they or the episode end; return what ``reset`` and every ``step`` said."""
    turns = [_start(env, seed, None)]
    for action in actions:
        turns.append(env.step(action))
        if turns[-1][2] or turns[-1][3]:
            break
    return turns


def _start(env: ToolEnv[Any], seed: int, options: dict[str, Any] | None) -> Turn:
    observation, info = env.reset(seed=seed, options=options)
    return observation, 0.0, False, False, info


class Recorder:
    """A player that remembers in ``actions`` what another one said."""

    def __init__(self, player: ScriptedPlayer) -> None:
        self._player = player
        self.actions: list[str] = []

    def act(self, observation: Any, info: Any) -> str:
        """Return the other player's turn."""
        self.actions.append(self._player.act(observation, info))
        return self.actions[-1]


def leader(env: ToolEnv[Any]) -> str:
    """Return the name of the player that sees most of an environment: the oracle, where there can be one."""
    return "oracle" if env.knows_solutions else "random"


def mixed_actions(env: ToolEnv[Any], seed: int) -> list[str]:
    """Return turns that do not answer: the `leader`'s calls on this seed, then bad ones, to the limit."""
    player = Recorder(env.players()[leader(env)](env))
    play(env, player, seed)
    turns = [*player.actions[:-1], *BAD_CALLS.values()]
    return turns[: env.max_turns]


def same(a: Any, b: Any) -> bool:
    """Return whether two values are equal: arrays by type and bytes, containers by their parts."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype == object:
            return a.shape == b.shape and same(a.tolist(), b.tolist())
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)
