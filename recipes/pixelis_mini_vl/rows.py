"""What a scene teaches, as tokens: demonstrations of its questions, and what is seen in the first view."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import gymnasium as gym
import numpy as np

import pixelis  # noqa: F401  (registers the environments)
from pixelis.agents.episodes.episode import Segment
from pixelis.agents.episodes.episode_runner import EpisodeRequest
from pixelis.agents.episodes.scripted import Transcript, play_scripted
from pixelis.agents.models.chat import ChatFormat
from pixelis.envs.tasks import Task
from pixelis.envs.tool_env import ToolEnv
from pixelis_mini_vl.patches import patch_targets
from pixelis_mini_vl.routines import ROUTINES, player
from pixelis_mini_vl.scenes import seen_in, tasks_of, things_in

LEVELS: dict[str, tuple[float, ...]] = {
    "ZoomRead": (0.25, 0.5, 0.25),
    "SizeCompare": (0.35, 0.45, 0.2),
    "CountTiny": (0.8, 0.2),
    "TrackRead": (0.7, 0.3),
    "ReceiptSum": (0.75, 0.25),
    "WireTrace": (0.75, 0.25),
    "ChartRead": (0.8, 0.2),
}
"""Environment → how often its difficulties 0, 1, … are drawn."""

SHARES: dict[str, float] = {
    "ZoomRead": 1.0,
    "SizeCompare": 1.5,
    "CountTiny": 0.7,
    "TrackRead": 1.5,
    "ReceiptSum": 1.0,
    "WireTrace": 1.3,
    "ChartRead": 1.0,
}
"""Environment → its weight among the scenes."""

VISUAL = ("ZoomRead", "SizeCompare", "TrackRead", "ReceiptSum", "WireTrace", "ChartRead")
"""The environments in whose first views something is to be seen."""

SPLIT = "train"

KINDS = (*ROUTINES, *(f"{name}, seen" for name in ROUTINES))
"""What a row is about: an episode of an environment, or what is seen in its first view."""


@dataclass(frozen=True)
class Row:
    """One sequence to learn from.

    Attributes:
        tokens: uint16 ``(t,)``.
        learned: bool ``(t,)``, whether the token is learned.
        images: uint8 ``(s, s, 3)`` each, in the order of their placeholders.
        kind: index in ``KINDS``.
        patches: what its first image's patches must tell, see ``patch_targets``; None for nothing.
    """

    tokens: np.ndarray
    learned: np.ndarray
    images: list[np.ndarray]
    kind: int
    patches: np.ndarray | None = None


VIEWS_A_SCENE = 2
"""First views that are only described, for each scene that is played."""


def rows(chat: ChatFormat, seed: int) -> Iterator[list[Row]]:
    """Yield the rows of one scene after the other, without end."""
    rng = np.random.default_rng(seed)
    envs = {name: _demonstration_env(name, rng) for name in ROUTINES}
    while True:
        name, task = _draw(envs, tuple(ROUTINES), rng)
        found: list[Row] = []
        for options in tasks_of(task, rng):
            played = play_scripted(envs[name], "demonstrator", EpisodeRequest(0, options={"task": options}))
            if not played.episode.valid_for_training:
                raise RuntimeError(f"{name}: {played.episode.failure_reason}")
            found.append(_demonstration(chat, played, KINDS.index(name)))
            if len(found) == 1:
                found += _first_view(chat, name, task, played.turns[0].image, rng)
        for _ in range(VIEWS_A_SCENE):
            name, task = _draw(envs, VISUAL, rng)
            observation, _ = envs[name].reset(options={"task": task.to_json()})
            found += _first_view(chat, name, task, observation["image"], rng)
        yield found


def _draw(envs: Mapping[str, Any], names: Sequence[str], rng: np.random.Generator) -> tuple[str, Task]:
    shares = np.array([SHARES[name] for name in names])
    name = str(rng.choice(names, p=shares / shares.sum()))
    levels = np.array(LEVELS[name])
    level = int(rng.choice(len(levels), p=levels / levels.sum()))
    return name, envs[name].unwrapped.source_for({}).sample(rng, level, SPLIT)


def _first_view(chat: ChatFormat, name: str, task: Task, image: Any, rng: np.random.Generator) -> list[Row]:
    seen = seen_in(task)
    if not seen:
        return []
    row = _perception(chat, image, seen, rng, KINDS.index(f"{name}, seen"))
    return [replace(row, patches=patch_targets(things_in(task)))]


def _demonstration_env(name: str, rng: np.random.Generator) -> gym.Env[Any, Any]:
    kind: Any = type(gym.make(f"Pixelis/{name}-v0", reader="truth").unwrapped)

    class Demonstrated(kind):
        def players(self) -> dict[str, Callable[[ToolEnv[Any]], Any]]:
            return {**super().players(), "demonstrator": player(name, rng)}

    return Demonstrated(reader="truth", split=SPLIT)


def _row(segments: list[Segment], learned: list[np.ndarray], kind: int) -> Row:
    images = [_bytes(picture) for each in segments if each.images for picture in each.images["pixel_values"]]
    tokens = np.concatenate([each.tokens for each in segments]).astype(np.uint16)
    return Row(tokens, np.concatenate(learned), images, kind)


def _bytes(picture: Any) -> np.ndarray:
    """Undo the processor's scaling to [-1, 1]."""
    return ((picture.numpy().transpose(1, 2, 0) + 1) * 127.5).round().astype(np.uint8)


def _demonstration(chat: ChatFormat, played: Transcript, kind: int) -> Row:
    segments: list[Segment] = []
    for turn in played.turns:
        last = int(segments[-1].tokens[-1]) if segments else None
        segments.append(
            chat.later(turn.text, turn.image, last) if segments else chat.first(turn.text, turn.image)
        )
        segments.append(Segment.written(chat.written(turn.action)))
    return _row(segments, [each.loss_mask for each in segments], kind)


def _perception(
    chat: ChatFormat, image: Any, seen: list[tuple[str, str]], rng: np.random.Generator, kind: int
) -> Row:
    segments = [chat.first("seen:", image)]
    learned = [np.zeros(len(segments[0]), bool)]
    for index in rng.permutation(len(seen)):
        for text, learn in zip(("\n" + seen[int(index)][0], seen[int(index)][1]), (False, True), strict=True):
            tokens = np.asarray(chat.tokenizer(text, add_special_tokens=False)["input_ids"], dtype=np.int64)
            segments.append(Segment.given(tokens))
            learned.append(np.full(len(tokens), learn))
    return _row(segments, learned, kind)
