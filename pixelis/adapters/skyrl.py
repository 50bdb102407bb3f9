"""SkyRL: every Pixelis environment as one of its text environments.

SkyRL's trainer makes the environment that a row names and calls ``init`` with the row's prompt, then ``step``
with each turn. ``register()`` makes ``env_class="pixelis"`` known, ``skyrl_rows`` makes the rows::

    from pixelis.adapters.skyrl import register, skyrl_rows
    register()
    rows = skyrl_rows("Pixelis/WebBrowse-v0", range(1000), {"difficulty": 0})

A row of SkyRL is text, so pictures are left out: an environment that cannot be played by its text should not
be trained on this way.
"""

from __future__ import annotations

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


class SkyRLEnv(BaseTextEnv):
    """A Pixelis environment for SkyRL.

    Args:
        env_config: SkyRL's; nothing of it is used.
        extras: of the row: ``env_id``, ``seed``; if wanted ``env_kwargs``, and ``options`` for ``reset``.

    Raises:
        ConfigError: the row lacks ``env_id`` or ``seed``.
        UnknownEnvError: no such environment.
    """

    def __init__(self, env_config: Any = None, extras: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        row = dict(extras or {})
        if missing := [name for name in ("env_id", "seed") if row.get(name) is None]:
            raise ConfigError(
                f"a row for {ENV_CLASS!r} must have env_id and seed, got none for {missing[0]}; "
                "make rows with pixelis.adapters.skyrl.skyrl_rows"
            )
        self._seed, self._options = int(row["seed"]), dict(row.get("options") or {})
        self.chat = ChatEnv(str(row["env_id"]), row.get("env_kwargs") or {})
        self.max_turns = int(getattr(self.chat.env.unwrapped, "max_turns", 1))

    def init(self, prompt: list[Message]) -> tuple[list[Message], dict[str, Any]]:
        """Begin the row's episode and return its prompt, which ``prompt`` should be already."""
        first = self.chat.begin(self._seed, self._options)
        return [*self.chat.system(), {"role": "user", "content": first}], {}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """Take an assistant's turn."""
        self.turns += 1
        reply = self.chat.reply(action)
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
