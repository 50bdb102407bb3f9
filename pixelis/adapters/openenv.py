"""OpenEnv: every Pixelis environment as a server that OpenEnv's client speaks to.

The application is what uvicorn serves::

    from pixelis.adapters.openenv import server
    app = server("Pixelis/WebBrowse-v0", {"difficulty": 0})

Any client of OpenEnv plays it, ``GenericEnvClient`` without a line of ours::

    with GenericEnvClient(base_url="http://127.0.0.1:8000").sync() as env:
        result = env.reset(seed=3, split="test")
        result = env.step({"text": "<answer>42</answer>"})
"""
# pyright: reportMissingImports=false
# OpenEnv wants other releases than the lock has: it lives in an environment of its own, `make openenv`.

from __future__ import annotations

import base64
import secrets
import uuid
from collections.abc import Mapping
from functools import partial
from typing import Any

from pydantic import Field

from pixelis.adapters.chat_env import OVER, ChatEnv
from pixelis.errors import MissingDependencyError
from pixelis.pictures import image_file

try:
    from fastapi import FastAPI
    from openenv.core.env_server import Action, Environment, Observation, State, create_app
except ImportError as error:
    raise MissingDependencyError(
        f"this adapter needs openenv ({error}); install it with: pip install 'pixelis[openenv]'"
    ) from error

__all__ = ["OpenEnvAction", "OpenEnvEnvironment", "OpenEnvObservation", "OpenEnvState", "server"]


class OpenEnvAction(Action):
    """An assistant's turn, whole."""

    text: str = Field(description="calls as <tool_call>…</tool_call>, or the <answer>…</answer>")


class OpenEnvObservation(Observation):
    """What the environment says; after the last turn ``metadata`` holds ``success``, where it is told."""

    text: str = Field(description="what the user says")
    image: str | None = Field(None, description="base64 of a PNG, where the server shows pictures")


class OpenEnvState(State):
    """Where a session's episode stands."""

    env_id: str = Field("", description="Gymnasium id")
    seed: int | None = Field(None, description="of the episode")
    total: float = Field(0.0, description="sum of the episode's rewards")
    tools: list[dict[str, Any]] = Field(default_factory=list, description="schemas in OpenAI's form")
    system: str = Field("", description="the same in words, for a system message")


class OpenEnvEnvironment(Environment[OpenEnvAction, OpenEnvObservation, OpenEnvState]):
    """A Pixelis environment for OpenEnv; the server makes one for each session.

    Args:
        env_id: a Gymnasium id whose observations hold ``text``.
        env_kwargs: for ``gymnasium.make``.
        images: whether observations hold the picture, where there is one.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(
        self, env_id: str, env_kwargs: Mapping[str, Any] | None = None, *, images: bool = False
    ) -> None:
        super().__init__()
        self._chat = ChatEnv(env_id, env_kwargs, images=images)
        system = "".join(message["content"] for message in self._chat.system())
        tools = [dict(tool) for tool in self._chat.tools]
        self._state = OpenEnvState(env_id=env_id, tools=tools, system=system)

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, **options: Any
    ) -> OpenEnvObservation:
        """Begin an episode; what is given beside the seed are its options, such as ``split="test"``.

        Raises:
            ConfigError: an option does not fit; the client gets the message.
        """
        seed = secrets.randbelow(2**31) if seed is None else seed
        first = self._chat.begin(seed, options)
        begun = {"episode_id": episode_id or str(uuid.uuid4()), "step_count": 0, "seed": seed, "total": 0.0}
        self._state = self._state.model_copy(update=begun)
        return OpenEnvObservation(**_shown(first))

    def step(self, action: OpenEnvAction, timeout_s: float | None = None, **_: Any) -> OpenEnvObservation:
        """Take an assistant's turn; one after the end, or before a reset, is told so and paid nothing."""
        if self._chat.done:
            return OpenEnvObservation(text=OVER, done=True, reward=0.0)
        reply = self._chat.reply(action.text)
        stepped = {"step_count": self._state.step_count + 1, "total": self._chat.total}
        self._state = self._state.model_copy(update=stepped)
        told = self._chat.outcome() if reply.done else {}
        shown = _shown(reply.content)
        return OpenEnvObservation(**shown, done=reply.done, reward=reply.reward, metadata=told)

    @property
    def state(self) -> OpenEnvState:
        """Where the episode stands."""
        return self._state

    def close(self) -> None:
        """Close the environment."""
        self._chat.close()


def server(
    env_id: str, env_kwargs: Mapping[str, Any] | None = None, *, images: bool = False, sessions: int = 64
) -> FastAPI:
    """Return OpenEnv's application for an environment.

    Args:
        env_id: a Gymnasium id whose observations hold ``text``.
        env_kwargs: for ``gymnasium.make``.
        images: whether observations hold the picture, where there is one.
        sessions: clients that play at a time, each in an environment of its own.

    Raises:
        UnknownEnvError: no such id.
        ConfigError: a keyword does not fit.
    """
    ChatEnv(env_id, env_kwargs).close()  # else the first client is told that it failed, and nobody why
    return create_app(
        partial(OpenEnvEnvironment, env_id, env_kwargs, images=images),
        OpenEnvAction,
        OpenEnvObservation,
        env_name=env_id.rpartition("/")[2],
        max_concurrent_envs=sessions,
        state_cls=OpenEnvState,
    )


def _shown(content: str | list[dict[str, Any]]) -> dict[str, Any]:
    if isinstance(content, str):
        return {"text": content}
    return {"text": content[1]["text"], "image": base64.b64encode(image_file(content[0]["image"])).decode()}
