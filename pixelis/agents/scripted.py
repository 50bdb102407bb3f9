"""Scripted policies as agents: the oracle, the floors and the exploits that an environment ships."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np

from pixelis.agents.episode import Episode
from pixelis.agents.seat import EpisodeRequest, Seat
from pixelis.errors import ConfigError, suggest


@dataclass(frozen=True)
class Turn:
    """One exchange of a scripted episode.

    Attributes:
        text: the observation's text.
        image: uint8 [H, W, 3] if the observation brought a new picture, else None.
        action: what the policy said.
    """

    text: str
    image: np.ndarray | None
    action: str


@dataclass(frozen=True)
class Transcript:
    """A scripted episode in words.

    Attributes:
        episode: the record, without segments (no model was there to have tokens).
        turns: the exchanges in order.
        tools: the env's tool schemas.
    """

    episode: Episode
    turns: tuple[Turn, ...]
    tools: tuple[Any, ...] = field(default=())


def scripted_names(env: gym.Env[Any, Any]) -> tuple[str, ...]:
    """Return the names of the policies an env ships, empty if it ships none."""
    policies: Any = getattr(env.unwrapped, "policies", None)
    return tuple(policies()) if policies is not None else ()


def play_scripted(env: gym.Env[Any, Any], name: str, request: EpisodeRequest) -> Transcript:
    """Play one episode with the policy called ``name``.

    Raises:
        ConfigError: the env ships no such policy.
    """
    names = scripted_names(env)
    if name not in names:
        raise ConfigError(f"the environment ships no scripted policy {name!r}.{suggest(name, names)}")
    seat = Seat(env, request)
    seat.reset()
    policy = env.unwrapped.policies()[name](env.unwrapped)  # type: ignore[attr-defined]
    turns: list[Turn] = []
    while not seat.done:
        text, image = seat.seen()
        turns.append(Turn(text, image, policy.act(seat.observation, seat.info)))
        seat.step(turns[-1].action)
    return Transcript(seat.episode, tuple(turns), tuple(seat.tool_schemas()))
