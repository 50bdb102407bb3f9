"""Gymnasium wrappers: they put the terms of `pixelis.rewards` on any environment and know none by name.

Names are imported when they are used; ``import pixelis.wrappers`` stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pixelis.wrappers.orchestrator import RewardOrchestrator
    from pixelis.wrappers.stacking import wrap
    from pixelis.wrappers.term_reward import CoherenceReward, CuriosityReward, TermReward, ToolPenalty

__all__ = ["CoherenceReward", "CuriosityReward", "RewardOrchestrator", "TermReward", "ToolPenalty", "wrap"]

_HOMES = {
    "CoherenceReward": "term_reward",
    "CuriosityReward": "term_reward",
    "RewardOrchestrator": "orchestrator",
    "TermReward": "term_reward",
    "ToolPenalty": "term_reward",
    "wrap": "stacking",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
