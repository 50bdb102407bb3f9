"""Transitions to be curious about: ZoomRead played with one tool a turn, a room to walk in, and a noisy TV.

Imported by ``curiosity_study.py`` and by the tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import gymnasium as gym
import numpy as np

from pixelis.envs.pixel.zoom_read.players import answer, call
from pixelis.rewards.curiosity.term import CuriosityTerm
from pixelis.rewards.terms.term import Transition

KINDS = ("ZOOM", "READ_TEXT", "SEGMENT", "GET_PROPERTIES", "THINK", "answer")
_THOUGHTS = ("the", "sign", "left", "right", "of", "here", "zoom", "read", "its", "code", "maybe")
_MOVES = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1), "wait": (0, 0)}


@dataclass(frozen=True)
class Sample:
    """A transition and its kind: the tool that was called."""

    kind: str
    transition: Transition


def play_zoom_read(seeds: Sequence[int], turns: int = 8) -> list[Sample]:
    """Return the transitions of episodes of ZoomRead: every turn a random tool, at last an answer.

    Args:
        seeds: of the episodes; they also draw tools and arguments.
        turns: of an episode, at most 8.
    """
    env = gym.make("Pixelis/ZoomRead-v0", reader="truth")
    samples: list[Sample] = []
    for seed in seeds:
        rng = np.random.default_rng([seed, 1])
        observation, _ = env.reset(seed=seed)
        for turn in range(turns):
            kind = str(rng.choice(KINDS[:-1])) if turn < turns - 1 else KINDS[-1]
            action = _action(kind, rng)
            following, _, terminated, truncated, info = env.step(action)
            calls = tuple(info["tool_calls"])
            step = Transition(observation, action, following, calls, terminated, truncated)
            samples.append(Sample(kind, step))
            observation = following
    env.close()
    return samples


def _action(kind: str, rng: np.random.Generator) -> str:
    if kind == "ZOOM":
        center = [round(float(value), 3) for value in rng.uniform(0.1, 0.9, 2)]
        return call(kind, center=center, factor=round(float(rng.uniform(2, 8)), 1))
    if kind == "GET_PROPERTIES":
        return call(kind, region=int(rng.integers(1, 4)))
    if kind == "THINK":
        return call(kind, thought=" ".join(rng.choice(_THOUGHTS, 6)))
    if kind == "answer":
        return answer("".join(rng.choice(list("ABCDEFGHJK"), 4)))
    return call(kind)


def with_tv(transition: Transition, rng: np.random.Generator, share: float, block: int) -> Transition:
    """Return a transition with fresh random colours in the top right corner of both pictures.

    Args:
        transition: with ``image``.
        rng: draws the colours.
        share: of the picture's side that the TV takes, in (0, 1].
        block: side of a square of one colour, in pixels.
    """
    before, after = (
        {**observation, "image": tv_on(observation["image"], rng, share, block)}
        for observation in (transition.observation, transition.next_observation)
    )
    return replace(transition, observation=before, next_observation=after)


def tv_on(image: np.ndarray, rng: np.random.Generator, share: float, block: int) -> np.ndarray:
    """Return a copy of a picture, uint8 [H, W, 3], with random colours in its corner."""
    side = int(image.shape[0] * share)
    blocks = -(-side // block)
    noise = rng.integers(0, 256, (blocks, blocks, 3), dtype=np.uint8).repeat(block, 0).repeat(block, 1)
    image = image.copy()
    image[:side, -side:] = noise[:side, :side]
    return image


class Room:
    """A room seen from above, 96 × 96 pixels: someone walks in its lower half, a TV hangs in a corner above.

    The picture is all there is to see. Columns 0–2 are the near part, 3–5 the far one. The TV is on or off
    for a whole step, whatever the walker does.

    Args:
        tv_share: of the picture's side that the TV takes.
        seed: draws places, moves and what is on TV.
    """

    columns, cell = 6, 16

    def __init__(self, tv_share: float, seed: int) -> None:
        self._tv_share, self._rng = tv_share, np.random.default_rng([seed, 2])

    def play(self, count: int, part: str = "near", tv: float = 0.5) -> list[Transition]:
        """Return transitions from random places of a part with random moves; ``tv``: how often it is on."""
        low, high = {"near": (0, 2), "far": (3, 5)}[part]
        return [self._step(low, high, bool(self._rng.random() < tv)) for _ in range(count)]

    def _step(self, low: int, high: int, tv: bool) -> Transition:
        move = str(self._rng.choice(list(_MOVES)))
        row, column = int(self._rng.integers(3, 6)), int(self._rng.integers(low, high + 1))
        down, right = _MOVES[move]
        after = (int(np.clip(row + down, 3, 5)), int(np.clip(column + right, low, high)))
        return Transition(self._picture(row, column, tv), move, self._picture(*after, tv))

    def _picture(self, row: int, column: int, tv: bool) -> dict[str, Any]:
        image = np.full((96, 96, 3), 60, np.uint8)
        top, left = row * self.cell, column * self.cell
        image[top : top + self.cell, left : left + self.cell] = (230, 200, 40)
        if tv:
            image = tv_on(image, self._rng, self._tv_share, block=6)
        return {"image": image}


def watch(term: CuriosityTerm, transitions: Sequence[Transition], batch: int = 16) -> None:
    """Let a term score and learn from transitions in order."""
    for start in range(0, len(transitions), batch):
        term.score([(term.begin(), step) for step in transitions[start : start + batch]])
        term.learn()


def auc(low: Sequence[float], high: Sequence[float]) -> float:
    """Return the share of pairs in which the one of ``high`` is greater; ties count half (Mann–Whitney)."""
    a, b = np.asarray(low)[:, None], np.asarray(high)[None, :]
    return float(((b > a) + 0.5 * (b == a)).mean())
