"""What a trainer does with levels: ask for them, say how they were played, write it down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from pixelis.agents.episodes.behaviour import Row
from pixelis.agents.episodes.episode import Episode
from pixelis.agents.episodes.seeds import level_generator, task_seeds
from pixelis.agents.episodes.task_env import TaskEnv
from pixelis.agents.run_files.state_files import read_json, write_json
from pixelis.agents.settings.levels import RandomLevels
from pixelis.agents.settings.rl import TrainConfig
from pixelis.agents.ued import (
    accel,  # noqa: F401 (they register samplers)
    baselines,  # noqa: F401 (they register samplers)
    cells,  # noqa: F401 (they register samplers)
    plr,  # noqa: F401 (they register samplers)
    sfl,  # noqa: F401 (they register samplers)
)
from pixelis.agents.ued.oracle import ORACLE, LevelOracle
from pixelis.agents.ued.outcomes import outcomes_of
from pixelis.agents.ued.report import LevelReport
from pixelis.agents.ued.sampler import SAMPLERS, LevelRequest, LevelSampler, SampledLevel
from pixelis.agents.ued.space import Level, LevelSpace, level_space
from pixelis.errors import CheckpointError, StateError

_FILE = "levels.json"
_AFTER = -1 % 2**32  # the round of the random numbers that are drawn when a step is over
_TASK_LABELS = ("family", "difficulty")
MOST_CELL_LABELS = 64
"""With more cells than this, metrics are told by dial alone, not by cell."""


class LevelSelection:
    """The levels of a run.

    Everything random is derived from (run seed, step, round), and the sampler learns once a step is over; so
    a run that was killed draws the same levels again.

    Args:
        settings: of the run.
        env: what is played.

    Attributes:
        space: the levels there are.
        oracle: plays them as well as can be; None where no dial is set, or the environment ships none.
        sampler: chooses among them.
        report: counts.

    Raises:
        ConfigError: there is no such sampler, dial or value, or the sampler cannot do with this environment.
    """

    def __init__(self, settings: TrainConfig, env: TaskEnv) -> None:
        self._settings = settings
        self._options = env.options("train")
        kind = SAMPLERS.find(settings.levels.type)
        self.space, self.oracle = LevelSpace({}), None
        if kind.uses_dials:
            self.space = _space(settings, env)
            if ORACLE in env.players:
                self.oracle = LevelOracle(env.make, self.space, self._options)
        self.sampler: LevelSampler = kind(self.space, settings, self.oracle)
        self.report = LevelReport(settings.levels.window)
        self._draws: dict[int, list[SampledLevel]] = {}  # of steps that are not over

    def begin(self, step: int) -> list[SampledLevel]:
        """Return what a step plays first, at least ``groups`` draws."""
        groups = self._settings.groups
        ask = self._ask(step, 0, groups, groups + self.sampler.most_extra)
        self._draws[step] = self.sampler.draw(ask)
        return list(self._draws[step])

    def more(self, step: int, round: int, count: int) -> list[SampledLevel]:
        """Return what a later round of the step plays, in the place of groups without signal."""
        draws = self.sampler.draw(self._ask(step, round, count, count))
        self._draws[step] += draws
        return draws

    def options(self, level: Level) -> dict[str, Any]:
        """Return the reset options of a level, without its seed."""
        return {**self._options, **self.space.options(level.cell)}

    def scored_only(self, step: int) -> frozenset[int]:
        """Return the groups of a step so far that are not to be trained on."""
        return frozenset(place for place, draw in enumerate(self._draws[step]) if not draw.trained)

    def note(self, step: int, episodes: Sequence[Episode]) -> Row:
        """Let the sampler learn from a step's episodes; return the metrics, under ``levels/``."""
        levels = self._settings.levels
        asks = isinstance(levels, RandomLevels) and levels.oracle and self.sampler.wants_regret
        asked = self.oracle if asks else None
        draws = self._draws.pop(step)
        outcomes = outcomes_of(draws, episodes, asked)
        row = self.report.note(outcomes, self._labels(draws, episodes))
        self.sampler.observe(outcomes, level_generator(self._settings.seed, step, _AFTER))
        return {f"levels/{name}": value for name, value in (row | self.sampler.metrics()).items()}

    def table(self) -> Table | None:
        """Return what was played, by kind of level."""
        return self.report.table()

    def save_files(self, folder: Path) -> None:
        """Write everything into a checkpoint's folder, as JSON."""
        state = {"sampler": self.sampler.state_dict(), "report": self.report.state_dict()}
        write_json(folder / _FILE, {"levels": self._settings.levels.type, **state})

    def load_files(self, folder: Path) -> None:
        """Take over what `save_files` wrote; one from before there were samplers has nothing of the kind.

        Raises:
            CheckpointError: it is damaged, or of other levels.
        """
        if self._settings.levels.type == "none" and not (folder / _FILE).exists():
            return
        state = read_json(folder / _FILE)
        try:
            self.report.load_state_dict(state["report"])
            self.sampler.load_state_dict(state["sampler"])
        except StateError as error:
            raise CheckpointError(f"checkpoint {str(folder)!r}: {error}") from error

    def close(self) -> None:
        """Close the oracle's environment."""
        if self.oracle is not None:
            self.oracle.close()

    # ------------------------------------------------------------------ private

    def _ask(self, step: int, round: int, count: int, seeds: int) -> LevelRequest:
        seed = self._settings.seed
        fresh = task_seeds(seed, step, seeds, round)
        return LevelRequest(count, fresh, level_generator(seed, step, round), refill=round > 0)

    def _labels(self, draws: Sequence[SampledLevel], episodes: Sequence[Episode]) -> list[list[str]]:
        """Return the kinds of each group's level: its cell, its dials, and what the environment calls it."""
        tasks: dict[int, Mapping[str, Any]] = {}
        for episode in episodes:
            task = episode.info.get("task")
            if isinstance(task, Mapping):
                tasks.setdefault(episode.group, task)
        return [self._names(draw.level, tasks.get(place, {})) for place, draw in enumerate(draws)]

    def _names(self, level: Level, task: Mapping[str, Any]) -> list[str]:
        values = self.space.values(level.cell)
        several = len(values) > 1 and self.space.size <= MOST_CELL_LABELS
        told = {name: task[name] for name in _TASK_LABELS if name in task} | values
        return [
            *([self.space.label(level.cell)] if several else []),
            *(f"{name}={value}" for name, value in told.items()),
        ]


def _space(settings: TrainConfig, env: TaskEnv) -> LevelSpace:
    probe = env.make()
    try:
        return level_space(probe, getattr(settings.levels, "dials", {}), settings.reset_options)
    finally:
        probe.close()
