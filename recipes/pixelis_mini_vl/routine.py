"""A demonstrator of an environment: a short routine, played carefully or with one of its flaws."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from pixelis.envs.pixel.drawing.codes import CODE_ALPHABET, CODE_LENGTH
from pixelis.envs.tool_env import ToolEnv

_LINE = re.compile(r"^(.+) \[([\d.]+), ([\d.]+), ([\d.]+), ([\d.]+)\]$")

Habits = Mapping[str, float]


class Routine:
    """Plays one episode by one habit.

    Args:
        env: an environment whose episode has begun.
        habit: a key of ``habits``.
        rng: for what the routine does at random.

    Attributes:
        habits: habit → its share among the demonstrations.
    """

    habits: ClassVar[Habits]

    def __init__(self, env: ToolEnv[Any], habit: str, rng: np.random.Generator) -> None:
        assert env.task is not None  # a player plays an episode that has begun
        self.env, self.habit, self.rng, self.task = env, habit, rng, env.task
        self.turn = 0
        self.begin()

    def begin(self) -> None:
        """Look at the task."""

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
        """Return the next turn."""
        self.turn += 1
        return self.say(observation["text"], info)

    def say(self, text: str, info: Mapping[str, Any]) -> str:
        """Return turn number ``turn``, counted from 1, after what the tools said."""
        raise NotImplementedError

    def random_code(self) -> str:
        """Return a code that was not read anywhere."""
        return "".join(self.rng.choice(list(CODE_ALPHABET), CODE_LENGTH))


def lines_of(text: str) -> list[tuple[str, list[float]]]:
    """Return the lines of READ_TEXT in an observation with their boxes, 0-1."""
    found = (_LINE.match(line) for line in text.splitlines())
    rows = ((match[1], [float(match[i]) for i in range(2, 6)]) for match in found if match)
    return [row for row in rows if row[0] != "View"]


def near(value: float, step: float = 0.05) -> float:
    """Return the nearest multiple of a step, at most two decimals."""
    return round(round(value / step) * step, 2)
