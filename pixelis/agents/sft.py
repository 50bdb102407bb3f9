"""Supervised fine-tuning on demonstrations: the warm start before reinforcement learning.

A demonstration is an ordinary `Episode` in which the loss mask marks what the demonstrator said. It comes
from a scripted policy that played the environment, or from a JSONL file of chats.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch

from pixelis.agents.chat import ChatFormat
from pixelis.agents.episode import Episode, Segment
from pixelis.agents.policy import Policy
from pixelis.agents.rollout import EnvFactory, EpisodeRequest
from pixelis.agents.scripted import Transcript, play_scripted
from pixelis.errors import ConfigError, TrainingError


@dataclass(frozen=True)
class SftSettings:
    """How to fine-tune.

    Attributes:
        epochs: passes over the demonstrations, at least 1.
        batch_size: demonstrations an optimiser step, at least 1.
        learning_rate: AdamW's, at its peak.
        warmup: share of the steps in which the rate rises linearly, in [0, 1); it then falls as a half
            cosine.
        weight_decay: AdamW's.
        max_grad_norm: the gradient's global norm is clipped to this.
        seed: for the order of the demonstrations and for dropout.
    """

    epochs: int = 1
    batch_size: int = 16
    learning_rate: float = 3e-4
    warmup: float = 0.05
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.epochs < 1 or self.batch_size < 1 or self.learning_rate <= 0 or not 0 <= self.warmup < 1:
            raise ConfigError(
                f"SFT needs epochs >= 1, batch_size >= 1, learning_rate > 0 and 0 <= warmup < 1, got {self}"
            )


@dataclass(frozen=True)
class SftStep:
    """One optimiser step.

    Attributes:
        step: from 0.
        loss: mean negative log-likelihood a demonstrated token, in nats.
        learning_rate: the one used.
        grad_norm: before clipping.
        tokens: demonstrated tokens in the batch.
    """

    step: int
    loss: float
    learning_rate: float
    grad_norm: float
    tokens: int


def sft(
    policy: Policy,
    episodes: Sequence[Episode],
    settings: SftSettings,
    on_step: Callable[[SftStep], None] | None = None,
) -> list[SftStep]:
    """Fine-tune a policy's trainable parameters (the adapter, or all weights without one) on demonstrations.

    The loss is the mean over the demonstrated tokens of a batch; prompts and observations do not count.

    Args:
        policy: changed in place.
        episodes: demonstrations; those without a demonstrated token are left out.
        settings: how.
        on_step: called after each optimiser step.

    Returns:
        The steps in order; the same inputs and settings give the same ones.

    Raises:
        ConfigError: nothing to learn from.
        TrainingError: the loss is not finite.
    """
    useful = [episode for episode in episodes if episode.completion_length]
    if not useful:
        raise ConfigError("SFT needs at least one demonstration with a turn in it")
    parameters = policy.trainable_parameters()
    optimiser = torch.optim.AdamW(parameters, lr=settings.learning_rate, weight_decay=settings.weight_decay)
    total = settings.epochs * math.ceil(len(useful) / settings.batch_size)
    torch.manual_seed(settings.seed)
    steps: list[SftStep] = []
    policy.model.train()
    try:
        for index, batch in enumerate(_batches(useful, settings)):
            rate = settings.learning_rate * rate_factor(index, total, settings.warmup)
            steps.append(_update(policy, batch, optimiser, rate, settings.max_grad_norm, index))
            if on_step is not None:
                on_step(steps[-1])
    finally:
        policy.model.eval()
    return steps


def rate_factor(step: int, total: int, warmup: float) -> float:
    """Return the share of the peak rate: linear up over ``warmup`` of ``total`` steps, then a half cosine."""
    rising = math.ceil(warmup * total)
    if step < rising:
        return (step + 1) / (rising + 1)
    return 0.5 * (1 + math.cos(math.pi * (step - rising) / max(1, total - rising)))


def _update(
    policy: Policy,
    batch: Sequence[Episode],
    optimiser: torch.optim.Optimizer,
    rate: float,
    clip: float,
    index: int,
) -> SftStep:
    for group in optimiser.param_groups:
        group["lr"] = rate
    optimiser.zero_grad(set_to_none=True)
    scored = policy.logprobs(batch)
    tokens = int(scored.mask.sum())
    loss = -scored.logprobs.sum() / tokens
    value = loss.item()
    if not math.isfinite(value):
        raise TrainingError(f"the SFT loss is {value} at step {index}; lower the learning rate")
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_([p for g in optimiser.param_groups for p in g["params"]], clip)
    optimiser.step()
    return SftStep(index, value, rate, float(norm), tokens)


def _batches(episodes: Sequence[Episode], settings: SftSettings) -> Iterator[list[Episode]]:
    for epoch in range(settings.epochs):
        order = np.random.default_rng([settings.seed, epoch]).permutation(len(episodes))
        for start in range(0, len(order), settings.batch_size):
            yield [episodes[i] for i in order[start : start + settings.batch_size]]


# ---------------------------------------------------------------------- where demonstrations come from


def demonstrations(
    chat: ChatFormat,
    env: str | EnvFactory,
    policies: str | Mapping[str, float],
    seeds: Sequence[int],
    *,
    options: Mapping[str, Any] | None = None,
    mix_seed: int = 0,
) -> list[Episode]:
    """Let scripted policies play and tokenise what they said as if the model had sampled it.

    Args:
        chat: the chat format of the policy that will learn, ``policy.chat``.
        env: a Gymnasium id or a factory.
        policies: the name of a scripted policy of the env, or names with weights: each episode is played by
            one of them, drawn in proportion.
        seeds: reset seeds, one episode each.
        options: reset options.
        mix_seed: for the draw.

    Raises:
        ConfigError: an unknown policy, or weights that are negative or all zero.
    """
    mix = {policies: 1.0} if isinstance(policies, str) else dict(policies)
    weights = np.array(list(mix.values()), dtype=float)
    if not len(weights) or (weights < 0).any() or weights.sum() <= 0:
        raise ConfigError(f"the mix of policies needs weights >= 0 with a positive sum, got {mix}")
    names = np.random.default_rng(mix_seed).choice(list(mix), size=len(seeds), p=weights / weights.sum())
    place = gym.make(env) if isinstance(env, str) else env()
    try:
        return [
            as_demonstration(
                chat, play_scripted(place, str(name), EpisodeRequest(seed, group, 0, options or {}))
            )
            for group, (seed, name) in enumerate(zip(seeds, names, strict=True))
        ]
    finally:
        place.close()


def as_demonstration(chat: ChatFormat, transcript: Transcript) -> Episode:
    """Return a scripted episode with its tokens; the loss mask is True on what the policy said."""
    episode = transcript.episode
    for turn in transcript.turns:
        _say(chat, episode, turn.text, turn.image, transcript.tools)
        _answer(chat, episode, turn.action)
    return episode


def load_chats(path: str | Path, chat: ChatFormat) -> list[Episode]:
    """Read demonstrations from a JSONL file.

    A line is ``{"messages": [{"role": "user", "content": "..."}, {"role": "assistant", "content": "..."},
    ...], "tools": [...]}``: user and assistant take turns, ``tools`` may be left out. A user's message may
    hold ``"image": "file.png"``, a path from the JSONL's folder.

    Raises:
        ConfigError: the file cannot be read or a line is not of that form; the message names the line.
    """
    path = Path(path)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read demonstrations from {str(path)!r}: {error}") from error
    episodes: list[Episode] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            episodes.append(_chat_episode(chat, json.loads(line), path.parent, number - 1))
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise ConfigError(
                f'{str(path)!r} line {number}: expected {{"messages": [user, assistant, ...]}}: {error}'
            ) from error
    return episodes


def _chat_episode(chat: ChatFormat, row: Mapping[str, Any], folder: Path, index: int) -> Episode:
    episode = Episode("", seed=index, group=index, member=0)
    messages = row["messages"]
    roles = [message["role"] for message in messages]
    if not roles or roles != ["user", "assistant"] * (len(roles) // 2):
        raise ValueError(f"the roles must be user, assistant, user, assistant, ..., got {roles}")
    for question, answer in zip(messages[::2], messages[1::2], strict=True):
        _say(chat, episode, question["content"], _picture(question, folder), row.get("tools", ()))
        _answer(chat, episode, answer["content"])
    return episode


def _picture(message: Mapping[str, Any], folder: Path) -> np.ndarray | None:
    from PIL import Image

    if "image" not in message:
        return None
    with Image.open(folder / message["image"]) as image:
        return np.asarray(image.convert("RGB"))


def _say(
    chat: ChatFormat,
    episode: Episode,
    text: str,
    image: np.ndarray | None,
    tools: Sequence[Mapping[str, Any]],
) -> None:
    if episode.segments:
        episode.segments.append(chat.later(text, image, int(episode.segments[-1].tokens[-1])))
    else:
        episode.segments.append(chat.first(text, image, tools))


def _answer(chat: ChatFormat, episode: Episode, text: str) -> None:
    tokens = chat.written(text)
    episode.segments.append(Segment.written(tokens, text=chat.decode(tokens)))
