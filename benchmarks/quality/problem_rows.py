"""How many problems of a JSONL file can be verified by test cases, and whether its own solutions pass them.

    python benchmarks/quality/problem_rows.py HumanEval.jsonl

Runs the solutions that the file itself holds, and the same functions with the body ``pass``, in this process:
only for a file you trust.
"""

from __future__ import annotations

import argparse
import builtins
from typing import Any

from pixelis.envs.coding.answers.comparison import compare
from pixelis.envs.coding.problems.problem import Problem
from pixelis.envs.coding.problems.problem_file import ProblemFile
from pixelis.envs.coding.problems.problem_rows import ProblemRow
from pixelis.envs.coding.problems.trusted import trusted_function
from pixelis.envs.tasks import SPLITS


def passes(problem: Problem, source: str) -> bool:
    """Return whether a solution passes all test cases; an exception is a wrong answer."""
    try:
        function = trusted_function(source, problem.entry)
        return all(
            compare(
                case.expected,
                _around(problem, function(*case.args, **case.kwargs)),
                case.comparison or problem.comparison,
            )
            for case in problem.tests
        )
    except Exception:
        return False


def _around(problem: Problem, value: Any) -> Any:
    """Return a call's value with those built-ins applied that a row's assertions have around their calls."""
    for name in reversed(problem.around):
        value = getattr(builtins, name)(value)
    return value


def asked_rows(description: str | None) -> list[ProblemRow]:
    """Return the rows of the file that the command line names, and print how many there are of which kind."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path")
    file = ProblemFile.open(parser.parse_args().path)
    rows = [file.read(split, at)[1] for split in SPLITS for at in range(file.count(split))]
    print(f"{len(rows)} rows, {file.translated} by test cases; scripts: {dict(file.needs_script)}")
    return rows


def main() -> None:
    """Print the counts."""
    rows = asked_rows(__doc__)
    for row in rows:
        if row.problem.needs_script:
            print("script:", row.problem.id, row.untranslated)
    cases = [row for row in rows if not row.problem.needs_script]
    failed = [row.problem.id for row in cases if row.solution and not passes(row.problem, row.solution)]
    print(f"own solutions: {sum(bool(row.solution) for row in cases)}, that fail: {len(failed)} {failed}")
    empty = [
        row.problem.id
        for row in cases
        if passes(row.problem, f"{row.problem.prefix}\n    pass\n" if row.problem.prefix else "")
    ]
    print(f"`pass` as body passes: {len(empty)} {empty}")


if __name__ == "__main__":
    main()
