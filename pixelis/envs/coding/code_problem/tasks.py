"""Tasks made of coding problems: drawn by families, or the rows of a file."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import numpy as np

from pixelis.envs.coding.families import FAMILIES, HiddenTests, draw_problem, family_of
from pixelis.envs.coding.problems import Problem
from pixelis.envs.coding.problems.problem_file import ProblemFile
from pixelis.envs.coding.verification.verification import judging_tests
from pixelis.envs.tasks import Task
from pixelis.errors import DatasetError, PixelisError, TaskError

FAMILY = "code_problem"
_SEEDS = 2**53  # what every JSON reader holds exactly
_MOST_DRAWS = 10_000
_LOG = logging.getLogger(__name__)


class FamilyTasks:
    """Task source: problems that families draw.

    Args:
        names: of the families, in any order.
    """

    family = FAMILY

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(name for name in FAMILIES if name in names)
        self.covered = tuple(sorted({each for name in names for each in FAMILIES[name].difficulties}))
        self.difficulties = range(self.covered[0], self.covered[-1] + 1)

    def nearest(self, difficulty: int) -> int:
        """Return the difficulty that is covered and nearest to another one, the easier of two."""
        return min(self.covered, key=lambda one: (abs(one - difficulty), one))

    def sample(self, rng: np.random.Generator, difficulty: int, split: str) -> Task:
        """Draw a family that covers the difficulty, a problem of it, and a seed for its hidden tests.

        Raises:
            DifficultyError: none of the families covers it.
        """
        problem = draw_problem(rng, difficulty, split, names=self.names)
        return task_of(problem, int(rng.integers(_SEEDS)), family_of(problem).reference(problem))


class FileTasks:
    """Task source: the rows of a file whose tests are test cases.

    Args:
        file: the problems.

    Raises:
        DatasetError: no row can be judged, see ``ScriptNeededError``.
    """

    family = FAMILY
    difficulties = range(1)

    def __init__(self, file: ProblemFile) -> None:
        self.file = file
        if file.needs_script:
            why = "; ".join(f"{count} {reason}" for reason, count in file.needs_script.most_common(3))
            left_out = f"{sum(file.needs_script.values())} rows whose tests are no test cases ({why})"
            if not file.translated:
                raise DatasetError(
                    f"{file.path} has only {left_out}; write tests as args and expected values"
                )
            _LOG.warning("%s: left out are %s", file.path, left_out)

    def sample(self, rng: np.random.Generator, difficulty: int, split: str) -> Task:
        """Draw a row of a split.

        Raises:
            TaskError: the split has none that can be judged.
        """
        count = self.file.count(split)
        for _ in range(_MOST_DRAWS if count else 0):
            _, row = self.file.read(split, int(rng.integers(count)))
            if not row.problem.needs_script:
                return task_of(row.problem, int(rng.integers(_SEEDS)), row.solution, difficulty=0)
        raise TaskError(
            f'{self.file.path} has no rows of split {split!r} to play; give some rows "split": "{split}", or '
            "play the other split"
        )


def task_of(problem: Problem, seed: int, solution: str, difficulty: int | None = None) -> Task:
    """Return the task of solving a problem; its answer is a solution, empty where none is known."""
    problem = problem.with_shown_examples()
    return Task(
        id=problem.id,
        family=FAMILY,
        difficulty=problem.difficulty if difficulty is None else difficulty,
        split=problem.split,
        question=problem.prompt,
        answer=solution,
        data={"problem": problem.to_json(), "seed": seed},
    )


def problem_of(task: Task) -> tuple[Problem, int, HiddenTests]:
    """Return the problem that a task asks for, the seed of its hidden tests, and these.

    Raises:
        TaskError: the task's data are not those of a problem that can be judged.
    """
    if not isinstance(task.data.get("problem"), Mapping):
        raise TaskError(
            f"{task.id}: data['problem'] must be an object, got {task.data.get('problem')!r:.60}; "
            "write what Problem.to_json returns"
        )
    seed = task.data.get("seed", 0)
    if type(seed) is not int or not 0 <= seed < _SEEDS:
        raise TaskError(f"{task.id}: data['seed'] must be an integer from 0 to 2**53, got {seed!r:.60}")
    problem = Problem.from_json(task.data["problem"])
    try:
        return problem, seed, judging_tests(problem, seed)
    except PixelisError as error:
        raise TaskError(f"{task.id} cannot be played: {error}") from None
    except Exception as error:  # a family's own functions, on a rule that somebody wrote by hand
        raise TaskError(
            f"{task.id}: the rule {dict(problem.rule)!r:.80} is none of the family {problem.family!r} "
            f"({type(error).__name__}: {error}); use a task that the environment drew"
        ) from None
