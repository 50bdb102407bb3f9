"""A toy of two bars: SEGMENT tells their areas, the larger is the answer. Milliseconds an episode."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from pixelis.envs.pixel.tools.words import QUESTION_WORDS
from pixelis.envs.tasks import Task
from pixelis.envs.tool_env import ToolEnv, Verdict
from pixelis.envs.tools import Tool, ToolOutput, Toolset

COLOURS = ("red", "blue")
SIDE = 96


class Bars:
    family = "bars"
    difficulties = range(1)

    def sample(self, rng: np.random.Generator, difficulty: int, split: str) -> Task:
        number = int(rng.integers(2**30)) * 2 + (split == "test")
        draw = np.random.default_rng(number)
        order = draw.permutation(COLOURS).tolist()
        widths = dict(zip(COLOURS, draw.choice([0.2, 0.3, 0.4, 0.5], 2, replace=False).tolist(), strict=True))
        return Task(
            id=str(number),
            family=self.family,
            difficulty=difficulty,
            split=split,
            question=f"Which is larger: {order[0]} or {order[1]}?",
            answer=max(COLOURS, key=widths.__getitem__),
            data={"widths": widths},
        )


def _segment(task: Task, arguments: Any) -> ToolOutput:
    rows = [
        {
            "region": i,
            "colour": colour,
            "area": 0.2 * width,
            "box": [0.1, 0.3 * i, 0.1 + width, 0.3 * i + 0.2],
        }
        for i, (colour, width) in enumerate(task.data["widths"].items(), 1)
    ]
    return ToolOutput("two bars", {"regions": rows})


def _verify(task: Task, answer: str | None, workspace: Any) -> Verdict:
    success = answer == task.answer
    return Verdict(success, {"task": float(success)})


class BarsEnv(ToolEnv[Task]):
    vocabulary = QUESTION_WORDS

    def __init__(self, difficulty: int = 0, split: str = "train", max_turns: int = 3) -> None:
        point = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}
        tool: Tool[Task] = Tool("SEGMENT", "List the bars.", {"properties": {"point": point}}, _segment)
        super().__init__(
            source=Bars(),
            toolset=Toolset([tool], lambda task: task),
            verifier=_verify,
            max_turns=max_turns,
            difficulty=difficulty,
            split=split,
            image_size=SIDE,
        )

    def observe_image(self) -> np.ndarray:
        return np.full((SIDE, SIDE, 3), 128, np.uint8)


gym.register(id="Toy/Bars-v0", entry_point=BarsEnv)
