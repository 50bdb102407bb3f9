"""Supervised fine-tuning on demonstrations: the warm start before reinforcement learning.

A demonstration is an ordinary `Episode` in which the loss mask marks what the demonstrator said. It comes
from a scripted policy that played the environment (`demonstrations`), from a JSONL file of chats (`chats`), or
from the policy itself (expert iteration, `pixelis.agents.expert`).
"""

from __future__ import annotations

from pixelis.agents.sft.chats import load_chats
from pixelis.agents.sft.demonstrations import as_demonstration, demonstrations
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
