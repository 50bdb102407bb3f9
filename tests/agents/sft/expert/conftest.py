"""Settings of short expert iteration runs on the echo toy of the GRPO tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pixelis.agents.settings.expert import ExpertConfig
from pixelis.agents.settings.plain import merged


@pytest.fixture
def expert_config(letter_model: Path, tmp_path: Path) -> Callable[..., ExpertConfig]:
    def make(**changes: Any) -> ExpertConfig:
        settings = {
            "env": "toy_env:Toy/Echo-v0",
            "model": str(letter_model),
            "output": str(tmp_path / "run"),
            "groups": 8,
            "group_size": 8,
            "max_new_tokens": 1,
            "steps": 4,
            "lr": 0.003,
            "eval_episodes": 0,
            "checkpoint_every": 1000,
        }
        return ExpertConfig.from_mapping(merged(settings, changes))

    return make
