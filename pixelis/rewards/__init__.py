"""Reward terms: pure functions of what happened, with no import of an environment or of Gymnasium.

Names are imported when they are used; ``import pixelis.rewards`` stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pixelis.rewards.curiosity.term import CuriosityTerm, InverseModel, LoRADynamicsModel
    from pixelis.rewards.stack.stack import RewardStack, build_stack
    from pixelis.rewards.terms.registry import make_term
    from pixelis.rewards.terms.term import RewardTerm, Transition

__all__ = [
    "CuriosityTerm",
    "InverseModel",
    "LoRADynamicsModel",
    "RewardStack",
    "RewardTerm",
    "Transition",
    "build_stack",
    "make_term",
]

_HOMES = {
    "CuriosityTerm": "curiosity",
    "InverseModel": "curiosity",
    "LoRADynamicsModel": "curiosity",
    "RewardStack": "stack",
    "RewardTerm": "term",
    "Transition": "term",
    "build_stack": "stack",
    "make_term": "registry",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
