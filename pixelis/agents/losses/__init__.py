"""The maths of the losses as pure functions: advantages, ratios, surrogates, KL, aggregation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pixelis.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from pixelis.agents.losses.advantages import ADVANTAGES as ADVANTAGES
    from pixelis.agents.losses.advantages import group_advantages as group_advantages
    from pixelis.agents.losses.advantages import zero_variance_groups as zero_variance_groups
    from pixelis.agents.losses.aggregation import AGGREGATIONS as AGGREGATIONS
    from pixelis.agents.losses.aggregation import StepCounts as StepCounts
    from pixelis.agents.losses.correction import CORRECTIONS as CORRECTIONS
    from pixelis.agents.losses.kl import KL_ESTIMATORS as KL_ESTIMATORS
    from pixelis.agents.losses.loss import LossInputs as LossInputs
    from pixelis.agents.losses.loss import LossOutputs as LossOutputs
    from pixelis.agents.losses.loss import LossSettings as LossSettings
    from pixelis.agents.losses.loss import grpo_loss as grpo_loss
    from pixelis.agents.losses.ratio import RATIOS as RATIOS
    from pixelis.agents.losses.surrogate import SURROGATES as SURROGATES
    from pixelis.agents.losses.surrogate import Surrogate as Surrogate
    from pixelis.agents.losses.surrogate import SurrogateConstants as SurrogateConstants
    from pixelis.agents.losses.surrogate import SurrogateInputs as SurrogateInputs

__getattr__, __dir__, __all__ = lazy_exports(__name__)
