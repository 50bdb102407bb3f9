"""A game of another package, played by one agent in words: what all of them share."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym

from pixelis.envs.actions import check_turn
from pixelis.envs.interop.randomness import GlobalRandomness
from pixelis.envs.players import NothingPlayer
from pixelis.envs.spaces import Utf8Text, clean_text, truncate_text
from pixelis.errors import shown
from pixelis.user_code import RAISED, described

TEXT_LENGTH, TURN_LENGTH = 8000, 4000
Info = dict[str, Any]


@dataclass(frozen=True)
class Move:
    """What a game made of a turn.

    Attributes:
        text: what it says.
        reward: what it pays.
        terminated: whether it is over.
        truncated: whether it was cut off.
        info: what else it tells, for ``info["game"]``.
    """

    text: str
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    info: Mapping[str, Any] = field(default_factory=dict)


class GameEnv(gym.Env[dict[str, str], str]):
    """Play a game in words.

    The games draw from Python's global generator; here each has a state of its own (``randomness``). A game
    that raises for what a player says has ended without success: ``info["raised"]`` says what happened.

    Args:
        max_turns: after these the episode is truncated.
        success_at: least sum of the game's rewards that is a success.
        partial: pay what the game pays, in the place of 1 for a success.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  # Gymnasium's own

    def __init__(self, *, max_turns: int, success_at: float, partial: bool) -> None:
        self.max_turns, self._success_at, self._partial = max_turns, success_at, partial
        self._turns, self._total, self._over = 0, 0.0, True
        self._randomness = GlobalRandomness(0)
        self.action_space = Utf8Text(TURN_LENGTH)
        space: Any = gym.spaces.Dict({"text": Utf8Text(TEXT_LENGTH)})
        self.observation_space = space

    def begin(self, seed: int) -> str:
        """Begin a game and return what it says; the global generators are seeded by ``seed`` already."""
        raise NotImplementedError

    def play(self, action: str) -> Move:
        """Take a turn."""
        raise NotImplementedError

    def sample(self) -> str:
        """Return a turn that is allowed, drawn from Python's global generator, if the game can name one."""
        raise NotImplementedError

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, str], Info]:
        """Begin an episode; there are no ``options``."""
        super().reset(seed=seed)
        drawn = int(self.np_random.integers(2**31))
        self._randomness = GlobalRandomness(drawn)
        with self._randomness.lent():
            said = self.begin(drawn)
        self._turns, self._total, self._over = 0, 0.0, False
        return _observation(said), {}

    def step(self, action: str) -> tuple[dict[str, str], float, bool, bool, Info]:
        """Take a turn.

        Raises:
            ActionTypeError: the turn is no text.
            gymnasium.error.ResetNeeded: the episode is over.
        """
        check_turn(action, over=self._over)
        self._turns += 1
        info: Info = {}
        try:
            with self._randomness.lent():
                move = self.play(clean_text(action)[:TURN_LENGTH])
        except (*RAISED, RecursionError) as error:
            info["raised"] = described(error)
            move = Move("The game cannot go on after this turn.", terminated=True)
        self._total += move.reward
        truncated = move.truncated or (self._turns >= self.max_turns and not move.terminated)
        self._over = move.terminated or truncated
        info["game"], reward = {**move.info, "reward": move.reward}, move.reward
        if self._over:
            info["success"] = "raised" not in info and self._total >= self._success_at
        if not self._partial:
            reward = float(info.get("success", False))
        return _observation(move.text), reward, move.terminated, truncated, info

    def players(self) -> dict[str, Callable[[GameEnv], Any]]:
        """Return the scripted players: floors, with chance where the game itself can name a turn."""
        players: dict[str, Callable[[GameEnv], Any]] = {"nothing": lambda env: NothingPlayer()}
        return players if type(self).sample is GameEnv.sample else {**players, "random": RandomMoves}


@contextmanager
def made_quietly() -> Iterator[None]:
    """Make a game whose constructor draws, and prints that it would like to load word lists."""
    with GlobalRandomness(0).lent(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        yield


def with_keywords(given: Mapping[str, Any]) -> str:
    """Return how a message names the keywords that a game was given; empty without any."""
    return f" with game_kwargs {shown(dict(given), 80)}" if given else ""


class RandomMoves:
    """Takes turns that the game itself calls allowed, at random."""

    def __init__(self, env: GameEnv) -> None:
        self._env, self._own = env, GlobalRandomness(int(env.np_random.integers(2**31)))

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return one of them."""
        with self._own.lent():
            return self._env.sample()


def _observation(text: str) -> dict[str, str]:
    return {"text": truncate_text(clean_text(text), TEXT_LENGTH)}
