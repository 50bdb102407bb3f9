"""What this package takes from stable-baselines3, in one place: the extra ``sb3`` may not be installed."""

from __future__ import annotations

from pixelis.errors import MissingDependencyError

try:
    from stable_baselines3 import DQN, PPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.distributions import MultiCategoricalDistribution
    from stable_baselines3.common.logger import Logger
    from stable_baselines3.common.policies import BasePolicy, MultiInputActorCriticPolicy
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
    from stable_baselines3.common.utils import obs_as_tensor
    from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv, VecTransposeImage
except ImportError as error:
    raise MissingDependencyError(
        f"the agents sb3-ppo, sb3-dqn and sb3-grpo need stable-baselines3 ({error}); "
        "install it with: pip install 'pixelis[sb3]'"
    ) from error

__all__ = [
    "DQN",
    "PPO",
    "BaseCallback",
    "BaseFeaturesExtractor",
    "BasePolicy",
    "DummyVecEnv",
    "Logger",
    "MultiCategoricalDistribution",
    "MultiInputActorCriticPolicy",
    "SubprocVecEnv",
    "VecEnv",
    "VecTransposeImage",
    "obs_as_tensor",
]
