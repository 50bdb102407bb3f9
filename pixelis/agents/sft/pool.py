"""Demonstrations sorted by difficulty: what is learnt from, what is held out, and in which order."""

from __future__ import annotations

import hashlib
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pixelis.agents.episodes.episode import Episode
from pixelis.errors import CheckpointError, ConfigError

_HOLD_OUT, _ORDER, _MIX = 1, 2, 3  # what a random generator is for


@dataclass(frozen=True)
class Pool:
    """Demonstrations by difficulty.

    Attributes:
        train: difficulty → those to learn from, at least one each.
        held_out: difficulty → those kept apart, perhaps none.
    """

    train: Mapping[int, Sequence[Episode]]
    held_out: Mapping[int, Sequence[Episode]]

    @classmethod
    def split(cls, episodes: Sequence[Episode], share: float, seed: int) -> Pool:
        """Keep a share of each difficulty apart, by prompts: those of one prompt are on one side.

        Args:
            episodes: demonstrations; those without a demonstrated token are left out.
            share: of each difficulty, rounded, and the rest of the last prompt; at least one prompt where
                ``share`` > 0 and there are two or more.
            seed: decides which.

        Raises:
            ConfigError: nothing to learn from.
        """
        by_level: dict[int, list[Episode]] = {}
        for episode in episodes:
            if episode.completion_length:
                by_level.setdefault(difficulty_of(episode), []).append(episode)
        if not by_level:
            raise ConfigError(
                "SFT needs at least one demonstration with a turn in it whose weight is above 0"
            )
        train: dict[int, list[Episode]] = {}
        held_out: dict[int, list[Episode]] = {}
        for level, found in sorted(by_level.items()):
            apart = _held_out(found, share, np.random.default_rng([seed, _HOLD_OUT, abs(level)]))
            held_out[level] = [each for each in found if prompt_of(each) in apart]
            train[level] = [each for each in found if prompt_of(each) not in apart]
        return cls(train, held_out)

    @property
    def digest(self) -> str:
        """SHA-256 over tokens, images, masks and weights: whether the demonstrations are the same."""
        digest = hashlib.sha256()
        for part in (self.train, self.held_out):
            for level, episodes in part.items():
                digest.update(f"{level}:{len(episodes)};".encode())
                for episode in episodes:
                    for segment in episode.segments:
                        digest.update(segment.content)
                    digest.update(episode.loss_mask.tobytes())
                    if (episode.weights != 1).any():
                        digest.update(episode.weights.tobytes())
        return digest.hexdigest()

    def require(self, levels: Sequence[int]) -> None:
        """Check that there are demonstrations of each difficulty, to learn from and held out.

        Raises:
            ConfigError: naming the one that is missing.
        """
        for level in levels:
            if not self.train.get(level) or not self.held_out.get(level):
                raise ConfigError(
                    f"the curriculum needs demonstrations of two or more tasks of difficulty {level}, one to "
                    f"hold out; there are difficulties {sorted(self.train)}"
                )


def prompt_of(episode: Episode) -> bytes:
    """Return a digest of what an episode begins with, text and images: the same for the same task."""
    return b"".join(each.content for each in itertools.takewhile(lambda s: not s.sampled, episode.segments))


def _held_out(episodes: Sequence[Episode], share: float, rng: np.random.Generator) -> set[bytes]:
    """Return prompts in random order until a share of the episodes is theirs, but not all prompts."""
    counts = Counter(map(prompt_of, episodes))
    prompts, wanted = list(counts), max(1, round(share * len(episodes))) if share else 0
    apart: set[bytes] = set()
    for index in rng.permutation(len(prompts))[:-1]:
        if wanted <= 0:
            break
        apart.add(prompts[index])
        wanted -= counts[prompts[index]]
    return apart


def difficulty_of(episode: Episode) -> int:
    """Return the difficulty of an episode's task, 0 where it does not say."""
    task = episode.info.get("task") or {}
    return int(task.get("difficulty") or 0)


class Draws:
    """Batches from a pool: each difficulty is gone through in a new random order, again and again.

    Args:
        train: difficulty → demonstrations.
        seed: decides the orders and the mixes.
    """

    def __init__(self, train: Mapping[int, Sequence[Episode]], seed: int) -> None:
        self._train, self._seed = train, seed
        self._drawn = {level: 0 for level in train}
        self._every = [(level, index) for level in train for index in range(len(train[level]))]
        self._passed = 0

    @property
    def epochs(self) -> float:
        """How often, on average, each demonstration has been drawn."""
        return (self._passed + sum(self._drawn.values())) / len(self._every)

    def batch(self, size: int) -> list[Episode]:
        """Return the next demonstrations of the whole pool; each is drawn once a pass.

        The last batch of a pass is shorter when ``size`` does not divide the pool, so a pass has
        ``ceil(pool / size)`` batches.
        """
        passes, start = divmod(self._passed, len(self._every))
        order = self._order(passes, None, len(self._every))
        picked = [self._every[index] for index in order[start : start + size]]
        self._passed += len(picked)
        return [self._train[level][index] for level, index in picked]

    def mixed(self, size: int, mix: Mapping[int, float], step: int) -> list[Episode]:
        """Return ``size`` demonstrations whose difficulties are drawn from a mix.

        Args:
            size: how many.
            mix: difficulty → share; the shares add up to 1.
            step: which draw; the same step draws the same difficulties.
        """
        rng = np.random.default_rng([self._seed, _MIX, step])
        levels = rng.choice(list(mix), size=size, p=list(mix.values()))
        return [self._next(int(level)) for level in levels]

    def state_dict(self) -> dict[str, Any]:
        """Return how far it is, as JSON-able values."""
        return {"passed": self._passed, "drawn": {str(level): count for level, count in self._drawn.items()}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go back to a state.

        Raises:
            CheckpointError: it is of other difficulties.
        """
        drawn = {int(level): int(count) for level, count in state["drawn"].items()}
        if drawn.keys() != self._drawn.keys():
            raise CheckpointError(
                f"the checkpoint knows difficulties {sorted(drawn)}, there are {sorted(self._drawn)}"
            )
        self._drawn, self._passed = drawn, int(state["passed"])

    def _next(self, level: int) -> Episode:
        episodes = self._train[level]
        passes, index = divmod(self._drawn[level], len(episodes))
        self._drawn[level] += 1
        return episodes[self._order(passes, level, len(episodes))[index]]

    def _order(self, passes: int, level: int | None, count: int) -> np.ndarray:
        words = [self._seed, _ORDER, passes, 0 if level is None else 1 + abs(level)]
        return np.random.default_rng(words).permutation(count)
