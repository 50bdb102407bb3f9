"""What a sampler of levels is; the samplers are registered by name, each in a module of its own."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from pixelis.agents.episodes.behaviour import Row
from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.ued.oracle import LevelOracle
from pixelis.agents.ued.scores import learnability, positive_advantage
from pixelis.agents.ued.space import Cell, Level, LevelSpace
from pixelis.errors import StateError
from pixelis.registry import Registry

Origin = Literal["fresh", "replay", "edit", "candidate"]


@dataclass(frozen=True)
class SampledLevel:
    """A level that is to be played by one group.

    Attributes:
        level: the level.
        trained: whether the group is trained on; else it is played for its score alone.
        origin: where the level comes from.
        refused: cells that were drawn before this one, of levels that the oracle could not solve.
    """

    level: Level
    trained: bool = True
    origin: Origin = "fresh"
    refused: tuple[Cell, ...] = ()


@dataclass(frozen=True)
class LevelRequest:
    """What a trainer asks a sampler for.

    Attributes:
        count: groups to train on.
        seeds: reset seeds for new levels, at least ``count`` + the sampler's ``most_extra``.
        rng: for everything else that is random.
        refill: the draws replace groups of this step that had no signal, so all of them are trained on.
    """

    count: int
    seeds: Sequence[int]
    rng: np.random.Generator
    refill: bool = False


@dataclass(frozen=True)
class LevelOutcome:
    """How a group fared on a level.

    Attributes:
        draw: what was played.
        rewards: what the members were paid, those that are valid for training.
        returns: what the environment itself gave them: ``rewards`` without added reward terms.
        successes: how many of them succeeded; None where the environment does not say.
        oracle_return: what the environment gives its oracle on this level; None if nobody asked.
    """

    draw: SampledLevel
    rewards: tuple[float, ...]
    returns: tuple[float, ...]
    successes: int | None = None
    oracle_return: float | None = None

    @property
    def members(self) -> int:
        """Valid members."""
        return len(self.returns)

    @property
    def score(self) -> float | None:
        """What can be learnt: `learnability`, or `positive_advantage` without success; None below two.

        0 where the oracle does no better than the group, so that there is no regret: what is won by luck
        alone, as an impossible task is now and then, differs between members for ever and teaches nothing.
        """
        if self.members < 2:
            return None
        if self.oracle_return is not None and self.mean_return >= self.oracle_return:
            return 0.0
        if self.successes is None:
            return positive_advantage(self.returns)
        return learnability(self.successes, self.members)

    @property
    def mean_return(self) -> float:
        """Mean of the returns; NaN without members."""
        return math.fsum(self.returns) / self.members if self.returns else math.nan

    @property
    def zero_variance(self) -> bool:
        """Whether the group has no variance in what it was paid: the gradient is 0 where that is compared."""
        return self.members < 2 or float(np.std(self.rewards, ddof=1)) <= 1e-8


class LevelSampler(ABC):
    """Chooses levels, learns from how they were played, and can be saved.

    `draw` leaves the state as it is: only `observe`, once a step, changes it. So a step that is cut off is
    drawn again as it was.

    Args:
        space: the cells there are.
        config: of the run.
        oracle: plays a level as well as it can be played; None where the environment ships no oracle.

    Attributes:
        settings: the run's ``levels``, of the sampler's own type.
        groups: that a step plays.
        most_extra: most draws beyond ``LevelRequest.count``.
    """

    uses_dials: ClassVar[bool] = True
    """Whether it sets the environment's dials."""
    wants_regret: ClassVar[bool] = False
    """Whether outcomes should say what the oracle gets, where that is known."""
    most_extra: int = 0

    def __init__(self, space: LevelSpace, config: TrainConfig, oracle: LevelOracle | None = None) -> None:
        self.space, self.oracle, self.groups = space, oracle, config.groups
        self.settings: Any = config.levels

    @abstractmethod
    def draw(self, request: LevelRequest) -> list[SampledLevel]:
        """Return ``request.count`` draws, and up to ``most_extra`` others that are not trained on."""

    def observe(self, outcomes: Sequence[LevelOutcome], rng: np.random.Generator) -> None:  # noqa: B027
        """Take notice of all groups of a step, in the order of play; nothing by default."""

    def solvable(self, level: Level) -> bool:
        """Return whether the oracle solves a level; True if there is none, or it is not to be asked."""
        if self.oracle is None or not self.settings.oracle:
            return True
        played = self.oracle.play(level)
        return played is None or played.solved

    def metrics(self) -> Row:
        """Return what the step should say of the sampler, without the prefix ``levels/``."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed run needs, as JSON-able values."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:  # noqa: B027 (nothing by default)
        """Take over what `state_dict` returned.

        Raises:
            StateError: it holds levels that this space does not have.
        """

    def level_of(self, values: Sequence[Any]) -> Level:
        """Return a saved level.

        Raises:
            StateError: there is no such cell.
        """
        level = Level.from_json(values)
        if not self.space.contains(level.cell):
            raise StateError(
                f"the saved level {list(values)} does not exist with the dials {list(self.space.dials)}; "
                "resume with the environment of the run"
            )
        return level


SAMPLERS: Registry[type[LevelSampler]] = Registry("sampler of levels")


@SAMPLERS.register("none")
class FixedDials(LevelSampler):
    """Fresh seeds; the dials stay where the environment and its reset options have them."""

    uses_dials: ClassVar[bool] = False

    def draw(self, request: LevelRequest) -> list[SampledLevel]:
        """Return new levels."""
        return [SampledLevel(Level((), seed)) for seed in request.seeds[: request.count]]
