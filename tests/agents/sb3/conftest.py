"""Runs of a few seconds on a real environment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
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
    "batch_size": 6,
    "steps": 2,
    "eval_episodes": 2,
    "checkpoint_every": 1,
    "sample_every": 2,
}
AGENTS = {
    "sb3-ppo": {"n_steps": 6, "epochs": 1},
    "sb3-dqn": {
        "n_steps": 6,
        "train_every": 3,
        "learning_starts": 6,
        "buffer_size": 40,
        "target_every": 10,
        "exploration_steps": 30,
    },
    "sb3-grpo": {"epochs": 1, "groups": 1, "group_size": 4},
}


@pytest.fixture
def tiny(tmp_path: Path):
    """Return a function that makes the settings of a tiny run."""

    def make(
        agent: str = "sb3-ppo", how: Mapping[str, Any] = MappingProxyType({}), **values: Any
    ) -> Sb3Config:
        chosen = {"type": agent, **AGENTS[agent], **how}
        return Sb3Config(**{**TINY, "output": str(tmp_path / "run"), "agent": chosen, **values})

    return make
