"""Samplers that learn nothing: all values of the dials alike."""

from __future__ import annotations

from pixelis.agents.ued.sampler import SAMPLERS, LevelRequest, LevelSampler, SampledLevel
from pixelis.agents.ued.space import Level


@SAMPLERS.register("uniform")
class Uniform(LevelSampler):
    """Fresh levels; every cell that exists is equally likely."""

    def draw(self, request: LevelRequest) -> list[SampledLevel]:
        """Return new levels."""
        return [
            SampledLevel(Level(self.space.draw(request.rng), seed)) for seed in request.seeds[: request.count]
        ]


@SAMPLERS.register("domain_random")
class DomainRandom(LevelSampler):
    """Domain randomisation: fresh levels, every dial at random by itself (see `LevelSpace.draw_by_dial`).

    Source: Tobin et al. 2017 (arXiv 1703.06907), section III.
    """

    def draw(self, request: LevelRequest) -> list[SampledLevel]:
        """Return new levels."""
        return [
            SampledLevel(Level(self.space.draw_by_dial(request.rng), seed))
            for seed in request.seeds[: request.count]
        ]
