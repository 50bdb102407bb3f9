"""Vector twins of the wrappers, under the same names: each scores the steps of all environments at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pixelis.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from pixelis.wrappers.vector.orchestrator import RewardOrchestrator
    from pixelis.wrappers.vector.record import RecordTrajectory
    from pixelis.wrappers.vector.term_reward import CoherenceReward, CuriosityReward, TermReward, ToolPenalty

__all__ = [
    "CoherenceReward",
    "CuriosityReward",
    "RecordTrajectory",
    "RewardOrchestrator",
    "TermReward",
    "ToolPenalty",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "CoherenceReward": "pixelis.wrappers.vector.term_reward",
        "CuriosityReward": "pixelis.wrappers.vector.term_reward",
        "RecordTrajectory": "pixelis.wrappers.vector.record",
        "RewardOrchestrator": "pixelis.wrappers.vector.orchestrator",
        "TermReward": "pixelis.wrappers.vector.term_reward",
        "ToolPenalty": "pixelis.wrappers.vector.term_reward",
    },
)
