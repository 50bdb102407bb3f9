"""A JSONL file of coding problems, of any length."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

from pixelis.envs.coding.problems.problem_rows import ProblemRow, row_of
from pixelis.envs.data.file import RowFile, RowKey, RowPlace
from pixelis.errors import DatasetError, shown


class ProblemFile(RowFile[ProblemRow]):
    """The problems of a file by split, see `RowFile`.

    Args:
        path: the file; rows of HumanEval's, MBPP's and the user's own shape may be mixed.

    Attributes:
        translated: rows whose tests are test cases.
        needs_script: rows whose tests are a script only, by the reason for which they were not read.

    Raises:
        DatasetError: see `RowFile`; two problems with one name, too.
    """

    what = "JSONL file of coding problems"
    parse = staticmethod(row_of)

    def __init__(self, path: Path) -> None:
        self.translated = 0
        self.needs_script: Counter[str] = Counter()
        self._lines: dict[int, int] = {}
        super().__init__(path)
        self._lines.clear()

    def enter(self, row: ProblemRow, place: RowPlace) -> RowKey:
        """Count a row, and refuse a second one of its name."""
        problem = row.problem
        first = self._lines.setdefault(_digest(problem.id), place.number)
        if first != place.number:
            raise DatasetError(
                f"a second problem is called {shown(problem.id, 60)}, the first one is in line {first}; "
                "give each an id of its own, or leave the copy out"
            )
        self.translated += not problem.needs_script
        if problem.needs_script:
            self.needs_script[row.untranslated.rpartition(": ")[2]] += 1
        return RowKey(problem.split, _digest(f"{problem.statement}\0{problem.prefix}"))


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")
