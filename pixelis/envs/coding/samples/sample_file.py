"""A JSONL file of samples, a model's answers to the problems of another file: HumanEval's shape."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pixelis.envs.coding.answers.extraction import extract_code
from pixelis.envs.coding.problems.problem import Problem
from pixelis.envs.coding.problems.problem_file import ProblemFile
from pixelis.envs.data.lines import FileLine, find_file, good_rows, json_object, read_lines
from pixelis.envs.tasks import SPLITS
from pixelis.errors import DatasetError, shown, suggest

_WHAT = "JSONL file of samples"
_SOURCES = ("completion", "solution")
_MOST_NAMES = 10_000  # among which a name like an unknown one is looked for


@dataclass(frozen=True)
class Sample:
    """One answer.

    Attributes:
        line: where it stands in its file, from 1.
        task: number of its problem, see `Tasks`.
        text: what was answered.
    """

    line: int
    task: int
    text: str

    def source(self, problem: Problem, *, extract: bool) -> str:
        """Return the candidate's source; with ``extract``, the code in the text, which may have none."""
        return (extract_code(self.text, problem.entry, problem.prefix) or "") if extract else self.text


class Tasks:
    """The problems of a file by number, in the order of splits and lines, and by name.

    Attributes:
        names: each problem's ``task_id``.

    Raises:
        DatasetError: two problems have one name.
    """

    def __init__(self, problems: ProblemFile) -> None:
        self._file = problems
        self._places = [(split, at) for split in SPLITS for at in range(problems.count(split))]
        self.names: list[str] = []
        self._numbers: dict[str, int] = {}
        for number, place in enumerate(self._places):
            line, row = problems.read(*place)
            self.names.append(row.problem.id)
            for name in {row.problem.id, row.problem.id.removeprefix("mbpp/")}:
                if name in self._numbers:
                    raise DatasetError(
                        f"{problems.path}, line {line}: a second problem is called {shown(name, 60)}"
                    )
                self._numbers[name] = number

    def number(self, name: Any) -> int:
        """Return the number of a problem; `DatasetError` if there is none of that name."""
        found = self._numbers.get(str(name)) if type(name) in (str, int) else None
        if found is None:
            hint = suggest(str(name)[:60], self.names[:_MOST_NAMES])
            raise DatasetError(f"no problem is called {str(name)[:60]!r}.{hint}")
        return found

    def problem(self, number: int) -> Problem:
        """Return a problem, read from its file."""
        return self._file.read(*self._places[number])[1].problem


class SampleFile:
    """The samples of a file, checked when it is opened and read one at a time; 8 bytes of memory a row.

    Args:
        path: the file; a row holds ``task_id`` and ``completion`` (or ``solution``), and what else it likes.
        tasks: the problems they answer.

    Raises:
        DatasetError: the file cannot be read, has no rows, or bad rows (the first five are named by line).
    """

    def __init__(self, path: str | os.PathLike[str], tasks: Tasks) -> None:
        self.path: Path = find_file(path, _WHAT)[0]
        self.tasks = array("q")
        self._tasks = tasks
        self.tasks.extend(each.task for _, each in good_rows(self.path, read_lines(self.path), self._sample))

    def __len__(self) -> int:
        """Return how many samples there are."""
        return len(self.tasks)

    def read(self, first: int) -> Iterator[Sample]:
        """Yield the samples from the ``first`` on (counted from 0), in the file's order."""
        for number, line in enumerate(read_lines(self.path)):
            if number >= first:
                yield self._sample(line)

    def _sample(self, line: FileLine) -> Sample:
        row = json_object(line.text)
        if "task_id" not in row:
            raise DatasetError("field 'task_id' is missing; it names the problem that the sample answers")
        given = [name for name in _SOURCES if name in row]
        if len(given) != 1 or not isinstance(row[given[0]], str):
            raise DatasetError(
                f"expected one text, in the field 'completion' or 'solution', got {given or 'neither'}"
            )
        return Sample(line.number, self._tasks.number(row["task_id"]), row[given[0]])
