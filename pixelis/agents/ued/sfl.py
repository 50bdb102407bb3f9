"""The sampler ``sfl``: sampling for learnability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from pixelis.agents.episodes.behaviour import Row
from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.ued.oracle import LevelOracle
from pixelis.agents.ued.sampler import SAMPLERS, LevelOutcome, LevelRequest, LevelSampler, SampledLevel
from pixelis.agents.ued.space import Level, LevelSpace


class SamplingForLearnability(LevelSampler):
    """Every ``level_every`` steps random levels are scored; the most learnable are trained on from then on.

    The ``level_candidates`` candidates are played beside the groups that are trained on, so the first choice
    counts from the second step. Of those with a score above 0, the best ``level_keep`` are kept; groups are
    trained on them, drawn uniformly, and the share ``level_fresh`` on fresh random levels. A kept level is
    not scored again before the next choice.

    Source: Rutherford et al. 2024, No Regrets (arXiv 2408.15099), section 4.
    """

    wants_regret: ClassVar[bool] = True

    def __init__(self, space: LevelSpace, config: TrainConfig, oracle: LevelOracle | None = None) -> None:
        super().__init__(space, config, oracle)
        self.most_extra = self.settings.candidates
        self.kept: list[Level] = []
        self._steps = 0

    def draw(self, request: LevelRequest) -> list[SampledLevel]:
        """Return kept and fresh levels, then the candidates where it is time for them."""
        fresh = request.count
        if self.kept:
            fresh = 0 if request.refill else int(request.rng.binomial(request.count, self.settings.fresh))
        count = request.count - fresh
        several = count > len(self.kept)
        chosen = request.rng.choice(len(self.kept), size=count, replace=several) if count else []
        draws = [SampledLevel(self.kept[place], True, "replay") for place in chosen]
        draws += [self._new(seed, request.rng) for seed in request.seeds[:fresh]]
        if self._steps % self.settings.every or request.refill:
            return draws
        others = request.seeds[fresh : fresh + self.settings.candidates]
        return draws + [
            SampledLevel(self._new(seed, request.rng).level, False, "candidate") for seed in others
        ]

    def observe(self, outcomes: Sequence[LevelOutcome], rng: np.random.Generator) -> None:
        """Choose anew if candidates were played."""
        self._steps += 1
        candidates = [outcome for outcome in outcomes if outcome.draw.origin == "candidate"]
        if candidates:
            best = sorted((each for each in candidates if each.score), key=_priority, reverse=True)
            self.kept = [outcome.draw.level for outcome in best[: self.settings.keep]]

    def metrics(self) -> Row:
        """Return how many levels are kept."""
        return {"kept": len(self.kept)}

    def state_dict(self) -> dict[str, Any]:
        """Return the kept levels."""
        return {"steps": self._steps, "kept": [level.to_json() for level in self.kept]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over the kept levels."""
        self._steps = int(state["steps"])
        self.kept = [self.level_of(values) for values in state["kept"]]

    def _new(self, seed: int, rng: np.random.Generator) -> SampledLevel:
        return SampledLevel(Level(self.space.draw(rng), seed))


def _priority(outcome: LevelOutcome) -> tuple[float, float]:
    """Return learnability, and among equals the true regret (0 where no oracle played)."""
    regret = 0.0 if outcome.oracle_return is None else outcome.oracle_return - outcome.mean_return
    return outcome.score or 0.0, regret


SAMPLERS.register("sfl")(SamplingForLearnability)
