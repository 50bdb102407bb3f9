"""Reward terms: pure functions of what happened, with no import of an environment or of Gymnasium.

Names are imported when they are used; ``import pixelis.rewards`` stays light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pixelis.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from pixelis.rewards.curiosity.dynamics import InverseModel, LoRADynamicsModel
    from pixelis.rewards.curiosity.term import CuriosityTerm
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

__getattr__ = lazy_exports(
    __name__,
    {
        "CuriosityTerm": "pixelis.rewards.curiosity.term",
        "InverseModel": "pixelis.rewards.curiosity.dynamics",
        "LoRADynamicsModel": "pixelis.rewards.curiosity.dynamics",
        "RewardStack": "pixelis.rewards.stack.stack",
        "RewardTerm": "pixelis.rewards.terms.term",
        "Transition": "pixelis.rewards.terms.term",
        "build_stack": "pixelis.rewards.stack.stack",
        "make_term": "pixelis.rewards.terms.registry",
    },
)
