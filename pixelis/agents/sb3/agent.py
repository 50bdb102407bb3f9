"""``Sb3Agent``: a small network with its learner and its environments; what is saved of it, how it plays."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from safetensors import SafetensorError
from safetensors.torch import load_file, load_model, save_file, save_model

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.episodes.episode_runner import EpisodeRequest
from pixelis.agents.episodes.task_env import TaskEnv
from pixelis.agents.run_files.saved_run import ADAPTER
from pixelis.agents.sb3.config import Sb3Config
from pixelis.agents.sb3.episodes import Observations, play
from pixelis.agents.sb3.grpo import GroupLearner
from pixelis.agents.sb3.learners import StepDQN, StepPPO, dqn_settings, ppo_settings
from pixelis.agents.sb3.library import Logger, VecEnv
from pixelis.agents.sb3.network import PictureFeatures
from pixelis.agents.sb3.policy import ToolPolicy
from pixelis.agents.sb3.vectors import EnvMaker, check_sums_matter, make_vec
from pixelis.errors import CheckpointError
from pixelis.files import one_line

WEIGHTS, REPLAY, DESCRIPTION = "policy.safetensors", "replay.safetensors", "agent.json"
_REPLAYED = ("actions", "rewards", "dones", "timeouts")
_LEARNERS = {"sb3-ppo": StepPPO, "sb3-dqn": StepDQN, "sb3-grpo": GroupLearner}


class Sb3Agent:
    """An agent of one of the kinds in `AGENTS`.

    Nothing of it is pickled: weights and replay buffer are safetensors, the optimiser is read with
    ``torch.load(weights_only=True)``, counters are JSON. SB3's own ``save`` and ``load`` are not used.

    Args:
        config: its settings.
        env: what it plays.

    Attributes:
        model: SB3's algorithm.
        base_name: what it is called in tables.
    """

    def __init__(self, config: Sb3Config, env: TaskEnv) -> None:
        self.config, self.env, self.base_name = config, env, config.agent.type
        if config.agent.type == "sb3-grpo":
            check_sums_matter(config.rewards)
        self._playing: VecEnv | None = None  # without reward terms, as all evaluations; made when needed
        self.vector = self._make_vector(config.rewards)
        try:
            self.model = _learner(config, env, self.vector)
        except BaseException:
            self.vector.close()
            raise
        self.model.ep_info_buffer, self.model.ep_success_buffer = deque(), deque()  # SB3 asks for them
        self.model.set_logger(Logger(folder=None, output_formats=[]))

    @property
    def device(self) -> torch.device:
        """Where the network is."""
        return self.model.device

    @property
    def modes(self) -> tuple[str, ...]:
        """How it can play: greedy and sampled; DQN greedily alone."""
        return ("greedy",) if self.config.agent.type == "sb3-dqn" else ("greedy", "sampled")

    # ------------------------------------------------------------------ playing

    def play(
        self,
        requests: Sequence[EpisodeRequest],
        *,
        greedy: bool,
        on_episode: Callable[[Episode], None] | None = None,
    ) -> list[Episode]:
        """Play requests to their ends and return the records in their order; training is not disturbed.

        Rewards are those of the environment alone.

        Args:
            requests: what to play; group and member must tell them apart.
            greedy: take the best action; else one drawn from the policy (DQN is greedy all the same).
            on_episode: is given each record as its episode ends.
        """
        self.model.policy.set_training_mode(False)
        place = {(request.group, request.member): index for index, request in enumerate(requests)}
        if self._playing is None:
            self._playing = self._make_vector({}) if self.config.rewards else self.vector
        with torch.random.fork_rng(devices=[self.device] if self.device.type == "cuda" else []):
            torch.manual_seed(self.config.seed)
            records: list[Episode] = []
            for step in play(self._playing, requests, lambda seen: self._choose(seen, greedy)):
                if step.record is not None:
                    records.append(step.record)
                    if on_episode is not None:
                        on_episode(step.record)
        return sorted(records, key=lambda record: place[record.group, record.member])

    def _choose(self, observations: Observations, greedy: bool) -> tuple[np.ndarray, np.ndarray]:
        actions, _ = self.model.policy.predict(observations, deterministic=greedy)
        return actions, np.zeros(len(actions))

    # ------------------------------------------------------------------ saving

    def save_adapter(self, folder: Path) -> None:
        """Write the network's weights and a description; the name is that of what language models save."""
        folder.mkdir(parents=True, exist_ok=True)
        save_model(self.model.policy, str(folder / WEIGHTS))
        count = sum(parameter.numel() for parameter in self.model.policy.parameters())
        about = {"agent": self.config.agent.type, "parameters": count, "identity": self.config.identity}
        (folder / DESCRIPTION).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")

    def save_trained(self, folder: Path) -> Path:
        """Write the network into a checkpoint's subfolder, and return that."""
        self.save_adapter(folder / ADAPTER)
        return folder / ADAPTER

    def load_adapter(self, folder: Path) -> None:
        """Take over weights that `save_adapter` wrote.

        Raises:
            CheckpointError: they are missing, damaged, or of another network.
        """
        try:
            load_model(self.model.policy, str(folder / WEIGHTS))
        except (OSError, SafetensorError, RuntimeError) as error:
            raise CheckpointError(
                f"{str(folder / WEIGHTS)!r} cannot be read ({one_line(error)}); give a checkpoint of "
                f"{self.config.agent.type} with the same network"
            ) from error

    def save_replay(self, folder: Path) -> None:
        """Write DQN's buffer as far as it is filled; the others have none."""
        if isinstance(self.model, StepDQN):
            save_file({n: torch.from_numpy(a).contiguous() for n, a in self._filled()}, folder / REPLAY)

    @property
    def replay_bytes(self) -> int:
        """Size of DQN's buffer when it is full, which every checkpoint then holds; 0 for the others."""
        if not isinstance(self.model, StepDQN):
            return 0
        return sum(values.nbytes for _, values in self._arrays())

    def load_replay(self, folder: Path) -> None:
        """Take over what `save_replay` wrote; the counters must have been restored.

        Raises:
            CheckpointError: it is missing, damaged, or of another size.
        """
        if not isinstance(self.model, StepDQN):
            return
        try:
            saved = load_file(folder / REPLAY)
            for name, part in self._filled():
                part[:] = saved[name].numpy()
        except (OSError, SafetensorError, KeyError, ValueError) as error:
            raise CheckpointError(f"{str(folder / REPLAY)!r} cannot be read: {one_line(error)}") from error

    def _filled(self) -> list[tuple[str, np.ndarray]]:
        """Return the filled part of each array of the buffer, by name."""
        buffer: Any = self.model.replay_buffer  # type: ignore[union-attr]
        return [(name, values[: buffer.size()]) for name, values in self._arrays()]

    def _arrays(self) -> list[tuple[str, np.ndarray]]:
        buffer: Any = self.model.replay_buffer  # type: ignore[union-attr]
        arrays = {name: getattr(buffer, name) for name in _REPLAYED}
        arrays |= {f"now/{name}": values for name, values in buffer.observations.items()}
        arrays |= {f"next/{name}": values for name, values in buffer.next_observations.items()}
        return list(arrays.items())

    def close(self) -> None:
        """Close the environments."""
        self.vector.close()
        if self._playing is not None and self._playing is not self.vector:
            self._playing.close()

    def _make_vector(self, rewards: Mapping[str, Any]) -> VecEnv:
        config = self.config
        actions = {**config.action_kwargs, "flat": config.agent.type == "sb3-dqn"}
        return make_vec(EnvMaker(self.env, actions, rewards), config.n_envs, config.processes)


