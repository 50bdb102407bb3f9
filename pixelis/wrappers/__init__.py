"""Gymnasium wrappers: reward terms of `pixelis.rewards`, a recorder, and turns as numbers.

Vector twins have the same names in ``pixelis.wrappers.vector``. Names are imported when they are used;
``import pixelis.wrappers`` stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

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

_HOMES = {
    "CoherenceReward": "term_reward",
    "CuriosityReward": "term_reward",
    "DiscreteToolActions": "discrete_tool_actions",
    "RecordTrajectory": "record",
    "Replayer": "recording.replay",
    "RewardOrchestrator": "orchestrator",
    "TermReward": "term_reward",
    "ToolPenalty": "term_reward",
    "read_trajectories": "recording.files",
    "rescore": "recording.rescore",
    "wrap": "stacking",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
