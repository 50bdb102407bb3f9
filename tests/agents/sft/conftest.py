"""Settings of short SFT runs on the spelling toy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pixelis.agents.settings.plain import merged
from pixelis.agents.settings.sft import SftConfig


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
        return SftConfig.from_mapping(merged(settings, changes))

    return make
