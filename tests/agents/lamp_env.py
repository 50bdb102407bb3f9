"""Somebody's environment in a file of its own: its own tools and words, and an answer that is confirmed."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import gymnasium as gym
import numpy as np

from pixelis.envs.tasks import Task
from pixelis.envs.tool_env import ToolEnv
from pixelis.envs.tools import Tool, ToolOutput, Toolset
from pixelis.envs.verdict import FinalAnswer, exact_answer
from pixelis.rewards.terms.traits import ToolTraits

GLOWS = ("mauve", "ochre")
SIDE = 96
_BOX = {"type": "array", "items": {"type": "number"}, "minItems": 4, "maxItems": 4}


class Lamps:
    """Task source: two lamps, one of which shines."""

    family = "lamps"
    difficulties = range(1)

    def sample(self, rng: np.random.Generator, difficulty: int, split: str) -> Task:
        """Draw which lamp shines."""
        answer = GLOWS[int(rng.integers(2))]
        return Task("lamps", self.family, difficulty, split, "Which lamp shines: mauve or ochre?", answer, {})


def _peek(task: Task, arguments: Any) -> ToolOutput:
    row = {"region": 1, "colour": task.answer, "area": 0.25, "box": [0.5, 0.5, 1.0, 1.0]}
    return ToolOutput("one lamp shines", {"regions": [row]})


TOOLS = (
    Tool("UNLOCK", "Open the room.", {}, lambda task, _: "It is open.", ToolTraits(leads_to=("PEEK",))),
    Tool(
        "PEEK",
        "Look into the room.",
        {"properties": {"box": _BOX}},
        _peek,
        ToolTraits(limit=2, requires="UNLOCK", visual=True),
    ),
    Tool("PONDER", "Wait.", {}, lambda task, _: None, ToolTraits(no_op=True)),
)


class LampEnv(ToolEnv[Task]):
    """Say which lamp shines, and confirm it with ``<answer>yes</answer>``; ``bribe`` is not accepted."""

    task_gap = 1.0
    vocabulary = (*GLOWS, "lamp")
    scorers = MappingProxyType({"brevity": "lamp_env:Brevity"})

    def __init__(self, max_turns: int = 8) -> None:
        super().__init__(
            source=Lamps(),
            toolset=Toolset(TOOLS, self._open),
            verifier=lambda task, answer, _: exact_answer(task, self.said, None),
            max_turns=max_turns,
            image_size=SIDE,
        )

    def _open(self, task: Task) -> Task:
        self.said: str | None = None
        return task

    def hear(self, answer: str) -> str | None:
        """Ask once whether the agent is sure."""
        if self.said is not None:
            return None
        self.said = answer
        return "Are you sure?"

    def final_answer(self) -> FinalAnswer:
        """Return what was said first, not the confirmation."""
        return FinalAnswer(self.said or "", self.said != "bribe")

    def observe_image(self) -> np.ndarray:
        """Return a dark room."""
        return np.zeros((SIDE, SIDE, 3), np.uint8)


class Brevity:
    """Scores episodes by how few turns they took."""

    def __call__(self, episodes: Any) -> list[float]:
        """Return 1 / turns for each episode."""
        return [1 / episode.turns for episode in episodes]


gym.register(id="Toy/Lamps-v0", entry_point=LampEnv)
