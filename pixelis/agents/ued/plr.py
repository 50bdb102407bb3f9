"""The sampler ``plr``: prioritised level replay, robust by default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from pixelis.agents.episodes.behaviour import Row
from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.ued.buffer import LevelBuffer
from pixelis.agents.ued.oracle import LevelOracle
from pixelis.agents.ued.sampler import SAMPLERS, LevelOutcome, LevelRequest, LevelSampler, SampledLevel
from pixelis.agents.ued.space import Cell, Level, LevelSpace


class PrioritisedLevelReplay(LevelSampler):
    """Replays levels by rank of score and by staleness; new ones come from all cells.

    Once the buffer is filled far enough, each group replays with probability ``level_replay``; else it plays
    a new level. Robust PLR trains on replayed levels alone: groups on new levels are played for their score.

    Sources: Jiang et al. 2020, Prioritized Level Replay (arXiv 2010.03934); Jiang et al. 2021, Replay-Guided
    Adversarial Environment Design (arXiv 2110.02439), which adds robust PLR. There a whole batch is either
    replayed or new, and the score is an estimate of regret from a critic; here it is decided group by group,
    and the score is the group's learnability (`LevelOutcome.score`), ties broken by true regret.
    """

    wants_regret: ClassVar[bool] = True

    def __init__(self, space: LevelSpace, config: TrainConfig, oracle: LevelOracle | None = None) -> None:
        super().__init__(space, config, oracle)
        self.buffer = LevelBuffer(self.settings.buffer, self.settings.beta, self.settings.staleness)

    @property
    def replays(self) -> bool:
        """Whether the buffer is filled far enough for replay."""
        return len(self.buffer) >= self.settings.fill * self.settings.buffer

    def draw(self, request: LevelRequest) -> list[SampledLevel]:
        """Return replayed levels, then new ones."""
        return self.draw_places(request, request.seeds, request.count)

    def draw_places(self, request: LevelRequest, seeds: Sequence[int], count: int) -> list[SampledLevel]:
        """Return ``count`` draws, new levels having the given seeds."""
        replayed = 0
        if self.replays:
            replayed = count if request.refill else int(request.rng.binomial(count, self.settings.replay))
        old = self.buffer.sample(replayed, request.rng) if replayed else []
        trains = request.refill or not self.robust
        new = [
            SampledLevel(Level(self.new_cell(request.rng), seed), trains)
            for seed in seeds[: count - replayed]
        ]
        return [*(SampledLevel(level, True, "replay") for level in old), *new]

    @property
    def robust(self) -> bool:
        """Whether new levels are only scored."""
        return self.settings.robust

    def new_cell(self, rng: np.random.Generator) -> Cell:
        """Return where a new level is drawn."""
        return self.space.draw(rng)

    def observe(self, outcomes: Sequence[LevelOutcome], rng: np.random.Generator) -> None:
        """Put the scores into the buffer."""
        for outcome in outcomes:
            self.buffer.note(outcome)

    def metrics(self) -> Row:
        """Return the size of the buffer, its mean score and its mean age in groups."""
        scores = [entry.score for entry in self.buffer.entries]
        return {
            "buffer": len(self.buffer),
            "buffer_score": float(np.mean(scores)) if scores else None,
            "buffer_age": float(np.mean(self.buffer.ages())) if scores else None,
        }

    def state_dict(self) -> dict[str, Any]:
        """Return the buffer."""
        return self.buffer.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over the buffer."""
        self.buffer.load_state_dict(state, [self.level_of(row[0]) for row in state["entries"]])


SAMPLERS.register("plr")(PrioritisedLevelReplay)
