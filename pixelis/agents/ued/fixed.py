"""Samplers that learn nothing: the environment's own dials, and the two baselines."""

from __future__ import annotations

from typing import ClassVar

from pixelis.agents.ued.sampler import SAMPLERS, Ask, Draw, LevelSampler
from pixelis.agents.ued.space import Level


class OwnLevels(LevelSampler):
    """Fresh seeds; the dials stay where the environment and its reset options have them."""

    uses_dials: ClassVar[bool] = False

    def draw(self, ask: Ask) -> list[Draw]:
        """Return new levels."""
        return [Draw(Level((), seed)) for seed in ask.seeds[: ask.count]]


class Uniform(LevelSampler):
    """Fresh levels; every cell that exists is equally likely."""

    def draw(self, ask: Ask) -> list[Draw]:
        """Return new levels."""
        return [Draw(Level(self.space.draw(ask.rng), seed)) for seed in ask.seeds[: ask.count]]


class DomainRandom(LevelSampler):
    """Domain randomisation: fresh levels, every dial at random by itself (see `LevelSpace.draw_by_dial`).

    Source: Tobin et al. 2017 (arXiv 1703.06907), section III.
    """

    def draw(self, ask: Ask) -> list[Draw]:
        """Return new levels."""
        return [Draw(Level(self.space.draw_by_dial(ask.rng), seed)) for seed in ask.seeds[: ask.count]]


SAMPLERS.register("none")(OwnLevels)


SAMPLERS.register("uniform")(Uniform)


SAMPLERS.register("domain_random")(DomainRandom)
