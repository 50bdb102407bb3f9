"""What the scripted players of every pixel environment are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pixelis.envs.tool_listing import called


def call(name: str, **arguments: Any) -> str:
    """Return the text of one tool call."""
    return called(name, arguments)


def answer(text: str) -> str:
    """Return the text of an answer."""
    return f"<answer>{text}</answer>"


class FixedTurns:
    """Says the same turns in every episode, then nothing."""

    def __init__(self, turns: Sequence[str]) -> None:
        self._turns = iter(turns)

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return the next turn."""
        return next(self._turns, "")


class ParrotQuestionPlayer:
    """Answers with the question itself."""

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return the question as the answer."""
        return answer(observation["text"])
