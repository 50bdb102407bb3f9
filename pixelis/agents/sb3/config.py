"""The settings of a run with stable-baselines3's agents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pixelis.agents.settings.options import option
from pixelis.agents.settings.run_settings import EVALUATION, MODEL, ROLLOUT, RUN, TASK, UPDATE, AnyRunSettings
from pixelis.errors import ConfigError
from pixelis.rewards.stack.reward_config import read_rewards

AGENTS = ("sb3-ppo", "sb3-dqn", "sb3-grpo")
DQN, GROUPS, REWARDS = "DQN", "GRPO", "Rewards"


@dataclass(frozen=True)
class Sb3Config(AnyRunSettings):
    """Everything that decides a run.

    Raises:
        ConfigError: a value has the wrong type or lies outside its bounds, or two do not go together.
    """

    headings = (TASK, MODEL, ROLLOUT, REWARDS, UPDATE, GROUPS, DQN, EVALUATION, RUN)

    env: str = option(TASK, "Pixelis/ZoomRead-v0", "Gymnasium id of the environment, module:Id-v0 included")
    agent: Literal["sb3-ppo", "sb3-dqn", "sb3-grpo"] = option(TASK, "sb3-ppo", "how the small network learns")
    action_kwargs: dict[str, Any] = option(  # noqa: RUF009 (a factory makes each dict)
        TASK, dict, "keywords of DiscreteToolActions, e.g. --action-kwargs.grid 8"
    )

    device: str = option(MODEL, "cpu", "auto, cpu, cuda or cuda:N; the network is small", identity=False)
    channels: int = option(MODEL, 16, "of the first convolution; the second has twice as many", "[1, inf)")
    features: int = option(MODEL, 128, "that are made of each picture", "[1, inf)")
    hidden: int = option(MODEL, 128, "units of the layer before the heads", "[1, inf)")

    n_envs: int = option(ROLLOUT, 8, "environments that are stepped together", "[1, inf)")
    n_steps: int = option(
        ROLLOUT,
        64,
        "env steps in each environment before an update (PPO), or a training step (DQN)",
        "[2, inf)",
    )
    processes: Literal["none", "fork", "spawn", "forkserver"] = option(
        ROLLOUT,
        "none",
        "how environments get processes of their own; the numbers are the same",
        identity=False,
    )

    rewards: dict[str, Any] = option(  # noqa: RUF009 (a factory makes each dict)
        REWARDS,
        dict,
        "terms that learn nothing, each paid by itself, e.g. {orchestrate: false, penalty: {}}",
    )

    steps: int = option(
        UPDATE, 100, "training steps; one is a rollout and its updates", "[0, inf)", identity=False
    )
    lr: float = option(UPDATE, 5e-4, "Adam learning rate", "(0, inf)")
    decay_steps: int = option(
        UPDATE, 0, "training steps over which lr falls to a tenth of itself; 0: it stays", "[0, inf)"
    )
    max_grad_norm: float = option(UPDATE, 0.5, "gradients are scaled down to this norm", "(0, inf)")
    batch_size: int = option(UPDATE, 128, "env steps of one optimiser step", "[2, inf)")
    epochs: int = option(UPDATE, 4, "passes over a rollout (PPO, GRPO)", "[1, inf)")
    clip: float = option(UPDATE, 0.2, "clip range of the ratio (PPO, GRPO)", "(0, 1)")
    entropy: float = option(UPDATE, 0.02, "weight of the entropy bonus (PPO, GRPO)", "[0, inf)")
    gamma: float = option(UPDATE, 0.95, "discount of a step (PPO, DQN)", "[0, 1]")
    gae_lambda: float = option(UPDATE, 0.95, "lambda of GAE (PPO)", "[0, 1]")

    groups: int = option(GROUPS, 16, "tasks of a step; each is played by one group of episodes", "[1, inf)")
    group_size: int = option(GROUPS, 8, "episodes of the same task", "[2, inf)")
    advantage: str = option(GROUPS, "group", "how rewards become advantages, see grpo.advantages")

    buffer_size: int = option(DQN, 4000, "transitions that are kept, about 110 kB each", "[1, inf)")
    learning_starts: int = option(DQN, 500, "env steps before the first update", "[0, inf)")
    train_every: int = option(DQN, 4, "steps of all environments between updates", "[1, inf)")
    gradient_steps: int = option(DQN, 2, "updates each time", "[1, inf)")
    target_every: int = option(DQN, 1000, "env steps between copies to the target network", "[1, inf)")
    exploration_steps: int = option(DQN, 20_000, "env steps over which epsilon falls to its end", "[1, inf)")
    exploration_end: float = option(DQN, 0.05, "epsilon at the end", "[0, 1]")

    baselines: bool = option(
        EVALUATION, False, "after training, also play the env's scripted policies", identity=False
    )
    sample_every: int = option(RUN, 10, "steps between files of sample episodes", "[1, inf)", identity=False)

    def __post_init__(self) -> None:
        """Check every field, and those that must go together."""
        super().__post_init__()
        if "flat" in self.action_kwargs:
            raise ConfigError(
                "action_kwargs cannot hold flat: sb3-dqn sets it, the others need it not; leave it out"
            )
        if self.rewards and read_rewards(self.rewards).orchestrator is not None:
            raise ConfigError(
                f"rewards: {self.agent} pays every term by itself, an orchestrator is for language models; "
                "add orchestrate: false"
            )
        if self.batch_size > self.n_envs * self.n_steps and self.agent == "sb3-ppo":
            raise ConfigError(
                f"batch_size must be at most n_envs · n_steps = {self.n_envs * self.n_steps}, "
                f"got {self.batch_size}"
            )

    @property
    def model(self) -> str:
        """What a run is called after, besides its environment."""
        return self.agent
