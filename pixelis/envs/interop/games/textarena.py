"""``Pixelis/TextArena-v0``: TextArena's games for one player."""

from __future__ import annotations

import sys
from typing import Any

from pixelis.envs.interop.games.game_env import GameEnv, Move, made_quietly, with_keywords
from pixelis.envs.keywords import Flag, Number, Turns, checked_keywords
from pixelis.errors import ConfigError, MissingDependencyError, UnknownEnvError, shown, suggest
from pixelis.user_code import RAISED, described

try:
    import textarena
    from textarena.envs.registration import ENV_REGISTRY
except ImportError as error:
    raise MissingDependencyError(
        f"Pixelis/TextArena-v0 needs TextArena ({error}); install it with: pip install 'pixelis[textarena]'"
    ) from error

ENV_ID = "Pixelis/TextArena-v0"
MOST_TURNS = 100
"""Where a game has no limit of its own."""
_PLAIN = "-raw"  # TextArena's own suffix: a game without wrappers


class TextArenaEnv(GameEnv):
    """Play one of TextArena's games for one player.

    An observation is what the game says after a turn, each message once: a policy sees the whole conversation
    anyway. Turns without brackets are put in them for games for which TextArena does so. A game tells at its
    end what it pays: 1 for the goal, less for some way to it, often after invalid moves too.

    Args:
        game: its id without what TextArena's wrappers add to it, as ``GuessTheNumber-v0``.
        game_kwargs: keywords of the game, besides those of its id.
        max_turns: after these the episode is cut off, and nothing paid; None: the game's own limit, or 100.
        success_at: least reward of the game's that is a success.
        partial: pay what the game pays, in the place of 1 for a success.

    Raises:
        MissingDependencyError: TextArena is not installed.
        UnknownEnvError: no such game.
        ConfigError: it is for several players, needs what is not here (word lists, an account), or refuses a
            keyword.
    """

    @checked_keywords
    def __init__(
        self,
        *,
        game: str,
        game_kwargs: dict[str, Any] | None = None,
        max_turns: Turns | None = None,
        success_at: Number = 1.0,
        partial: Flag = False,
    ) -> None:
        spec: Any = ENV_REGISTRY.get(game)
        if spec is None or f"{game}{_PLAIN}" not in ENV_REGISTRY:
            names = [name[: -len(_PLAIN)] for name in ENV_REGISTRY if name.endswith(_PLAIN)]
            raise UnknownEnvError(f"TextArena has no game {shown(game, 60)}.{suggest(game, names)}")
        self.game = game
        wrappers = [kind for kind in spec.default_wrappers or () if _formats(kind)]
        self.inner: Any = self._made(game_kwargs or {})
        for wrapper in wrappers:
            self.inner = wrapper(self.inner)
        limit = getattr(self.inner.state, "max_turns", None)
        super().__init__(max_turns=max_turns or limit or MOST_TURNS, success_at=success_at, partial=partial)

    def begin(self, seed: int) -> str:
        """Begin a game and return its rules."""
        self.inner.reset(num_players=1, seed=seed)
        return self._said()

    def play(self, action: str) -> Move:
        """Take a turn; a game that is over says what it pays."""
        over, _ = self.inner.step(action)
        if not over:
            return Move(self._said())
        rewards, told = self.inner.close()
        mine = dict(told or {}).get(0, {})
        said = "\n".join(filter(None, (self._said(), str(mine.get("reason") or ""))))
        paid = rewards[0]  # a sentence, where a game has put the arguments of its state in the wrong order
        return Move(said, float(paid) if isinstance(paid, (int, float)) else 0.0, terminated=True, info=mine)

    def _said(self) -> str:
        """Return what is new, but for what the player said."""
        _, messages = self.inner.get_observation()
        return "\n".join(str(text) for sender, text, _ in messages if sender == textarena.GAME_ID).strip()

    def _made(self, keywords: dict[str, Any]) -> Any:
        """Return the game, reset once, so that what it lacks is told now."""
        try:
            with made_quietly():
                made = textarena.make(f"{self.game}{_PLAIN}", **keywords)
                made.reset(num_players=1, seed=0)
        except (*RAISED, SyntaxError) as error:  # SyntaxError: some games are written for a newer Python
            raise ConfigError(
                f"{self.game} cannot be played alone here{with_keywords(keywords)}: {described(error)}"
            ) from error
        vars(sys.modules[type(made).__module__])["print"] = _say_nothing  # some games print as they go
        if not isinstance(made.state, textarena.SinglePlayerState):
            raise ConfigError(f"{self.game} is for several players; only games for one can be played here")
        return made


def _say_nothing(*words: Any, **options: Any) -> None:
    """Stand for ``print`` in a game's module."""


def _formats(kind: type[Any]) -> bool:
    return issubclass(kind, textarena.wrappers.ActionFormattingWrapper)
