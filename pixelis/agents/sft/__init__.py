"""Supervised fine-tuning on demonstrations: the warm start before reinforcement learning.

A demonstration is an ordinary `Episode` in which the loss mask marks what the demonstrator said. It comes
from a scripted policy that played the environment (`demonstrations`), from a JSONL file of chats
(`load_chats`), or from the policy itself (expert iteration, `pixelis.agents.sft.expert`).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pixelis.agents.sft.chats import load_chats
    from pixelis.agents.sft.demonstrate import as_demonstration, demonstrations
    from pixelis.agents.sft.learner import Learner, SftSettings, SftStep, rate_factor, sft

__all__ = [
    "Learner",
    "SftSettings",
    "SftStep",
    "as_demonstration",
    "demonstrations",
    "load_chats",
    "rate_factor",
    "sft",
]

_HOMES = {"load_chats": "chats", "as_demonstration": "demonstrate", "demonstrations": "demonstrate"}


def __getattr__(name: str) -> Any:
    """Import what is asked for: a command's settings are read without waiting for torch."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES.get(name, 'learner')}"), name)
