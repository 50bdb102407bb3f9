"""A whole run of an `Sb3Agent`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.episodes.episode_runner import EpisodeRequest
from pixelis.agents.episodes.task_env import TaskEnv
from pixelis.agents.run_files.saved_run import newest_adapter, settings_of
from pixelis.agents.runs.evaluate import Evaluation, Listener, Taken, summarise
from pixelis.agents.runs.run import Run
from pixelis.agents.sb3.agent import Sb3Agent, action_count
from pixelis.agents.sb3.config import GroupAgent, Sb3Config
from pixelis.agents.sb3.trainer import Sb3Trainer
from pixelis.errors import ConfigError


class Sb3Run(Run[Sb3Config, Sb3Trainer]):
    """A run of one of stable-baselines3's agents, or of GRPO for their network."""

    policy: Sb3Agent

    def make_trainer(self, material: Any) -> Sb3Trainer:
        """Return the trainer; there is nothing to prepare."""
        return Sb3Trainer(self.config, self.policy, self.folder)

    @classmethod
    def load_policy(cls, config: Sb3Config, adapter: Path | None) -> Sb3Agent:
        """Return a new agent, or one with saved weights.

        Raises:
            ConfigError: a training step is shorter than an episode.
        """
        env = TaskEnv.open(config.env, config.env_kwargs, config.reset_options)
        if not isinstance(config.agent, GroupAgent) and config.agent.n_steps < env.max_turns:
            raise ConfigError(
                f"agent.n_steps must be at least the longest episode of {env.id}, {env.max_turns} turns, got "
                f"{config.agent.n_steps}: each training step begins new episodes, so their ends were not seen"
            )
        agent = Sb3Agent(config, env)
        if adapter is not None:
            try:
                agent.load_adapter(adapter)
            except BaseException:
                agent.close()
                raise
        return agent

    def policy_notes(self) -> list[str]:
        """Say what is trained."""
        network = self.policy.model.policy
        count = sum(parameter.numel() for parameter in network.parameters())
        actions = action_count(self.policy.model.action_space)
        notes = [f"{self.config.agent.type}: {count} parameters, {actions} actions"]
        if self.config.agent.type == "sb3-dqn":
            size = self.policy.replay_bytes / 2**20
            notes.append(f"its replay buffer is in every checkpoint: up to {size:.0f} MiB each")
        return notes

    @property
    def evaluation_modes(self) -> tuple[str, ...]:
        """Those that the agent can play in."""
        return self.policy.modes

    def play_tasks(self, name: str, mode: str, listener: Listener | None = None) -> list[Episode]:
        """Play the tasks for evaluation, see `Run.play_tasks`."""
        if mode == "scripted":
            return super().play_tasks(name, mode, listener)
        env = self.task_env
        seeds, options = env.held_out_seeds(self.config.eval_episodes), env.options("test")
        return play_small(self.policy, seeds, options, greedy=mode == "greedy", listener=listener)


def evaluate_agent(
    agent: Sb3Agent, seeds: list[int], options: Mapping[str, Any], *, name: str, greedy: bool
) -> Evaluation:
    """Play one episode a seed and summarise them, see `pixelis.agents.runs.evaluate`."""
    episodes = play_small(agent, seeds, options, greedy=greedy)
    return summarise(episodes, agent=name, mode="greedy" if greedy else "sampled")


def play_small(
    agent: Sb3Agent,
    seeds: list[int],
    options: Mapping[str, Any],
    *,
    greedy: bool,
    listener: Listener | None = None,
) -> list[Episode]:
    """Return one episode a seed, see `pixelis.agents.runs.evaluate.play`.

    Raises:
        EpisodesFailedError: no episode could be played to its end.
    """
    requests = [EpisodeRequest(seed, group, 0, options) for group, seed in enumerate(seeds)]
    taken = Taken(f"the evaluation of {agent.base_name}", listener)
    episodes = agent.play(requests, greedy=greedy, on_episode=lambda episode: taken.add([episode]))
    taken.all()
    return episodes


def load_agent(path: str | Path, env: TaskEnv) -> Sb3Agent:
    """Return the agent of a run's newest checkpoint, to play in ``env``.

    Raises:
        CheckpointError: there is none, or it is damaged.
        ConfigError: the run is of another kind.
    """
    adapter, _ = newest_adapter(path)
    agent = Sb3Agent(Sb3Config.from_mapping(settings_of(path)), env)
    agent.load_adapter(adapter)
    return agent


def train(config: Sb3Config) -> Sb3Run:
    """Do a whole run, see `Run.whole`."""
    return Sb3Run.whole(config)
