"""Demonstrations of scripted players that play the environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pixelis.agents.episodes.episode import Episode, Segment
from pixelis.agents.episodes.failures import FailureWatch
from pixelis.agents.episodes.scripted import Transcript, play_all
from pixelis.agents.models.chat import ChatFormat
from pixelis.agents.rollout.collector import EnvFactory, EpisodeRequest
from pixelis.errors import ConfigError


def demonstrations(
    chat: ChatFormat,
    env: str | EnvFactory,
    players: str | Mapping[str, float],
    seeds: Sequence[int],
    *,
    options: Mapping[str, Any] | None = None,
    mix_seed: int = 0,
) -> list[Episode]:
    """Let scripted players play and tokenise what they said as if the model had sampled it.

    An episode in which the env failed demonstrates nothing and is left out; the log says why.

    Args:
        chat: the chat format of the policy that will learn, ``policy.chat``.
        env: a Gymnasium id or a factory.
        players: the name of a scripted player of the env, or names with weights: each episode is played by
            one of them, drawn in proportion.
        seeds: reset seeds, one episode each.
        options: reset options.
        mix_seed: for the draw.

    Raises:
        ConfigError: an unknown player, or weights that are negative or all zero.
        EpisodesFailedError: every episode failed.
    """
    mix = {players: 1.0} if isinstance(players, str) else dict(players)
    weights = np.array(list(mix.values()), dtype=float)
    if not len(weights) or (weights < 0).any() or weights.sum() <= 0:
        raise ConfigError(f"the mix of players needs weights >= 0 with a positive sum, got {mix}")
    names = np.random.default_rng(mix_seed).choice(list(mix), size=len(seeds), p=weights / weights.sum())
    requests = [EpisodeRequest(seed, group, 0, options or {}) for group, seed in enumerate(seeds)]
    episodes = [
        as_demonstration(chat, each) if each.episode.valid_for_training else each.episode
        for each in play_all(env, requests, [str(name) for name in names])
    ]
    FailureWatch().note(episodes, "the demonstrations")
    return [episode for episode in episodes if episode.valid_for_training]


def as_demonstration(chat: ChatFormat, transcript: Transcript) -> Episode:
    """Return a scripted episode with its tokens; the loss mask is True on what the policy said."""
    episode = transcript.episode
    for turn in transcript.turns:
        add_observation(chat, episode, turn.text, turn.image, transcript.tools)
        add_turn(chat, episode, turn.action)
    return episode


def add_observation(
    chat: ChatFormat,
    episode: Episode,
    text: str,
    image: np.ndarray | None = None,
    tools: Sequence[Mapping[str, Any]] = (),
    system: str = "",
) -> None:
    """Append what the policy reads: the prompt of an empty episode, else a later observation.

    Args:
        chat: the chat format.
        episode: changed in place.
        text: the observation.
        image: uint8 [H, W, 3] or None.
        tools: schemas in OpenAI's function form, for the prompt.
        system: a system message, for the prompt.
    """
    if episode.segments:
        episode.segments.append(chat.later(text, image, int(episode.segments[-1].tokens[-1])))
    else:
        episode.segments.append(chat.first(text, image, tools, system))


def add_turn(chat: ChatFormat, episode: Episode, text: str, *, weight: float = 1.0) -> None:
    """Append a turn that the demonstrator said; its tokens count ``weight`` in the loss, 0: they are read."""
    tokens = chat.written(text)
    make = Segment.written if weight else Segment.given
    episode.segments.append(replace(make(tokens, text=chat.decode(tokens)), weight=weight))
