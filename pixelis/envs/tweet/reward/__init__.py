"""The reward of a reply to a tweet: heuristic, judge-free, and hard to game.

Names are imported when they are used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pixelis.envs.tweet.learned.rewards import EvaluationReward, LearnedReward, hybrid_reward
    from pixelis.envs.tweet.reward.gates import GATES, GateLimits
    from pixelis.envs.tweet.reward.presets import PARTS, WEIGHTS
    from pixelis.envs.tweet.reward.reward import TweetReward
    from pixelis.envs.tweet.reward.settings import Judge, TweetRewardSettings, TweetScore
    from pixelis.envs.tweet.reward.spread import group_spread
    from pixelis.envs.tweet.reward.weighted_length import weighted_length
    from pixelis.rewards.text.encoders import CachedEncoder

__all__ = [
    "GATES",
    "PARTS",
    "WEIGHTS",
    "CachedEncoder",
    "EvaluationReward",
    "GateLimits",
    "Judge",
    "LearnedReward",
    "TweetReward",
    "TweetRewardSettings",
    "TweetScore",
    "group_spread",
    "hybrid_reward",
    "weighted_length",
]

_HOMES = {
    "GATES": "gates",
    "GateLimits": "gates",
    "PARTS": "presets",
    "WEIGHTS": "presets",
    "CachedEncoder": "encoders",
    "EvaluationReward": "learned.rewards",
    "LearnedReward": "learned.rewards",
    "hybrid_reward": "learned.rewards",
    "TweetReward": "reward",
    "Judge": "settings",
    "TweetRewardSettings": "settings",
    "TweetScore": "settings",
    "group_spread": "spread",
    "weighted_length": "weighted_length",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
