"""TRL: every Pixelis environment in its ``GRPOTrainer``.

By one turn, the completion is the episode: ``GRPOTrainer(…, reward_funcs=pays, train_dataset=rows)`` with::

    rows = dataset("Pixelis/CodeProblem-v0", range(1000), {"max_turns": 1})

By many: the tools are the model's native tools, TRL calls them one by one (two calls are two turns), its last
turn is the answer, the reward is what the environment has paid in all: ``reward_funcs=pays_in_all`` and::

    rows = dataset("Pixelis/WebBrowse-v0", range(1000), lists_tools=False, first=False)
    environment_factory = environment("Pixelis/WebBrowse-v0")
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from pixelis.adapters.chat_env import OVER, ChatEnv, Message, rows, text_of
from pixelis.adapters.tool_methods import tool_method
from pixelis.envs.tool_listing import called
from pixelis.errors import ConfigError, MissingDependencyError

try:
    from datasets import Dataset
except ImportError as error:
    raise MissingDependencyError(
        f"this adapter needs what TRL brings ({error}); install it with: pip install 'pixelis[trl]'"
    ) from error

__all__ = ["dataset", "environment", "pays", "pays_in_all"]


def dataset(
    env_id: str,
    seeds: Sequence[int],
    env_kwargs: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    lists_tools: bool = True,
    first: bool = True,
) -> Dataset:
    """Return a row for each seed: ``prompt`` (messages), ``env_id``, ``seed``, ``env_kwargs``, ``options``.

    Args:
        env_id: of the environment.
        seeds: of the episodes' resets.
        env_kwargs: for ``gymnasium.make``.
        options: for ``reset``.
        lists_tools: whether a system message lists the tools; False where they are native ones.
        first: whether the prompt holds the first observation; False where ``environment`` gives it.
    """
    found = rows(env_id, seeds, env_kwargs, options, lists_tools=lists_tools)
    if not first:
        for row in found:
            row["prompt"] = [{"role": "user", "content": ""}]
    return Dataset.from_list(found)


@cache
def _kept(env_id: str, env_kwargs: str) -> ChatEnv:
    return ChatEnv(env_id, json.loads(env_kwargs))


def _paid(text: str, env_id: str, env_kwargs: str, seed: int, options: str) -> float:
    chat = _kept(env_id, env_kwargs)
    chat.begin(seed, json.loads(options))
    reply = chat.reply(text)
    chat.check_valid()
    if not reply.done:
        raise ConfigError(
            f"an episode of {env_id} goes on after one turn; pass env_kwargs {{'max_turns': 1}}, or use "
            "environment and pays_in_all"
        )
    return reply.reward


def pays(
    completions: Sequence[Any],
    env_id: Sequence[str],
    env_kwargs: Sequence[str],
    seed: Sequence[int],
    options: Sequence[str],
    **_: Any,
) -> list[float]:
    """Return what the environment pays for completions that are whole episodes; the columns are `dataset`'s.

    Raises:
        ConfigError: an episode goes on after the completion.
        TrainingError: an environment itself failed; TRL can leave no episode out.
    """
    return list(map(_paid, map(text_of, completions), env_id, env_kwargs, seed, options))


def pays_in_all(completions: Sequence[Any], environments: Sequence[Any], **_: Any) -> list[float]:
    """Return what environments made by `environment` paid; an episode that goes on gets the last turn.

    Raises:
        TrainingError: an environment itself failed; TRL can leave no episode out.
    """
    return [one._finish(text_of(said)) for said, one in zip(completions, environments, strict=True)]


class _Environment:
    """What `environment` makes, before it has tools; TRL takes every public method for one."""

    _env_id = ""
    _env_kwargs: Mapping[str, Any] = {}
    _images = False

    def __init__(self) -> None:
        self._chat = ChatEnv(self._env_id, self._env_kwargs, images=self._images)

    def reset(self, seed: int = 0, options: str = "{}", **row: Any) -> str | list[Message]:
        """Begin the row's episode and return its first observation.

        Raises:
            ConfigError: the row is of another environment, or of other keywords.
        """
        own = {"env_id": self._env_id, "env_kwargs": dict(self._env_kwargs)}
        for name, value in own.items():
            told = row.get(name, value)
            told = json.loads(told) if name == "env_kwargs" and isinstance(told, str) else told
            if told != json.loads(json.dumps(value)):
                raise ConfigError(
                    f"environment was made with {name} {value!r} and the row says {told!r}; give dataset and "
                    "environment the same"
                )
        return self._chat.begin(seed, json.loads(options))

    def _call(self, name: str, arguments: Mapping[str, Any]) -> str | list[Message]:
        if self._chat.done:
            return OVER
        return self._chat.reply(called(name, arguments)).content

    def _finish(self, text: str) -> float:
        if not self._chat.done:
            self._chat.reply(text)
        self._chat.check_valid()
        return self._chat.total


def environment(
    env_id: str, env_kwargs: Mapping[str, Any] | None = None, *, images: bool = False
) -> type[_Environment]:
    """Return a class for ``environment_factory``: its methods are the environment's tools.

    Args:
        env_id: an environment with tools.
        env_kwargs: for ``gymnasium.make``.
        images: whether pictures are shown, as parts of messages, to a model with vision.

    Raises:
        ConfigError: it has no tools, as TRL then plays no second turn, or one whose name TRL needs.
    """
    chat = ChatEnv(env_id, env_kwargs)
    tools = [dict(schema["function"]) for schema in chat.tools]
    chat.close()
    if not tools:
        raise ConfigError(f"{env_id} has no tools, so TRL plays one turn of it; use dataset and pays")
    if taken := [tool["name"] for tool in tools if tool["name"] in ("reset", "get_reward")]:
        raise ConfigError(f"TRL calls {taken[0]} by itself; give that tool of {env_id} another name")
    methods = {
        tool["name"]: tool_method(tool, lambda self, name, given: self._call(name, given)) for tool in tools
    }
    members = {"_env_id": env_id, "_env_kwargs": dict(env_kwargs or {}), "_images": images, **methods}
    return type(env_id.rpartition("/")[2].partition("-")[0], (_Environment,), members)
