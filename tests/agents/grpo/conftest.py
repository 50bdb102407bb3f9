"""A model small enough to learn in seconds, and the toy it learns."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
if str(HERE) not in sys.path:  # Gymnasium imports "toy_env:Toy/Echo-v0" by name
    sys.path.insert(0, str(HERE))

from letter_model import build_letter_model  # noqa: E402

from pixelis.agents.episode import Episode, Segment  # noqa: E402
from pixelis.agents.grpo.config import TrainConfig  # noqa: E402


@pytest.fixture(scope="session")
def letter_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_letter_model(tmp_path_factory.mktemp("letter_model"))


@pytest.fixture
def toy_config(letter_model: Path, tmp_path: Path) -> Callable[..., TrainConfig]:
    def make(**changes: Any) -> TrainConfig:
        settings = {
            "env": "toy_env:Toy/Echo-v0",
            "model": str(letter_model),
            "output": str(tmp_path / "run"),
            "groups": 4,
            "group_size": 4,
            "max_new_tokens": 2,
            "steps": 3,
            "lr": 0.01,
            "beta": 0.01,
            "eval_episodes": 0,
        }
        return TrainConfig.from_mapping(settings | changes)

    return make


@pytest.fixture
def play() -> Callable[..., Episode]:
    """Return a maker of episodes that were never played: a prompt of two tokens, then sampled ones."""

    def make(
        reward: float = 0.0, *, group: int = 0, member: int = 0, sampled: int = 3, **fields: Any
    ) -> Episode:
        segments = [Segment.given([1, 2]), Segment.written([3] * sampled, [-0.5] * sampled)]
        return Episode("Toy/Echo-v0", 7, group, member, segments, reward=reward, **fields)

    return make
