"""Gymnasium wrappers: reward terms of `pixelis.rewards`, a recorder, and turns as numbers.

Vector twins have the same names in ``pixelis.wrappers.vector``. Names are imported when they are used;
``import pixelis.wrappers`` stays light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pixelis.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from pixelis.wrappers.discrete.discrete_tool_actions import DiscreteToolActions
    from pixelis.wrappers.recording.files import read_trajectories
    from pixelis.wrappers.recording.record import RecordTrajectory
    from pixelis.wrappers.recording.replay import Replayer
    from pixelis.wrappers.recording.rescore import rescore
    from pixelis.wrappers.reward.orchestrator import RewardOrchestrator
    from pixelis.wrappers.reward.term_reward import CoherenceReward, CuriosityReward, TermReward, ToolPenalty
    from pixelis.wrappers.stacking import wrap

__all__ = [
    "CoherenceReward",
    "CuriosityReward",
    "DiscreteToolActions",
    "RecordTrajectory",
    "Replayer",
    "RewardOrchestrator",
    "TermReward",
    "ToolPenalty",
    "read_trajectories",
    "rescore",
    "wrap",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "CoherenceReward": "pixelis.wrappers.reward.term_reward",
        "CuriosityReward": "pixelis.wrappers.reward.term_reward",
        "DiscreteToolActions": "pixelis.wrappers.discrete.discrete_tool_actions",
        "RecordTrajectory": "pixelis.wrappers.recording.record",
        "Replayer": "pixelis.wrappers.recording.replay",
        "RewardOrchestrator": "pixelis.wrappers.reward.orchestrator",
        "TermReward": "pixelis.wrappers.reward.term_reward",
        "ToolPenalty": "pixelis.wrappers.reward.term_reward",
        "read_trajectories": "pixelis.wrappers.recording.files",
        "rescore": "pixelis.wrappers.recording.rescore",
        "wrap": "pixelis.wrappers.stacking",
    },
)
