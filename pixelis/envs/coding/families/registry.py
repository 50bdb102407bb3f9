"""All families by name, and drawing from them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np

from pixelis.envs.coding.families.family import HIDDEN_TESTS, HiddenTests, ProblemFamily
from pixelis.envs.coding.problems.problem import Problem
from pixelis.envs.coding.problems.shown_calls import shown_calls
from pixelis.errors import ConfigError, DifficultyError, TaskError, shown, suggest

_PACKAGE = __name__.rpartition(".")[0]


def _collect() -> dict[str, ProblemFamily]:
    modules = (
        importlib.import_module(f"{_PACKAGE}.{module.name}")
        for module in pkgutil.iter_modules([str(Path(__file__).parent)])
        if module.name not in ("family", "registry")
    )
    found = [
        value for module in modules for value in vars(module).values() if isinstance(value, ProblemFamily)
    ]
    return {family.name: family for family in sorted(found, key=lambda f: (f.difficulties[0], f.name))}


FAMILIES: Mapping[str, ProblemFamily] = MappingProxyType(_collect())
"""Every `ProblemFamily` in the modules of `families`, by name, from easy to hard."""

DIFFICULTIES = range(1, 11)


def families_at(difficulty: int, names: Collection[str] | None = None) -> list[str]:
    """Return which families cover a difficulty; of ``names``, where given.

    Raises:
        ConfigError: an unknown name.
        DifficultyError: none covers it.
    """
    for name in names or ():
        _family(name, ConfigError)
    found = [
        name
        for name, family in FAMILIES.items()
        if difficulty in family.difficulties and (names is None or name in names)
    ]
    if not found:
        covered = sorted({d for name in names or FAMILIES for d in FAMILIES[name].difficulties})
        raise DifficultyError(f"no family covers difficulty {shown(difficulty)}; choose one of {covered}")
    return found


def draw_problem(
    rng: np.random.Generator, difficulty: int, split: str = "train", *, names: Collection[str] | None = None
) -> Problem:
    """Draw a family that covers a difficulty, and a problem of it, from ``rng`` alone.

    Raises:
        ConfigError: an unknown family.
        DifficultyError: no family covers the difficulty.
        SplitError: neither ``train`` nor ``test``.
    """
    covering = families_at(difficulty, names)
    return FAMILIES[covering[int(rng.integers(len(covering)))]].draw(rng, int(difficulty), split)


def family_of(problem: Problem) -> ProblemFamily:
    """Return the family that drew a problem.

    Raises:
        TaskError: no family did; it comes from a file.
    """
    return _family(problem.family, TaskError)


def hidden_tests(problem: Problem, seed: int, count: int = HIDDEN_TESTS) -> HiddenTests:
    """Return the test cases that decide, for any problem: a file's own, or cases drawn from the seed.

    Args:
        problem: any problem.
        seed: decides the cases of a family's problem; a fresh one an episode.
        count: how many a family draws.

    Raises:
        TaskError: a problem of no family that has no test cases (``problem.needs_script``).
    """
    if problem.tests or problem.family not in FAMILIES:
        return HiddenTests.of(problem.tests, problem.comparison, shown_calls(problem))
    return family_of(problem).hidden_tests(problem, seed, count)


def _family(name: str, error: type[Exception]) -> ProblemFamily:
    if name not in FAMILIES:
        raise error(f"there is no family {str(name)[:60]!r}.{suggest(str(name)[:60], FAMILIES)}")
    return FAMILIES[name]
