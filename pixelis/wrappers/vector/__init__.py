"""Vector twins of the wrappers, under the same names: each scores the steps of all environments at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pixelis.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from pixelis.wrappers.vector.orchestrator import RewardOrchestrator as RewardOrchestrator
    from pixelis.wrappers.vector.record import RecordTrajectory as RecordTrajectory
    from pixelis.wrappers.vector.term_reward import CoherenceReward as CoherenceReward
    from pixelis.wrappers.vector.term_reward import CuriosityReward as CuriosityReward
    from pixelis.wrappers.vector.term_reward import TermReward as TermReward
    from pixelis.wrappers.vector.term_reward import ToolPenalty as ToolPenalty

__getattr__, __dir__, __all__ = lazy_exports(__name__)
