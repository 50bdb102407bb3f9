"""SkyRL: every Pixelis environment as one of its text environments.

SkyRL's trainer makes the environment that a row names and calls ``init`` with the row's prompt, then ``step``
with each turn. ``register()`` makes ``env_class="pixelis"`` known, ``skyrl_rows`` makes the rows::

    from pixelis.adapters.skyrl import register, skyrl_rows
    register()
    rows = skyrl_rows("Pixelis/WebBrowse-v0", range(1000), {"difficulty": 0})

The trainer reads rows from a file, which ``examples/skyrl_rows.py`` writes. A row of SkyRL is text, so
pictures are left out: an environment that cannot be played by its text should not be trained on this way.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pixelis.adapters.chat_env import ChatEnv, Message, rows
from pixelis.errors import ConfigError, MissingDependencyError

try:
    import skyrl_gym
    from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput
    from skyrl_gym.envs.registration import registry
except ImportError as error:
    raise MissingDependencyError(
        f"this adapter needs skyrl-gym ({error}); install it with: pip install 'pixelis[skyrl]'"
    ) from error

__all__ = ["SkyRLEnv", "register", "skyrl_rows"]

ENV_CLASS = "pixelis"
"""The name by which SkyRL knows it."""
HOW = "make rows with pixelis.adapters.skyrl.skyrl_rows"


class SkyRLEnv(BaseTextEnv):
    """A Pixelis environment for SkyRL.

    Args:
        env_config: SkyRL's; nothing of it is used.
        extras: of the row: ``env_id``, ``seed``; if wanted ``env_kwargs``, and ``options`` for ``reset``, as
            JSON or dicts.

    Raises:
        ConfigError: the row lacks ``env_id`` or ``seed``, or the others are no dicts.
        UnknownEnvError: no such environment.
    """

    def __init__(self, env_config: Any = None, extras: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        row = dict(extras or {})
        if missing := [name for name in ("env_id", "seed") if row.get(name) is None]:
            raise ConfigError(
                f"a {ENV_CLASS!r} row must have env_id and seed, got none for {missing[0]}; {HOW}"
            )
        self._seed, self._options = int(row["seed"]), _mapping(row, "options")
        self.chat = ChatEnv(str(row["env_id"]), _mapping(row, "env_kwargs"))
        self.max_turns = int(getattr(self.chat.env.unwrapped, "max_turns", 1))

    def init(self, prompt: list[Message]) -> tuple[list[Message], dict[str, Any]]:
        """Begin the row's episode and return its prompt, which ``prompt`` should be already."""
        first = self.chat.begin(self._seed, self._options)
        return [*self.chat.system(), {"role": "user", "content": first}], {}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """Take an assistant's turn.

        Raises:
            TrainingError: the environment itself failed; SkyRL can leave no episode out.
        """
        self.turns += 1
        reply = self.chat.reply(action)
        self.chat.check_valid()
        said = [] if reply.done else [{"role": "user", "content": str(reply.content)}]
        output: Any = {"observations": said, "reward": reply.reward, "done": reply.done}
        output["metadata"] = {"turns": self.turns}
        return output

    def get_metrics(self) -> dict[str, Any]:
        """Return ``success`` (where the environment tells it) and the turns of the episode."""
        success = self.chat.info.get("success")
        return {"turns": self.turns, **({} if success is None else {"success": float(success)})}

    def close(self) -> None:
        """Close the environment."""
        self.chat.close()


def _mapping(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    given = row.get(name) or {}
    try:
        found = json.loads(given) if isinstance(given, str) else given
    except ValueError:
        found = None
    if not isinstance(found, Mapping):
        raise ConfigError(
            f"{name} of a {ENV_CLASS!r} row must be a dict, or JSON of one, got {given!r}; {HOW}"
        )
    return dict(found)


def register() -> None:
    """Make ``pixelis`` known to skyrl-gym; calling it again changes nothing."""
    if ENV_CLASS not in registry:
        skyrl_gym.register(id=ENV_CLASS, entry_point="pixelis.adapters.skyrl:SkyRLEnv")


def skyrl_rows(
    env_id: str,
    seeds: Sequence[int],
    env_kwargs: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
) -> list[Message]:
    """Return a row of a SkyRL dataset for each seed: ``rows`` with ``env_class``."""
    return [{**row, "env_class": ENV_CLASS} for row in rows(env_id, seeds, env_kwargs, options)]
