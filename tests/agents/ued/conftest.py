"""Spaces, settings and outcomes of levels that nobody played."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.ued.sampler import LevelOutcome, LevelRequest, SampledLevel
from pixelis.agents.ued.space import Level, LevelSpace


@pytest.fixture
def line() -> LevelSpace:
    """Four difficulties."""
    return LevelSpace({"difficulty": range(4)})


@pytest.fixture
def families() -> LevelSpace:
    """Two families of three and of one difficulty."""
    dials = {"family": ("shop", "mail"), "difficulty": (1, 2, 3)}
    return LevelSpace(dials, lambda level: level["family"] == "shop" or level["difficulty"] == 1)


@pytest.fixture
def settings() -> Callable[..., TrainConfig]:
    """Return a maker of settings, with four groups of four."""
    return lambda kind="plr", groups=4, **dials: TrainConfig(groups=groups, levels={"type": kind, **dials})


@pytest.fixture
def level_request() -> Callable[..., LevelRequest]:
    """Return a maker of what a sampler is asked for; ``step`` decides all that is random."""

    def make(count: int = 4, step: int = 0, refill: bool = False, extra: int = 0) -> LevelRequest:
        seeds = [1000 * step + place for place in range(count + extra)]
        return LevelRequest(count, seeds, np.random.default_rng(step), refill)

    return make


@pytest.fixture
def outcome() -> Callable[..., LevelOutcome]:
    """Return a maker of outcomes: k successes of G, each worth 1."""

    def make(
        cell: tuple[int, ...] = (0,), seed: int = 0, successes: int = 2, members: int = 4, **fields: Any
    ) -> LevelOutcome:
        draw = SampledLevel(Level(cell, seed), fields.pop("trained", True), fields.pop("origin", "fresh"))
        returns = tuple([1.0] * successes + [0.0] * (members - successes))
        return LevelOutcome(draw, returns, returns, successes, fields.pop("oracle", None))

    return make
