"""Vector twins of the wrappers, under the same names: each scores the steps of all environments at once."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

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

_HOMES = {"RecordTrajectory": "record", "RewardOrchestrator": "orchestrator"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES.get(name, 'term_reward')}"), name)
