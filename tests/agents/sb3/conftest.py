"""Runs of a few seconds on a real environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pixelis.agents.sb3.config import Sb3Config

TINY: dict[str, Any] = {
    "env": "Pixelis/SizeCompare-v0",
    "env_kwargs": {"reader": "truth", "max_turns": 3},
    "difficulty": 0,
    "action_kwargs": {"grid": 2},
    "channels": 2,
    "features": 8,
    "hidden": 16,
    "n_envs": 2,
    "n_steps": 6,
    "batch_size": 6,
    "epochs": 1,
    "groups": 1,
    "group_size": 4,
    "learning_starts": 6,
    "buffer_size": 40,
    "target_every": 10,
    "exploration_steps": 30,
    "steps": 2,
    "eval_episodes": 2,
    "checkpoint_every": 1,
    "sample_every": 2,
}


@pytest.fixture
def tiny(tmp_path: Path):
    """Return a function that makes the settings of a tiny run."""

    def make(**values: Any) -> Sb3Config:
        return Sb3Config(**{**TINY, "output": str(tmp_path / "run"), **values})

    return make
