"""Vector twins of the wrappers, under the same names: each scores the steps of all environments at once."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pixelis.wrappers.vector.orchestrator import RewardOrchestrator
    from pixelis.wrappers.vector.term_reward import CoherenceReward, CuriosityReward, TermReward, ToolPenalty

__all__ = ["CoherenceReward", "CuriosityReward", "RewardOrchestrator", "TermReward", "ToolPenalty"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "orchestrator" if name == "RewardOrchestrator" else "term_reward"
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)
