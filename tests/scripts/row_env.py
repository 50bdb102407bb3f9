"""Environments that hold nothing out, in three ways; registered on import."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from broken_env import BrokenEnv


class Rows(BrokenEnv):
    """Rows of a small table, drawn by the seed; whoever answers with the row's letter is right.

    Args:
        split: accepted, and of no use.
        turns: how many letters an episode has.
        difficulty: how many letters there are.
    """

    def __init__(self, split: str = "train", turns: int = 1, difficulty: int = 0, **more: Any) -> None:
        super().__init__(**more)
        self.split, self.max_turns, self.difficulty = split, turns, difficulty

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        self.played = (options or {}).get("difficulty", self.difficulty)
        observation, info = super().reset(seed=seed)
        return observation, {**info, "task": {"id": f"row-{seed}", "difficulty": self.played}}

    def step(self, action: str):
        observation, reward, over, truncated, info = super().step(action)
        return observation, reward, over, truncated, {**info, "task": {"difficulty": self.played}}


class Apart(Rows):
    """The same, with other tasks in the split ``test``."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        split = (options or {}).get("split", self.split)
        return super().reset(seed=None if seed is None else 2 * seed + (split == "test"), options=options)

    def _show(self) -> dict[str, str]:
        shown = super()._show()
        return {"text": shown["text"] + " "} if self.seed % 2 else shown


for name, entry in {"Broken/Rows-v0": Rows, "Broken/Apart-v0": Apart}.items():
    if name not in gym.registry:
        gym.register(name, entry_point=entry)
