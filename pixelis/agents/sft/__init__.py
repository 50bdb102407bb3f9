"""Supervised fine-tuning on demonstrations: the warm start before reinforcement learning.

A demonstration is an ordinary `Episode` in which the loss mask marks what the demonstrator said. It comes
from a scripted player that played the environment (`demonstrations`), from a JSONL file of chats
(`load_chats`), or from the policy itself (expert iteration, `pixelis.agents.sft.expert`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pixelis.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from pixelis.agents.sft.chats import load_chats as load_chats
    from pixelis.agents.sft.demonstrate import as_demonstration as as_demonstration
    from pixelis.agents.sft.demonstrate import demonstrations as demonstrations
    from pixelis.agents.sft.learner import SftLearner as SftLearner
    from pixelis.agents.sft.learner import SftSettings as SftSettings
    from pixelis.agents.sft.learner import SftStep as SftStep
    from pixelis.agents.sft.learner import rate_factor as rate_factor
    from pixelis.agents.sft.learner import sft as sft

__getattr__, __dir__, __all__ = lazy_exports(__name__)
