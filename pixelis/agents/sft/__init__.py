"""Supervised fine-tuning on demonstrations: the warm start before reinforcement learning.

A demonstration is an ordinary `Episode` in which the loss mask marks what the demonstrator said. It comes
from a scripted policy that played the environment (`demonstrations`), from a JSONL file of chats
(`load_chats`), or from the policy itself (expert iteration, `pixelis.agents.sft.expert`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pixelis.lazy_exports import lazy_exports

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

__getattr__ = lazy_exports(
    __name__,
    {
        "Learner": "pixelis.agents.sft.learner",
        "SftSettings": "pixelis.agents.sft.learner",
        "SftStep": "pixelis.agents.sft.learner",
        "as_demonstration": "pixelis.agents.sft.demonstrate",
        "demonstrations": "pixelis.agents.sft.demonstrate",
        "load_chats": "pixelis.agents.sft.chats",
        "rate_factor": "pixelis.agents.sft.learner",
        "sft": "pixelis.agents.sft.learner",
    },
)
