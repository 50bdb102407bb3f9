"""The levels that prioritised level replay keeps, with their scores and how long they have waited."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pixelis.agents.ued.sampler import LevelOutcome
from pixelis.agents.ued.scores import replay_weights
from pixelis.agents.ued.space import Level


@dataclass
class BufferedLevel:
    """A level that is kept.

    Attributes:
        level: the level.
        score: what could be learnt when it was last played.
        regret: how far the mean return was below the best that is known, at least 0.
        best: the oracle's return, else the highest that a member ever had.
        drawn: value of the buffer's clock when it was last played.
    """

    level: Level
    score: float
    regret: float
    best: float
    drawn: int

    @property
    def priority(self) -> tuple[float, float]:
        """By which entries are ranked: learnability, and regret among equals.

        Regret alone would prefer what cannot be learnt yet, where it is highest.
        """
        return self.score, self.regret


class LevelBuffer:
    """At most ``capacity`` levels; replay probabilities are those of `replay_weights`.

    Args:
        capacity: most levels.
        beta: temperature of the ranks.
        rho: share of staleness.

    Attributes:
        entries: in the order in which they came.
        clock: groups observed so far.
    """

    def __init__(self, capacity: int, beta: float, rho: float) -> None:
        self.capacity, self._beta, self._rho = capacity, beta, rho
        self.entries: list[BufferedLevel] = []
        self.clock = 0

    def __len__(self) -> int:
        """Return the number of levels."""
        return len(self.entries)

    def __contains__(self, level: object) -> bool:
        """Return whether a level is kept."""
        return any(entry.level == level for entry in self.entries)

    def ages(self) -> list[int]:
        """Return for each entry how many groups were observed since it was played."""
        return [self.clock - entry.drawn for entry in self.entries]

    def weights(self) -> np.ndarray:
        """Return the replay probability of each entry, float64; there must be one."""
        priorities = [entry.priority for entry in self.entries]
        return replay_weights(priorities, self.ages(), self._beta, self._rho)

    def sample(self, count: int, rng: np.random.Generator) -> list[Level]:
        """Draw levels, none twice as long as there are enough; there must be one."""
        levels: list[Level] = []
        while len(levels) < count:
            size = min(count - len(levels), len(self.entries))
            weights = self.weights()
            if np.count_nonzero(weights) < size:  # ranks so steep that some probabilities are rounded to 0
                weights = (weights + 1e-12) / (weights + 1e-12).sum()
            chosen = rng.choice(len(self.entries), size=size, replace=False, p=weights)
            levels += [self.entries[place].level for place in chosen]
        return levels

    def note(self, outcome: LevelOutcome) -> None:
        """Take notice of a group: its level's score, or the level itself if it deserves a place.

        A full buffer gives up the entry of the lowest replay probability, if the new one ranks above it
        (arXiv 2010.03934, section 3). A level without a score, whose episodes failed, is not taken in.
        """
        self.clock += 1
        level, score = outcome.draw.level, outcome.score
        known = next((entry for entry in self.entries if entry.level == level), None)
        if known is not None:
            known.drawn = self.clock
            if score is not None:
                known.best = _best(outcome, known.best)
                known.score, known.regret = score, max(0.0, known.best - outcome.mean_return)
            return
        if score is None:
            return
        best = _best(outcome)
        new = BufferedLevel(level, score, max(0.0, best - outcome.mean_return), best, self.clock)
        if len(self.entries) >= self.capacity:
            least = int(np.argmin(self.weights()))
            if new.priority <= self.entries[least].priority:
                return
            del self.entries[least]
        self.entries.append(new)

    def state_dict(self) -> dict[str, Any]:
        """Return everything as JSON-able values."""
        rows = [[e.level.to_json(), e.score, e.regret, e.best, e.drawn] for e in self.entries]
        return {"clock": self.clock, "entries": rows}

    def load_state_dict(self, state: Mapping[str, Any], levels: Sequence[Level]) -> None:
        """Take over what `state_dict` returned.

        Args:
            state: it.
            levels: its levels, which the caller has checked.
        """
        self.clock = int(state["clock"])
        self.entries = [
            BufferedLevel(level, float(score), float(regret), float(best), int(drawn))
            for level, (_, score, regret, best, drawn) in zip(levels, state["entries"], strict=True)
        ]


def _best(outcome: LevelOutcome, known: float = -math.inf) -> float:
    """Return the oracle's return, else the highest ever seen (MaxMC, arXiv 2110.02439, appendix)."""
    if outcome.oracle_return is not None:
        return outcome.oracle_return
    return max(known, *outcome.returns)
