"""An episode as the messages of a chat, which is what other trainers speak."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
from PIL import Image

import pixelis  # noqa: F401  # registers the environments, also in a process of another trainer
from pixelis.envs.registration import check_env_id
from pixelis.envs.tool_listing import listed
from pixelis.errors import TrainingError

Message = dict[str, Any]
OVER = "The episode is over."
"""What a turn after the end is told, where a trainer may take one."""


@dataclass(frozen=True)
class Reply:
    """What an environment made of an assistant's turn.

    Attributes:
        content: what it says: a text, or parts with an image where the environment shows one.
        reward: of the turn.
        done: whether the episode is over.
        info: of Gymnasium.
    """

    content: str | list[Message]
    reward: float
    done: bool
    info: Mapping[str, Any] = field(default_factory=dict)


class ChatEnv:
    """One environment, played turn by turn in messages.

    Args:
        env_id: a Gymnasium id whose observations hold ``text``.
        env_kwargs: for ``gymnasium.make``.
        images: whether observations with a picture become parts, ``{"type": "image", "image": PIL.Image}``
            before ``{"type": "text", "text": …}``; else the picture is left out.

    Attributes:
        total: sum of the rewards of the episode.
        done: whether it is over.
        tools: schemas of the tools in OpenAI's function form; empty where there are none.

    Raises:
        UnknownEnvError: no such id.
        ConfigError: a keyword does not fit.
    """

    def __init__(
        self, env_id: str, env_kwargs: Mapping[str, Any] | None = None, *, images: bool = False
    ) -> None:
        self.env = gym.make(check_env_id(env_id), disable_env_checker=True, **(env_kwargs or {}))
        self._images = images
        toolset = getattr(self.env.unwrapped, "toolset", None)
        self.tools: Sequence[Mapping[str, Any]] = () if toolset is None else toolset.schemas()
        self.total, self.done = 0.0, True
        self.info: Mapping[str, Any] = {}

    def begin(self, seed: int, options: Mapping[str, Any] | None = None) -> str | list[Message]:
        """Begin an episode and return what the user says first."""
        observation, self.info = self.env.reset(seed=seed, options=dict(options or {}) or None)
        self.total, self.done = 0.0, False
        return self._content(observation)

    def reply(self, text: str) -> Reply:
        """Take an assistant's turn.

        Raises:
            gymnasium.error.ResetNeeded: the episode is over.
        """
        observation, reward, terminated, truncated, self.info = self.env.step(text)
        self.total, self.done = self.total + float(reward), bool(terminated or truncated)
        return Reply(self._content(observation), float(reward), self.done, self.info)

    def system(self) -> list[Message]:
        """Return a message that lists the tools, for trainers that do not hand them to the chat template."""
        return [{"role": "system", "content": listed(self.tools)}] if self.tools else []

    def outcome(self) -> dict[str, Any]:
        """Return what the last turn told of the episode: ``success``; if the environment failed, that too."""
        told: dict[str, Any] = {}
        if self.info.get("success") is not None:
            told["success"] = bool(self.info["success"])
        if not self.info.get("valid_for_training", True):
            told |= {"valid_for_training": False, "failure_reason": str(self.info.get("failure_reason"))}
        return told

    def check_valid(self) -> None:
        """Check that the environment itself has not failed, for trainers that cannot leave an episode out.

        Raises:
            TrainingError: it has, so that nothing is to be learnt from the episode.
        """
        told = self.outcome()
        if not told.get("valid_for_training", True):
            name = self.env.spec.id if self.env.spec is not None else type(self.env.unwrapped).__name__
            raise TrainingError(
                f"{name} failed: {told['failure_reason']}; a reward of 0 would be learnt from, so go on from "
                "the trainer's last checkpoint once that is mended"
            )

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    def _content(self, observation: Mapping[str, Any]) -> str | list[Message]:
        text, image = str(observation["text"]), observation.get("image")
        if image is None or not self._images:
            return text
        return [{"type": "image", "image": Image.fromarray(image.copy())}, {"type": "text", "text": text}]


def text_of(completion: Any) -> str:
    """Return the text of a completion, of messages that of the last assistant's turn."""
    if isinstance(completion, str):
        return completion
    said = [message for message in completion if message["role"] == "assistant"]
    content = said[-1].get("content") if said else ""
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


def rows(
    env_id: str,
    seeds: Sequence[int],
    env_kwargs: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    lists_tools: bool = True,
) -> list[Message]:
    """Return a row for each seed: ``prompt`` (messages), ``env_id``, ``seed``, ``env_kwargs``, ``options``.

    The last two are JSON: a column of dicts gets the keys of all rows, and an empty one has no Parquet.

    Args:
        env_id: of the environment.
        seeds: of the episodes' resets.
        env_kwargs: for ``gymnasium.make``.
        options: for ``reset``, such as ``{"split": "test"}``.
        lists_tools: whether a system message lists the tools.
    """
    chat = ChatEnv(env_id, env_kwargs)
    given = {"env_kwargs": json.dumps(dict(env_kwargs or {})), "options": json.dumps(dict(options or {}))}
    try:
        first = chat.system() if lists_tools else []
        return [
            {
                "prompt": [*first, {"role": "user", "content": chat.begin(seed, options)}],
                "env_id": env_id,
                "seed": int(seed),
                **given,
            }
            for seed in seeds
        ]
    finally:
        chat.close()
