"""The sampler ``accel``: robust level replay whose new levels are edits of what was replayed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from pixelis.agents.episodes.behaviour import Row
from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.ued.oracle import LevelOracle
from pixelis.agents.ued.plr import PrioritisedLevelReplay
from pixelis.agents.ued.sampler import SAMPLERS, LevelOutcome, LevelRequest, SampledLevel
from pixelis.agents.ued.space import Cell, Level, LevelSpace
from pixelis.errors import ConfigError

_SEEDS = 2**30
"""Seeds of edited levels lie below this."""


class Accel(PrioritisedLevelReplay):
    """Adversarially compounding complexity by editing levels.

    New levels stand at the easy end of every dial whose values are numbers (the others are drawn at random).
    After a step, the replayed levels of the highest score, ``level_edits`` at most, are each edited: one such
    dial is turned by one, the seed is new. (With the parent's seed the buffer ends with the few seeds that it
    began with, as new levels are too easy to be taken in; once those are learnt by heart, nothing is left.)
    Levels of score 0 are edited where there are no others, so a buffer that is solved through and through
    grows harder. What the environment's oracle cannot solve is dropped.
    The others are played in the next step for their score, without being trained on, and the buffer takes
    them in by it.

    Source: Parker-Holder et al. 2022, Evolving Curricula with Regret-Based Environment Design (arXiv
    2203.01302), section 3; the check by an oracle is ours.

    Raises:
        ConfigError: no dial can be turned, or there is no oracle.
    """

    needs_oracle: ClassVar[bool] = True

    def __init__(self, space: LevelSpace, config: TrainConfig, oracle: LevelOracle | None = None) -> None:
        super().__init__(space, config, oracle)
        if not any(len(list(space.dials.values())[place]) > 1 for place in space.ordered):
            raise ConfigError(
                "levels accel turns a dial of numbers by one, and none of the dials "
                f"{list(space.dials)} is one with two values; choose levels plr"
            )
        if oracle is None:
            raise ConfigError(
                "levels accel needs the environment's oracle to know that an edited level can be solved, "
                "and it ships none: give it a policy called oracle, or choose levels plr"
            )
        self._children: list[Level] = []
        self._edited = self._dropped = 0

    @property
    def robust(self) -> bool:
        """New levels are only scored."""
        return True

    def draw(self, request: LevelRequest) -> list[SampledLevel]:
        """Return the edited levels, then replayed and new ones."""
        children = [] if request.refill else self._children[: request.count]
        rest = self.draw_places(request, request.seeds, request.count - len(children))
        return [*(SampledLevel(level, False, "edit") for level in children), *rest]

    def new_cell(self, rng: np.random.Generator) -> Cell:
        """Return a cell at the easy end; where that does not exist, the nearest to it of some that do."""
        drawn = self.space.draw(rng)
        easy = tuple(0 if place in self.space.ordered else index for place, index in enumerate(drawn))
        if self.space.exists(easy):
            return easy
        others = [drawn, *(self.space.draw(rng) for _ in range(15))]
        return min(others, key=lambda cell: sum(cell[place] for place in self.space.ordered))

    def observe(self, outcomes: Sequence[LevelOutcome], rng: np.random.Generator) -> None:
        """Put the scores into the buffer, and edit levels for the next step."""
        super().observe(outcomes, rng)
        played = {outcome.draw.level for outcome in outcomes if outcome.draw.origin == "replay"}
        kept = [entry for entry in self.buffer.entries if entry.level in played]
        kept.sort(key=lambda entry: entry.priority, reverse=True)
        parents = [entry.level for entry in kept[: self.settings.edits]]
        self._edited = self._dropped = 0
        self._children = [child for parent in parents if (child := self.edit(parent, rng)) is not None]

    def edit(self, level: Level, rng: np.random.Generator) -> Level | None:
        """Return a new level, one dial turned by one; None if no dial can be, or the oracle fails on it."""
        cells = self.space.neighbours(level.cell)
        if not cells:
            return None
        child = Level(cells[int(rng.integers(len(cells)))], int(rng.integers(_SEEDS)))
        self._edited += 1
        assert self.oracle is not None  # the constructor has checked it
        played = self.oracle.play(child)
        if played is None or not played.solved:
            self._dropped += 1
            return None
        return child

    def metrics(self) -> Row:
        """Return those of the buffer, levels edited after this step, and how many could not be solved."""
        return super().metrics() | {"edits": self._edited, "edits_dropped": self._dropped}

    def state_dict(self) -> dict[str, Any]:
        """Return the buffer and the edited levels that wait."""
        return super().state_dict() | {"children": [level.to_json() for level in self._children]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over the buffer and the edited levels that wait."""
        super().load_state_dict(state)
        self._children = [self.level_of(values) for values in state["children"]]


SAMPLERS.register("accel")(Accel)
