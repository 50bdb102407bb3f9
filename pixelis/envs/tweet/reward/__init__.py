"""The reward of a reply to a tweet: heuristic, judge-free, and hard to game.

Names are imported when they are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pixelis.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from pixelis.envs.tweet.reading.weighted_length import weighted_length as weighted_length
    from pixelis.envs.tweet.reward.gates import GATES as GATES
    from pixelis.envs.tweet.reward.gates import GateLimits as GateLimits
    from pixelis.envs.tweet.reward.learned_rewards import EvaluationReward as EvaluationReward
    from pixelis.envs.tweet.reward.learned_rewards import LearnedReward as LearnedReward
    from pixelis.envs.tweet.reward.learned_rewards import fluent_reward as fluent_reward
    from pixelis.envs.tweet.reward.learned_rewards import hybrid_reward as hybrid_reward
    from pixelis.envs.tweet.reward.presets import PARTS as PARTS
    from pixelis.envs.tweet.reward.presets import WEIGHTS as WEIGHTS
    from pixelis.envs.tweet.reward.reward import TweetReward as TweetReward
    from pixelis.envs.tweet.reward.settings import Judge as Judge
    from pixelis.envs.tweet.reward.settings import TweetRewardSettings as TweetRewardSettings
    from pixelis.envs.tweet.reward.settings import TweetScore as TweetScore
    from pixelis.rewards.text.encoders import CachedEncoder as CachedEncoder

__getattr__, __dir__, __all__ = lazy_exports(__name__)
