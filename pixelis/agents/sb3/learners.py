"""stable-baselines3's PPO and DQN in steps that can be repeated: each begins with fresh episodes of its seed.

SB3's own ``learn`` goes on with half-played episodes, whose environments no checkpoint can hold. Here what
was half-played at the end of a step is left: PPO takes the critic's value for the rest of it, as at every
end of a rollout, and in DQN's buffer its steps stand like any others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.episodes.seeds import sampling_seed
from pixelis.agents.runs.metrics import Row
from pixelis.agents.sb3.config import DqnAgent, PpoAgent, Sb3Config
from pixelis.agents.sb3.episodes import RECORD
from pixelis.agents.sb3.library import DQN, PPO, BaseCallback, VecEnv


class Records(BaseCallback):
    """Collects the records of the episodes that end."""

    def __init__(self) -> None:
        super().__init__()
        self.episodes: list[Episode] = []

    def _on_step(self) -> bool:
        self.episodes += [info[RECORD] for info in self.locals["infos"] if RECORD in info]
        return True


class StepPPO(PPO):
    """PPO (Schulman et al. 2017, arXiv 1707.06347) as SB3 has it, a rollout and its updates at a time."""

    run_seed: int = 0

    def take_step(self, number: int) -> tuple[list[Episode], Row]:
        """Play ``n_steps`` in every environment and train on them."""
        records = Records()
        records.init_callback(self)
        vector = _vector(self)
        self._last_obs = _fresh(vector, self.run_seed, number)
        self._last_episode_starts = np.ones((self.n_envs,), dtype=bool)
        self.collect_rollouts(vector, records, self.rollout_buffer, self.n_steps)
        self.train()
        return records.episodes, logged(self.logger)

    def counters(self) -> dict[str, Any]:
        """Return how far it is."""
        return {"num_timesteps": self.num_timesteps, "updates": self._n_updates}

    def restore_counters(self, counters: dict[str, Any]) -> None:
        """Take over what `counters` returned."""
        self.num_timesteps, self._n_updates = int(counters["num_timesteps"]), int(counters["updates"])


class StepDQN(DQN):
    """DQN (Mnih et al. 2015) with SB3's target network and linear epsilon, some env steps at a time."""

    run_seed: int = 0
    vector_steps: int = 64

    def take_step(self, number: int) -> tuple[list[Episode], Row]:
        """Play ``vector_steps`` in every environment, training in between."""
        records = Records()
        records.init_callback(self)
        vector = _vector(self)
        self._last_obs = _fresh(vector, self.run_seed, number)
        self.action_space.seed(sampling_seed(self.run_seed, number))  # what explores at random
        end = self.num_timesteps + self.vector_steps * self.n_envs
        while self.num_timesteps < end:
            frequency: Any = self.train_freq
            buffer: Any = self.replay_buffer
            self.collect_rollouts(
                vector, records, frequency, buffer, learning_starts=self.learning_starts, log_interval=None
            )
            if self.num_timesteps > self.learning_starts:
                self.train(self.gradient_steps, self.batch_size)
        return records.episodes, logged(self.logger)

    def explore_over(self, timesteps: int) -> None:
        """Set over how many env steps epsilon falls."""
        self._total_timesteps = timesteps

    def counters(self) -> dict[str, Any]:
        """Return how far it is."""
        buffer: Any = self.replay_buffer
        return {
            "num_timesteps": self.num_timesteps,
            "updates": self._n_updates,
            "calls": self._n_calls,
            "epsilon": self.exploration_rate,
            "replay": [int(buffer.pos), bool(buffer.full)],
        }

    def restore_counters(self, counters: dict[str, Any]) -> None:
        """Take over what `counters` returned."""
        buffer: Any = self.replay_buffer
        self.num_timesteps, self._n_updates = int(counters["num_timesteps"]), int(counters["updates"])
        self._n_calls, self.exploration_rate = int(counters["calls"]), float(counters["epsilon"])
        buffer.pos, buffer.full = counters["replay"]


def _vector(learner: PPO | DQN) -> VecEnv:
    vector = learner.get_env()
    assert vector is not None  # it was made with one
    return vector


def _fresh(vector: VecEnv, run_seed: int, number: int) -> Any:
    """Begin a stream of episodes in every environment; return what they say."""
    seed = sampling_seed(run_seed, number)
    np.random.seed(seed)  # SB3 draws minibatches and replayed steps from numpy's global generator
    vector.seed(seed)
    return vector.reset()


def logged(logger: Any) -> Row:
    """Return, and forget, what SB3 has noted."""
    values: Row = {name: float(value) for name, value in logger.name_to_value.items()}
    logger.name_to_value.clear()
    logger.name_to_count.clear()
    return values


def ppo_settings(config: Sb3Config) -> dict[str, Any]:
    """Return the keywords of PPO's class, which GRPO's is too; a rollout buffer is for PPO alone."""
    agent = config.agent
    shared = {"max_grad_norm": config.max_grad_norm}
    if not isinstance(agent, PpoAgent):
        return shared | {"n_steps": 2, "batch_size": 2 * config.n_envs}
    return shared | {
        "n_steps": agent.n_steps,
        "batch_size": config.batch_size,
        "n_epochs": agent.epochs,
        "gamma": agent.gamma,
        "gae_lambda": agent.gae_lambda,
        "clip_range": agent.clip,
        "ent_coef": agent.entropy,
    }


def dqn_settings(config: Sb3Config, agent: DqnAgent) -> dict[str, Any]:
    """Return DQN's keywords; epsilon is counted in env steps, see `StepDQN.explore_over`."""
    return {
        "buffer_size": agent.buffer_size,
        "learning_starts": agent.learning_starts,
        "batch_size": config.batch_size,
        "gamma": agent.gamma,
        "train_freq": agent.train_every,
        "gradient_steps": agent.gradient_steps,
        "target_update_interval": agent.target_every,
        "exploration_fraction": 1.0,
        "exploration_final_eps": agent.exploration_end,
        "max_grad_norm": config.max_grad_norm,
    }
