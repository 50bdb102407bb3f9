"""The toy and the model of the GRPO tests, played by expert iteration."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TOYS = Path(__file__).parents[1] / "grpo"
if str(TOYS) not in sys.path:  # Gymnasium imports "toy_env:Toy/Echo-v0" by name
    sys.path.insert(0, str(TOYS))

from letter_model import build_letter_model  # noqa: E402

from pixelis.agents.expert.config import ExpertConfig  # noqa: E402


@pytest.fixture(scope="session")
def letter_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_letter_model(tmp_path_factory.mktemp("letter_model"))


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
        return ExpertConfig.from_mapping(settings | changes)

    return make
