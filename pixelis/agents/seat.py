"""An episode in play: its env, what the env said last, and the record that is kept."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np

from pixelis.agents.episode import Episode
from pixelis.agents.timed_env import EnvTimeoutError
from pixelis.errors import ConfigError, PixelisError
from pixelis.rewards.stack import EpisodeMemory, StepReward

_KEPT_APART = ("tool_calls", "reward_terms", "success", "valid_for_training", "failure_reason")


@dataclass(frozen=True)
class EpisodeRequest:
    """One episode to play.

    Attributes:
        seed: the env's reset seed; equal for the members of a group.
        group: which group of the batch.
        member: index inside the group.
        options: the env's reset options (``difficulty``, ``split``, ``task``, ...).
    """

    seed: int
    group: int = 0
    member: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)


class Seat:
    """Plays one request in one env and keeps the books; whoever holds it decides the actions.

    Args:
        env: an env of dict observations with ``text`` and perhaps ``image``.
        request: what to play.

    Attributes:
        episode: the record so far; its segments are left to the holder.
        observation: the last one.
        before: the one to which the last action answered.
        action: the last action.
        memory: what reward terms keep of this episode, see `pixelis.agents.rewarder`; None without any.
        info: the env's last info, whole.
        done: nothing more to play.
        timed_out: a call of the env did not return in time.
    """

    def __init__(self, env: gym.Env[Any, Any], request: EpisodeRequest) -> None:
        self.env, self.request = env, request
        env_id = env.spec.id if env.spec is not None else type(env.unwrapped).__name__
        self.episode = Episode(env_id, request.seed, request.group, request.member)
        self.observation: Any = None
        self.before: Any = None
        self.action = ""
        self.memory: EpisodeMemory | None = None
        self.info: dict[str, Any] = {}
        self.done = self.timed_out = False

    def reset(self) -> None:
        """Reset the env; if it raises or is late, the episode is over and not valid for training.

        Raises:
            PixelisError: a wrong option, which is the caller's mistake and the same for every episode.
        """
        options = dict(self.request.options) or None
        try:
            self.observation, self.info = self.env.reset(seed=self.request.seed, options=options)
        except PixelisError:
            raise
        except Exception as error:
            self._blame("reset", error)
        else:
            self._note()

    def step(self, action: str) -> None:
        """Play one turn; if the env raises or is late, the episode is over and not valid for training."""
        episode = self.episode
        self.before, self.action = self.observation, action
        try:
            self.observation, given, terminated, truncated, self.info = self.env.step(action)
            reward = float(given)
        except Exception as error:  # whatever an env does wrong, the other episodes go on
            self._blame("step", error)
            return
        episode.turns += 1
        self._add(reward if math.isfinite(reward) else 0.0)
        episode.terminated, episode.truncated = bool(terminated), bool(truncated)
        self.done = episode.terminated or episode.truncated
        self._note()
        if not math.isfinite(reward):
            self.fail(f"task: step returned the reward {reward}, expected a finite number")

    def pay(self, scored: StepReward) -> None:
        """Put a reward in the place of the one that the env gave for the last step."""
        self.episode.turn_rewards.pop()
        self._add(scored.reward)
        self.episode.reward_parts = {name: part.to_json() for name, part in scored.parts.items()}

    def fail(self, reason: str) -> None:
        """End the episode as one that a trainer must leave out."""
        self.done = True
        self.episode.valid_for_training = False
        self.episode.failure_reason = reason

    def seen(self) -> tuple[str, np.ndarray | None]:
        """Return the observation's text, and its image (uint8 [H, W, 3]) if that is a new one.

        Raises:
            ConfigError: the env's observations are not of that form.
        """
        observation = self.observation
        if not isinstance(observation, Mapping) or not isinstance(observation.get("text"), str):
            raise ConfigError(
                "a language policy needs observations that are a dict with 'text', got"
                f" {type(observation).__name__}; its observation_space must be Dict(text=..., [image=...])"
            )
        return observation["text"], observation.get("image") if self.info.get("view_changed", True) else None

    def starts_like(self, other: Seat) -> bool:
        """Whether both show the same text and image."""
        (text, image), (text_2, image_2) = self.seen(), other.seen()
        if image is None or image_2 is None:
            return text == text_2 and image is image_2
        return text == text_2 and np.array_equal(image, image_2)

    def tool_schemas(self) -> Sequence[Mapping[str, Any]]:
        """Return the env's tools as OpenAI function schemas; none if it is no ``ToolEnv``."""
        toolset = getattr(self.env.unwrapped, "toolset", None)
        return toolset.schemas() if toolset is not None else ()

    def _add(self, reward: float) -> None:
        self.episode.turn_rewards.append(reward)
        self.episode.reward = math.fsum(self.episode.turn_rewards)

    def _blame(self, call: str, error: Exception) -> None:
        self.timed_out = isinstance(error, EnvTimeoutError)
        self.fail(str(error) if self.timed_out else f"{call} raised {type(error).__name__}: {error}")

    def _note(self) -> None:
        info, episode = self.info, self.episode
        episode.tool_calls.extend(info.get("tool_calls", ()))
        for name, value in info.get("reward_terms", {}).items():
            episode.reward_terms[name] = episode.reward_terms.get(name, 0.0) + float(value)
        if "success" in info:
            episode.success = bool(info["success"])
        episode.info = {key: value for key, value in info.items() if key not in _KEPT_APART}
        if not info.get("valid_for_training", True):
            self.fail(str(info.get("failure_reason", "the environment gave no reason")))
