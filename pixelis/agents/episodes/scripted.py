"""Scripted players as agents: the oracle, the floors and the exploits that an environment ships."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.episodes.episode_runner import EpisodeRequest, EpisodeRunner
from pixelis.errors import ConfigError, suggest
from pixelis.user_code import RAISED


@dataclass(frozen=True)
class Turn:
    """One exchange of a scripted episode.

    Attributes:
        text: the observation's text.
        image: uint8 [H, W, 3] if the observation brought a new picture, else None.
        action: what the player said.
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
    """Return the names of the players an env ships, empty if it ships none."""
    players: Any = getattr(env.unwrapped, "players", None)
    return tuple(players()) if players is not None else ()


def play_scripted(env: gym.Env[Any, Any], name: str, request: EpisodeRequest) -> Transcript:
    """Play one episode with the player called ``name``; if env or player raise, it is not valid for training.

    Raises:
        ConfigError: the env ships no such player.
    """
    names = scripted_names(env)
    if name not in names:
        raise ConfigError(f"the environment ships no scripted player {name!r}.{suggest(name, names)}")
    runner = EpisodeRunner(env, request)
    runner.reset()
    turns: list[Turn] = []
    player: Any = None
    while not runner.done:
        text, image = runner.seen()
        try:
            player = player or env.unwrapped.players()[name](env.unwrapped)  # type: ignore[attr-defined]
            action = player.act(runner.observation, runner.info)
        except RAISED as error:
            runner.blame(f"the player {name!r}", error)
            break
        turns.append(Turn(text, image, action))
        runner.step(action)
    return Transcript(runner.episode, tuple(turns), tuple(runner.tool_schemas()))


def play_all(
    env: str | Callable[[], gym.Env[Any, Any]], requests: Sequence[EpisodeRequest], names: Sequence[str]
) -> Iterator[Transcript]:
    """Play episodes one after the other, each with the player at its place in ``names``.

    An env that failed is not trusted again: the next episode has a new one.

    Raises:
        ConfigError: the env ships no such player.
    """
    place: gym.Env[Any, Any] | None = None
    try:
        for request, name in zip(requests, names, strict=True):
            place = place or (gym.make(env) if isinstance(env, str) else env())
            transcript = play_scripted(place, name, request)
            if not transcript.episode.valid_for_training:
                failed, place = place, None
                with contextlib.suppress(Exception):
                    failed.close()
            yield transcript
    finally:
        if place is not None:
            place.close()