def _learner(config: Sb3Config, env: TaskEnv, vector: VecEnv) -> StepPPO | StepDQN:
    dqn = config.agent.type == "sb3-dqn"
    features = {"channels": config.channels, "features": config.features}
    network: dict[str, Any] = {
        "features_extractor_class": PictureFeatures,
        "features_extractor_kwargs": features,
        "net_arch": [config.hidden] if dqn else {"pi": [config.hidden], "vf": [config.hidden]},
    }
    if not dqn:
        network["counted"] = vector.env_method("get_wrapper_attr", "counted", indices=0)[0]
    settings = dqn_settings(config, config.agent) if config.agent.type == "sb3-dqn" else ppo_settings(config)
    model = _LEARNERS[config.agent.type](
        "MultiInputPolicy" if dqn else ToolPolicy,
        vector,
        learning_rate=config.lr,
        policy_kwargs=network,
        seed=None,  # the run has seeded torch; a step seeds its environments
        device=config.device,
        **settings,
    )
    model.run_seed = config.seed
    if isinstance(model, StepDQN) and config.agent.type == "sb3-dqn":
        model.vector_steps = config.agent.n_steps
        model.explore_over(config.agent.exploration_steps)
    if isinstance(model, GroupLearner) and config.agent.type == "sb3-grpo":
        model.settings, model.agent, model.options = config, config.agent, env.options("train")
    return model


def action_count(space: spaces.Space[Any]) -> int:
    """Return how many different actions a space has."""
    if isinstance(space, spaces.MultiDiscrete):
        return int(np.prod(space.nvec))
    return int(space.n) if isinstance(space, spaces.Discrete) else 0
