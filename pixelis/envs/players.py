"""Scripted players every environment can offer: floors to compare an agent with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pixelis.envs.tool_listing import called

if TYPE_CHECKING:
    from pixelis.envs.tool_env import ToolEnv


class ScriptedPlayer(Protocol):
    """Chooses a turn from an observation and its ``info``; one object plays one episode."""

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return the next assistant turn."""
        ...


class NothingPlayer:
    """Says nothing, every turn."""

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return the empty turn."""
        return ""


class AnswerPlayer:
    """Says the task's answer, which is empty where nobody knows one."""

    def __init__(self, env: ToolEnv[Any]) -> None:
        self._env = env

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return it."""
        return "" if self._env.task is None else self._env.task.answer


class RandomPlayer:
    """Calls tools at random with arguments drawn from their schemas; now and then answers with a random code.

    Deterministic in the task: its generator is seeded with the task's hash.
    """

    answer_probability = 0.15

    def __init__(self, env: ToolEnv[Any]) -> None:
        self._schemas = env.toolset.schemas()
        self._rng: np.random.Generator | None = None

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return a random call or answer."""
        if self._rng is None:
            self._rng = np.random.default_rng(int(info["task"]["hash"], 16))
        if not self._schemas or self._rng.random() < self.answer_probability:
            letters = self._rng.choice(list("ABCDEFGHJKLMNPQRSTUVWXYZ0123456789"), size=4)
            return f"<answer>{''.join(letters)}</answer>"
        function = self._schemas[self._rng.integers(len(self._schemas))]["function"]
        return called(function["name"], self._arguments(function["parameters"]))

    def _arguments(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        required = schema.get("required", ())
        return {
            name: self._value(kind)
            for name, kind in schema.get("properties", {}).items()
            if name in required or self._rng_bool()
        }

    def _value(self, schema: Mapping[str, Any]) -> Any:
        assert self._rng is not None  # act() has made it
        if "enum" in schema:
            return schema["enum"][self._rng.integers(len(schema["enum"]))]
        low, high = schema.get("minimum", 0), schema.get("maximum", 1)
        match schema.get("type"):
            case "array":
                return [self._value(schema.get("items", {})) for _ in range(schema.get("maxItems", 2))]
            case "integer":
                return int(self._rng.integers(low, high + 1))
            case "number":
                return round(float(self._rng.uniform(low, high)), 2)
            case "boolean":
                return self._rng_bool()
            case _:
                return "text"

    def _rng_bool(self) -> bool:
        assert self._rng is not None  # act() has made it
        return bool(self._rng.random() < 0.5)


def nothing_player(env: ToolEnv[Any]) -> ScriptedPlayer:
    """Return the do-nothing player; ``env`` is not needed."""
    return NothingPlayer()


def random_player(env: ToolEnv[Any]) -> ScriptedPlayer:
    """Return the random player over ``env``'s tools."""
    return RandomPlayer(env)
