"""Choosing the levels that are trained on: unsupervised environment design for every environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pixelis.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from pixelis.agents.ued.sampler import SAMPLERS as SAMPLERS
    from pixelis.agents.ued.sampler import LevelOutcome as LevelOutcome
    from pixelis.agents.ued.sampler import LevelRequest as LevelRequest
    from pixelis.agents.ued.sampler import LevelSampler as LevelSampler
    from pixelis.agents.ued.sampler import SampledLevel as SampledLevel
    from pixelis.agents.ued.space import Level as Level
    from pixelis.agents.ued.space import LevelSpace as LevelSpace
    from pixelis.agents.ued.space import level_space as level_space

__getattr__, __dir__, __all__ = lazy_exports(__name__)
