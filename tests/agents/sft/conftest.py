"""A model small enough to learn in seconds, and the toy it learns."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
for folder in (HERE, HERE.parent / "grpo"):  # Gymnasium imports "spell_env:Toy/Spell-v0" by name
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from letter_model import build_letter_model  # noqa: E402

from pixelis.agents.sft.config import SftConfig  # noqa: E402


@pytest.fixture(scope="session")
def letter_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_letter_model(tmp_path_factory.mktemp("letter_model"))


@pytest.fixture
def sft_config(letter_model: Path, tmp_path: Path) -> Callable[..., SftConfig]:
    def make(**changes: Any) -> SftConfig:
        settings = {
            "env": "spell_env:Toy/Spell-v0",
            "model": str(letter_model),
            "output": str(tmp_path / "run"),
            "demonstrations": 48,
            "batch_size": 8,
            "max_new_tokens": 5,
            "steps": 6,
            "eval_every": 3,
            "lr": 0.01,
            "eval_episodes": 0,
        }
        return SftConfig.from_mapping(settings | changes)

    return make
