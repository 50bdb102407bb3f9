"""The sampler ``learnability``: cells are drawn by what their groups have shown to be learnable now."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from pixelis.agents.episodes.behaviour import Row
from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.ued.oracle import LevelOracle
from pixelis.agents.ued.sampler import SAMPLERS, LevelOutcome, LevelRequest, LevelSampler, SampledLevel
from pixelis.agents.ued.scores import (
    band_weight,
    beta_mean,
    beta_spread,
    proportional_weights,
    smoothed_learnability,
)
from pixelis.agents.ued.space import Level, LevelSpace
from pixelis.errors import StateError

_COUNTS = ("successes", "members", "learnable", "groups")
_TRIES = 8
"""Levels that the oracle is asked of before one that it cannot solve is played."""


class CellLearnability(LevelSampler):
    """Fresh seeds, in cells drawn by learnability; no level is kept.

    A cell's groups share one estimate, as G members are few: with sums over its groups, which are
    multiplied by d (``level_decay``) after every step, and scaled down to m groups (``level_memory``)
    where they are more,

    - success rate p = (1 + sum k) / (2 + sum G), see `beta_mean`;
    - learnability s = (1/6 + sum k (G - k) / (G (G - 1))) / (1 + groups), see `smoothed_learnability`.

    A cell is drawn with probability (s' b(p')) ** (1 / beta) u / sum, where beta is ``level_beta``: the
    proportional prioritisation of level replay (arXiv 2010.03934, section 3.1).

    - p' is drawn anew for each group from Beta(1 + sum k, 1 + sum (G - k)), and s' = s p' (1 - p') /
      E[p' (1 - p')]: Thompson sampling (arXiv 1707.02038, section 3). A cell whose only group was unlucky
      is so tried again, rather than left to the rotation.
    - b is 1 in the target band of success rates and falls linearly to 0 at the rates 0 and 1.
    - u = (1 + levels that the oracle solves) / (1 + levels that it was asked of), ever: what it cannot do is
      not learnt later either. 1 without an oracle (``level_oracle``).

    The oracle, which costs no episode of the model, plays each level first. One that it cannot solve is not
    played, and another is drawn; the eighth in a row is played nevertheless.

    Rotation: of the first T steps' groups, the share ``level_rotation`` goes to the cells that have waited
    longest, so each is played at least once in about cells / (rotation x groups) steps, whatever its score;
    a cell whose level the oracle cannot solve gives its turn to the next.

    Decay lets an estimate age with the policy it was made of (exponential forgetting, as in a
    discounted bandit). The bound lets that of a cell that is played much follow the policy faster: it
    has data enough, and would lag behind what it teaches. The score is that of SFL (arXiv 2408.15099)
    taken over cells for levels.
    """

    wants_regret: ClassVar[bool] = True

    def __init__(self, space: LevelSpace, config: TrainConfig, oracle: LevelOracle | None = None) -> None:
        super().__init__(space, config, oracle)
        self.cells = space.cells
        self._places = {cell: place for place, cell in enumerate(self.cells)}
        self._sums = {name: np.zeros(len(self.cells)) for name in _COUNTS}
        self._oracle = np.zeros((2, len(self.cells)))  # levels it cannot solve, and levels it was asked of
        self._waited = np.zeros(len(self.cells), np.int64)  # steps since a cell was drawn
        self._owed = 0.0  # groups of the rotation that are due, a fraction of one included
        self._refused = 0  # levels of the last step that were not played

    def rates(self) -> np.ndarray:
        """Return the estimated success rate of each of ``cells``, float64."""
        pairs = zip(self._sums["successes"], self._sums["members"], strict=True)
        return np.array([beta_mean(successes, members) for successes, members in pairs])

    def weights(self, rates: np.ndarray | None = None) -> np.ndarray:
        """Return the probability of each of ``cells`` where it is not the rotation's turn.

        Args:
            rates: success rates to go by, in (0, 1), float64 [..., cells]; None: the estimated ones, and
                the estimated learnability.

        Returns:
            float64 [..., cells].
        """
        low, high = self.settings.band_low, self.settings.band_high
        pairs = zip(self._sums["learnable"], self._sums["groups"], strict=True)
        scores = np.array([smoothed_learnability(total, groups) for total, groups in pairs])
        if rates is None:
            rates = self.rates()
        else:
            scores = scores * rates * (1.0 - rates) / beta_spread(*self._posterior())
        beyond, asked = self._oracle
        solvable = (1.0 + asked - beyond) / (1.0 + asked)
        suited = proportional_weights(scores * band_weight(rates, low, high), self.settings.beta)
        return suited * solvable / (suited * solvable).sum(axis=-1, keepdims=True)

    def draw(self, request: LevelRequest) -> list[SampledLevel]:
        """Return new levels: the rotation's cells first, then by learnability."""
        turns = 0 if request.refill else min(request.count, len(self.cells), int(self._due(request.count)))
        order = request.rng.permutation(len(self.cells))  # those that have waited equally long, in any order
        waiting = iter(order[np.argsort(-self._waited[order], kind="stable")].tolist())
        draws = []
        for seed in request.seeds[: request.count]:
            rest = (self._thompson(request.rng) for _ in range(_TRIES))
            places = itertools.chain(waiting, rest) if len(draws) < turns else rest
            draws.append(self._first_solvable(places, seed))
        return draws

    def observe(self, outcomes: Sequence[LevelOutcome], rng: np.random.Generator) -> None:
        """Let what is known fade by one step, then add the groups of this one."""
        self._owed = self._due(self.groups) % 1.0
        self._waited += 1
        for sums in self._sums.values():
            sums *= self.settings.decay
        self._refused = 0
        for outcome in outcomes:
            self._refuse([self._places[cell] for cell in outcome.draw.refused])
            place = self._places[outcome.draw.level.cell]
            self._waited[place] = 0
            if outcome.score is not None:
                self._add(place, outcome, outcome.score)
        groups = np.maximum(self._sums["groups"], self.settings.memory)
        for sums in self._sums.values():
            sums *= self.settings.memory / groups

    def metrics(self) -> Row:
        """Return the share of draws in the band, the expected rates of draws and of cells, and refusals."""
        weights, rates = self.weights(), self.rates()
        inside = (rates >= self.settings.band_low) & (rates <= self.settings.band_high)
        return {
            "in_band": float(weights[inside].sum()),
            "expected_success": float(weights @ rates),
            "mean_success": float(rates.mean()),
            "refused": self._refused,
        }

    def state_dict(self) -> dict[str, Any]:
        """Return the cells' sums."""
        rows = np.stack([*self._sums.values(), *self._oracle, self._waited.astype(float)], axis=1).tolist()
        return {
            "cells": [[list(cell), row] for cell, row in zip(self.cells, rows, strict=True)],
            "owed": self._owed,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over the cells' sums."""
        saved = {tuple(cell): row for cell, row in state["cells"]}
        if set(saved) != set(self._places):
            raise StateError(
                "the saved cells are not those of this environment and these level_dials; "
                "resume with the same"
            )
        if any(len(row) != len(_COUNTS) + 3 for row in saved.values()):
            raise StateError(
                "the saved cells are of an earlier version; finish the run with it or start anew"
            )
        for cell, place in self._places.items():
            *sums, beyond, asked, waited = saved[cell]
            self._oracle[:, place] = beyond, asked
            for name, value in zip(_COUNTS, sums, strict=True):
                self._sums[name][place] = float(value)
            self._waited[place] = int(waited)
        self._owed = float(state["owed"])

    def _due(self, groups: int) -> float:
        """Return how many groups the rotation is owed in this step."""
        return self._owed + self.settings.rotation * groups

    def _posterior(self) -> tuple[np.ndarray, np.ndarray]:
        """Return both parameters of the Beta distribution of each cell's success rate."""
        return 1.0 + self._sums["successes"], 1.0 + self._sums["members"] - self._sums["successes"]

    def _thompson(self, rng: np.random.Generator) -> int:
        """Draw the place of a cell, by success rates drawn for it alone."""
        rates = rng.beta(*self._posterior()).clip(1e-9, 1 - 1e-9)
        below = self.weights(rates).cumsum()
        return int((below < rng.random() * below[-1]).sum())

    def _first_solvable(self, places: Iterator[int], seed: int) -> SampledLevel:
        """Return the first level that the oracle solves, of these cells; else the last that was tried."""
        tried: list[Level] = []
        for place in itertools.islice(places, _TRIES):
            tried.append(Level(self.cells[place], seed))
            if self.solvable(tried[-1]):
                break
        return SampledLevel(tried[-1], refused=tuple(level.cell for level in tried[:-1]))

    def _refuse(self, places: Sequence[int]) -> None:
        """Take notice of cells whose levels the oracle could not solve."""
        self._refused += len(places)
        self._waited[places] = 0
        for place in places:
            self._oracle[:, place] += 1.0

    def _add(self, place: int, outcome: LevelOutcome, score: float) -> None:
        successes = outcome.successes
        if outcome.oracle_return is not None:
            failing = successes is not None and successes < outcome.members
            self._oracle[:, place] += failing and outcome.mean_return >= outcome.oracle_return, 1.0
        if successes is None:  # where the environment does not say, the share of the return stands for it
            successes = float(np.clip(outcome.mean_return, 0.0, 1.0)) * outcome.members
        for name, value in zip(_COUNTS, (successes, outcome.members, score, 1.0), strict=True):
            self._sums[name][place] += value


SAMPLERS.register("learnability")(CellLearnability)
