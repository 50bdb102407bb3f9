"""Task source: levels of the families, drawn from a seed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pixelis.envs.tasks import Task
from pixelis.envs.web.families.family import draw_level, families
from pixelis.envs.web.sites.levels import DIFFICULTIES, WebDifficulty, WebLevel
from pixelis.errors import TaskError, shown, suggest

FAMILY = "web_browse"
MIX = "mix"


class WebTasks:
    """Draws levels.

    Args:
        names: the families to draw from.
        dials: what the levels' difficulty is, unless it is asked for as an integer.
    """

    family = FAMILY
    difficulties = DIFFICULTIES

    def __init__(self, names: Sequence[str], dials: WebDifficulty) -> None:
        self.names, self.dials = tuple(names), dials

    def sample(self, rng: np.random.Generator, difficulty: int, split: str) -> Task:
        """Draw a level; ``difficulty`` stands for its usual dials, or the vector that was given with it."""
        vector = self.dials if self.dials.difficulty == difficulty else WebDifficulty.of(difficulty)
        return self.draw(rng, vector, split, self.names)

    def draw(self, rng: np.random.Generator, vector: WebDifficulty, split: str, names: Sequence[str]) -> Task:
        """Draw a level of one of some families with a difficulty vector."""
        name = names[int(rng.integers(len(names)))]
        seed = int(rng.integers(2**48))
        return task_of(draw_level(families()[name], seed, vector, split), seed, split)


def task_of(level: WebLevel, seed: int, split: str) -> Task:
    """Return the task of playing a level."""
    truth = str(level.answer["truth"]) if level.answer else ""
    name = f"{FAMILY}-{level.family}-{level.difficulty.difficulty}-{split}-{seed:x}"
    return Task(name, FAMILY, level.difficulty.difficulty, split, level.instruction, truth, level.to_json())


def level_of(task: Task) -> WebLevel:
    """Return the level that a task plays.

    Raises:
        TaskError: the task's data are no level.
    """
    level = WebLevel.from_json(task.data, task.question)
    if level.family not in families():
        raise TaskError(f"there is no family {shown(level.family, 60)}.{suggest(level.family, families())}")
    return level
