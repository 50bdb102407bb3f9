"""Test cases that make the same call: once more with the same value, or with another."""

from __future__ import annotations

from collections.abc import Sequence

from pixelis.envs.coding.answers.best_constant import best_constant
from pixelis.envs.coding.answers.comparison import AnswerComparison, canonical
from pixelis.envs.coding.problems.literals import check_size
from pixelis.envs.coding.problems.problem import TestCase


def without_repeats(cases: Sequence[TestCase]) -> tuple[TestCase, ...]:
    """Return test cases without those that say what an earlier one says, which would only count it again."""
    first: dict[str, TestCase] = {}
    for case in cases:
        first.setdefault(f"{_call(case)} {canonical(case.expected)} {case.comparison}", case)
    return tuple(first.values())


def contradicted(cases: Sequence[TestCase], comparison: AnswerComparison) -> TestCase | None:
    """Return a test case whose call also has an expected value that no answer could meet as well.

    Every call is judged by itself, so a function that remembers its calls has no place in test cases.

    Args:
        cases: perhaps with repeats.
        comparison: what counts as equal, unless a case says it.

    Raises:
        DatasetError: a value that no program could be given or return, see ``check_size``.
    """
    by_call: dict[str, list[TestCase]] = {}
    for case in cases:
        check_size([list(case.args), dict(case.kwargs), case.expected])
        by_call.setdefault(_call(case), []).append(case)
    for same in by_call.values():
        wanted = [(case.expected, case.comparison or comparison) for case in same]
        if len(same) > 1 and best_constant(wanted)[1] < len(same):
            return same[0]
    return None


def _call(case: TestCase) -> str:
    return canonical([case.args, dict(case.kwargs)])
