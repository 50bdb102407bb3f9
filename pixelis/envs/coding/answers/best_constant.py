"""The constant that is right most often: what a solution earns that looks at nothing it is given."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from pixelis.envs.coding.answers.comparison import (
    NUMBERS,
    SEQUENCES,
    AnswerComparison,
    canonical,
    compare,
    described,
    has_leeway,
    loosest,
    reach_of,
    written,
)

Wanted = tuple[Any, AnswerComparison]
"""An expected value and what counts as equal to it."""
MOST_STEPS = 1_000_000
"""Intervals looked at, of values with many numbers. Beyond, the most found so far counts."""
_TRIED = 10  # expected values that are tried as the constant before one is made up


class _Case(NamedTuple):
    """An expected value, the same with what has no order sorted, and an interval for each of its numbers."""

    value: Any
    rule: AnswerComparison
    plain: Any
    spans: tuple[tuple[float, float], ...]


def best_constant(wanted: Sequence[Wanted]) -> tuple[Any, int]:
    """Return the value that is right for most of some expected values, at least one, and for how many.

    A value with numbers stands for a box: each number may lie in an interval, as wide as its tolerance. The
    constant lies in most boxes, so it need be none of the expected values. Without tolerance it is the most
    frequent one, the first of several.
    """
    rules = {rule for _, rule in wanted}
    loose = loosest(rules)
    groups: dict[str, list[_Case]] = {}
    for value, rule in wanted:
        shape, case = _described(value, rule, loose)
        groups.setdefault(shape, []).append(case)
    best: list[_Case] = []
    steps = iter(range(MOST_STEPS))
    for group in sorted(groups.values(), key=len, reverse=True):
        best = _densest(group, len(best), steps) or best
    is_plain = len(rules) == 1 and not _has_tolerance(loose)
    return (best[0].value if is_plain else _common(best, loose)), len(best)


def _has_tolerance(rule: AnswerComparison) -> bool:
    return bool(rule.float_tolerance or rule.relative_tolerance)


def _described(value: Any, rule: AnswerComparison, loose: AnswerComparison) -> tuple[str, _Case]:
    """Return the text of all that must be alike, and the case."""
    numbers: list[Any] | None = [] if _has_tolerance(loose) else None
    plain = list(value) if loose.any_sequence and type(value) in SEQUENCES else value
    if loose.unordered and type(plain) in (list, tuple):
        if numbers is None:
            parts = sorted(canonical(item, loose) for item in plain)
            return f"{type(plain).__name__} of {','.join(parts)}", _Case(value, rule, plain, ())
        plain = type(plain)(one.item for one in sorted(described(plain, loose), key=lambda one: one[:2]))
    shape = written(plain, loose, numbers)
    return shape, _Case(value, rule, plain, tuple(_span(number, rule) for number in numbers or ()))


def _span(number: Any, rule: AnswerComparison) -> tuple[float, float]:
    """Return the least and the greatest value that is taken for a number, a rounding wider."""
    reach = reach_of(number, rule)
    if not reach:
        return number, number
    return math.nextafter(number - reach, -math.inf), math.nextafter(number + reach, math.inf)


def _densest(cases: list[_Case], least: int, steps: Iterator[int]) -> list[_Case]:
    """Return the most cases, more than ``least``, whose boxes share a point; empty if there are none.

    Boxes share one exactly when their intervals have one on each axis. On an axis where they have not, the
    most that have share the lower end of one of them: these sets are searched, the largest first.
    """
    if len(cases) <= least:
        return []
    axes = range(len(cases[0].spans))
    count = len(cases) * len(axes)
    if len([*islice(steps, count)]) < count:
        return [] if least else cases  # without any found, rather too many than a constant that earns
    for axis in axes:
        lows = sorted(case.spans[axis][0] for case in cases)
        highs = sorted(case.spans[axis][1] for case in cases)
        if lows[-1] > highs[0]:
            break
    else:
        return cases
    best: list[_Case] = []
    counts = [(bisect_right(lows, low) - bisect_left(highs, low), low) for low in dict.fromkeys(lows)]
    for size, low in sorted(counts, key=lambda pair: -pair[0]):
        known = max(least, len(best))
        if size <= known:
            break
        inside = [case for case in cases if case.spans[axis][0] <= low <= case.spans[axis][1]]
        best = _densest(inside, known, steps) or best
    return best


def _common(cases: Sequence[_Case], loose: AnswerComparison) -> Any:
    """Return a value that is right for all cases: one of theirs, else the middle of what they share."""
    columns = [*zip(*(case.spans for case in cases), strict=True)]
    shared = [(max(low for low, _ in column), min(high for _, high in column)) for column in columns]
    for case in islice(_near(cases, shared), _TRIED):
        if all(compare(other.value, case.value, other.rule) for other in cases):
            return case.value
    return _filled(cases[0].plain, loose, iter([low + (high - low) / 2 for low, high in shared]))


def _near(cases: Sequence[_Case], shared: Sequence[tuple[float, float]]) -> Iterator[_Case]:
    """Yield the cases whose numbers (the middles of their intervals) lie in what all share."""
    for case in cases:
        middles = (low + (high - low) / 2 for low, high in case.spans)
        if all(low <= middle <= high for middle, (low, high) in zip(middles, shared, strict=True)):
            yield case


def _filled(value: Any, rule: AnswerComparison, numbers: Iterator[float]) -> Any:
    """Return a value with other numbers in the places of those with leeway, in the order of `written`."""
    kind = type(value)
    if kind in NUMBERS:
        return next(numbers) if has_leeway(value, rule) else value
    if kind in (list, tuple):
        return kind([_filled(item, rule, numbers) for item in value])
    if kind is dict:
        keys = sorted(value, key=lambda key: canonical(key, rule))
        return {key: _filled(value[key], rule, numbers) for key in keys}
    return value
