"""``Pixelis/Gem-v0``: GEM's games."""

from __future__ import annotations

from typing import Any

from pixelis.envs.interop.games.game_env import GameEnv, Move, made_quietly, with_keywords
from pixelis.envs.keywords import Flag, Number, Turns, checked_keywords
from pixelis.errors import ConfigError, MissingDependencyError, UnknownEnvError, shown, suggest
from pixelis.user_code import RAISED, described

try:
    import gem
    from gem.envs.registration import ENV_REGISTRY
    from gem.utils.constants import TERMINAL_STATE
except ImportError as error:
    raise MissingDependencyError(
        f"Pixelis/Gem-v0 needs GEM ({error}); install it with: pip install 'pixelis[gem]', with older "
        "releases of what it needs, or pip install --no-deps gem-llm beside newer ones"
    ) from error

ENV_ID = "Pixelis/Gem-v0"
MOST_TURNS = 100
"""Where a game has no limit of its own."""
_GAMES = "game:"


class GemEnv(GameEnv):
    """Play one of GEM's games.

    Only ids that begin with ``game:`` are games: ``rg:`` is `Pixelis/ReasoningGym-v0`, and what is left
    (``math:``, ``code:``, ``qa:``) are rows from a hub, as `Pixelis/Rows-v0` plays, with graders that run
    what a model wrote.

    Args:
        game: its id, as ``game:GuessTheNumber-v0-easy``.
        game_kwargs: keywords of the game, besides those of its id.
        max_turns: after these the episode is truncated; None: the game's own limit, or 100.
        success_at: least sum of the game's rewards that is a success.
        partial: pay what the game pays, turn by turn, in the place of 1 for a success.

    Raises:
        MissingDependencyError: GEM is not installed.
        UnknownEnvError: no such game.
        ConfigError: it needs what is not here (word lists), or refuses a keyword.
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
        games = [name for name in ENV_REGISTRY if name.startswith(_GAMES)]
        if game not in games:
            raise UnknownEnvError(f"GEM has no game {shown(game, 60)}.{suggest(game, games)}")
        given = game_kwargs or {}
        try:
            with made_quietly():
                self.inner: Any = gem.make(game, **given)
                self.inner.reset(seed=0)
        except RAISED as error:
            raise ConfigError(
                f"{game} cannot be played here{with_keywords(given)}: {described(error)}"
            ) from error
        limit = getattr(self.inner, "max_turns", None)
        super().__init__(max_turns=max_turns or limit or MOST_TURNS, success_at=success_at, partial=partial)

    def begin(self, seed: int) -> str:
        """Begin a game and return its rules."""
        said, info = self.inner.reset(seed=seed)
        return _with_suffix(said, info)

    def play(self, action: str) -> Move:
        """Take a turn."""
        said, reward, terminated, truncated, info = self.inner.step(action)
        text = "" if said == TERMINAL_STATE else str(said)
        over = bool(terminated or truncated)
        return Move(
            text if over else _with_suffix(text, info), float(reward), bool(terminated), bool(truncated), info
        )

    def sample(self) -> str:
        """Return a turn that the game itself calls allowed."""
        return str(self.inner.sample_random_action())


def _with_suffix(said: str, info: dict[str, Any]) -> str:
    return "\n".join(filter(None, (str(said).rstrip(), str(info.get("suffix") or ""))))
