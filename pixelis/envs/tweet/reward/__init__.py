"""The reward of a reply to a tweet: heuristic, judge-free, and hard to game.

Names are imported when they are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pixelis.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from pixelis.envs.tweet.reading.weighted_length import weighted_length
    from pixelis.envs.tweet.reward.gates import GATES, GateLimits
    from pixelis.envs.tweet.reward.learned_rewards import EvaluationReward, LearnedReward, hybrid_reward
    from pixelis.envs.tweet.reward.presets import PARTS, WEIGHTS
    from pixelis.envs.tweet.reward.reward import TweetReward
    from pixelis.envs.tweet.reward.settings import Judge, TweetRewardSettings, TweetScore
    from pixelis.envs.tweet.reward.spread import group_spread
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

__getattr__ = lazy_exports(
    __name__,
    {
        "CachedEncoder": "pixelis.rewards.text.encoders",
        "EvaluationReward": "pixelis.envs.tweet.reward.learned_rewards",
        "GATES": "pixelis.envs.tweet.reward.gates",
        "GateLimits": "pixelis.envs.tweet.reward.gates",
        "Judge": "pixelis.envs.tweet.reward.settings",
        "LearnedReward": "pixelis.envs.tweet.reward.learned_rewards",
        "PARTS": "pixelis.envs.tweet.reward.presets",
        "TweetReward": "pixelis.envs.tweet.reward.reward",
        "TweetRewardSettings": "pixelis.envs.tweet.reward.settings",
        "TweetScore": "pixelis.envs.tweet.reward.settings",
        "WEIGHTS": "pixelis.envs.tweet.reward.presets",
        "group_spread": "pixelis.envs.tweet.reward.spread",
        "hybrid_reward": "pixelis.envs.tweet.reward.learned_rewards",
        "weighted_length": "pixelis.envs.tweet.reading.weighted_length",
    },
)
