"""The settings of a run with stable-baselines3's agents."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import model_validator
from typing_extensions import Self

from pixelis.agents.losses.advantages import ADVANTAGES
from pixelis.agents.settings.base import Alternatives, Section, setting
from pixelis.agents.settings.run_settings import AnyRunSettings
from pixelis.errors import ConfigError
from pixelis.rewards.stack.reward_config import read_rewards

AGENTS = ("sb3-ppo", "sb3-dqn", "sb3-grpo")
_HOW, _GAMMA = "how the small network learns", "discount of a step"


class _Clipped(Section):
    """What PPO and GRPO share."""

    epochs: int = setting(4, "passes over a rollout", ge=1)
    clip: float = setting(0.2, "clip range of the ratio", gt=0, lt=1)
    entropy: float = setting(0.02, "weight of the entropy bonus", ge=0)


class PpoAgent(_Clipped):
    """PPO."""

    type: Literal["sb3-ppo"] = setting("sb3-ppo", _HOW)
    n_steps: int = setting(64, "env steps in each environment before an update", ge=2)
    gamma: float = setting(0.95, _GAMMA, ge=0, le=1)
    gae_lambda: float = setting(0.95, "lambda of GAE", ge=0, le=1)


class DqnAgent(Section):
    """DQN."""

    type: Literal["sb3-dqn"] = setting("sb3-dqn", _HOW)
    n_steps: int = setting(64, "env steps in each environment in a training step", ge=2)
    gamma: float = setting(0.95, _GAMMA, ge=0, le=1)
    buffer_size: int = setting(4000, "transitions that are kept, about 110 kB each", ge=1)
    learning_starts: int = setting(500, "env steps before the first update", ge=0)
    train_every: int = setting(4, "steps of all environments between updates", ge=1)
    gradient_steps: int = setting(2, "updates each time", ge=1)
    target_every: int = setting(1000, "env steps between copies to the target network", ge=1)
    exploration_steps: int = setting(20_000, "env steps over which epsilon falls to its end", ge=1)
    exploration_end: float = setting(0.05, "epsilon at the end", ge=0, le=1)


class GroupAgent(_Clipped):
    """GRPO for the network that PPO trains."""

    type: Literal["sb3-grpo"] = setting("sb3-grpo", _HOW)
    groups: int = setting(16, "tasks of a step; each is played by one group of episodes", ge=1)
    group_size: int = setting(8, "episodes of the same task", ge=2)
    advantage: str = setting("group", "how rewards become advantages, see losses.advantages")


class Sb3Config(AnyRunSettings):
    """Everything that decides a run.

    Raises:
        ConfigError: a value has the wrong type or lies outside its bounds, or two do not go together.
    """

    env: str = setting(  # type: ignore[assignment]
        "Pixelis/ZoomRead-v0", "Gymnasium id of the environment, module:Id-v0 included"
    )
    agent: Annotated[PpoAgent | DqnAgent | GroupAgent, Alternatives()] = setting(PpoAgent(), _HOW)
    action_kwargs: dict[str, Any] = setting(
        {}, "keywords of DiscreteToolActions, e.g. --action-kwargs.grid 8"
    )

    device: str = setting("cpu", "auto, cpu, cuda or cuda:N; the network is small", identity=False)
    channels: int = setting(16, "of the first convolution; the second has twice as many", ge=1, more=True)
    features: int = setting(128, "that are made of each picture", ge=1)
    hidden: int = setting(128, "units of the layer before the heads", ge=1, more=True)

    n_envs: int = setting(8, "environments that are stepped together", ge=1)
    processes: Literal["none", "fork", "spawn", "forkserver"] = setting(
        "none",
        "how environments get processes of their own; the numbers are the same",
        identity=False,
        more=True,
    )

    rewards: dict[str, Any] = setting(
        {}, "terms that learn nothing, each paid by itself, e.g. {orchestrate: false, penalty: {}}"
    )

    steps: int = setting(100, "training steps; one is a rollout and its updates", ge=0, identity=False)
    lr: float = setting(5e-4, "Adam learning rate", gt=0)  # type: ignore[assignment]
    decay_steps: int = setting(
        0, "training steps over which lr falls to a tenth of itself; 0: it stays", ge=0, more=True
    )
    max_grad_norm: float = setting(0.5, "gradients are scaled down to this norm", gt=0, more=True)
    batch_size: int = setting(128, "env steps of one optimiser step", ge=2)

    baselines: bool = setting(
        False, "after training, also play the env's scripted players", identity=False, more=True
    )
    sample_every: int = setting(10, "steps between files of sample episodes", ge=1, identity=False, more=True)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if isinstance(self.agent, GroupAgent):
            ADVANTAGES.find(self.agent.advantage)
        if "flat" in self.action_kwargs:
            raise ConfigError(
                "action_kwargs cannot hold flat: sb3-dqn sets it, the others need it not; leave it out"
            )
        if self.rewards and read_rewards(self.rewards).orchestrator is not None:
            raise ConfigError(
                f"rewards: {self.agent.type} pays every term by itself, an orchestrator is for language "
                "models; add orchestrate: false"
            )
        if isinstance(self.agent, PpoAgent) and self.batch_size > self.n_envs * self.agent.n_steps:
            raise ConfigError(
                f"batch_size must be at most n_envs · agent.n_steps = {self.n_envs * self.agent.n_steps}, "
                f"got {self.batch_size}"
            )
        if isinstance(self.agent, DqnAgent) and self.agent.n_steps % self.agent.train_every:
            raise ConfigError(
                f"agent.n_steps must be a multiple of agent.train_every, {self.agent.train_every}, got "
                f"{self.agent.n_steps}: that many steps are played between updates"
            )
        return self

    @property
    def model(self) -> str:
        """What a run is called after, besides its environment."""
        return self.agent.type
