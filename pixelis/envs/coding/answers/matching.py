"""Whether two lists are the same in another order when numbers have leeway, in a bounded number of steps."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

MOST_COMPARISONS = 100_000
"""Of two items, for one pair of lists: a candidate may choose its list so that no number is enough."""
_AXES = 10  # numbers of an item that are looked at to find one that tells the items apart


@dataclass(frozen=True)
class Leeway:
    """When two items of one shape are equal.

    Args:
        same: Tells it, of an expected and another item.
        reach: How far from an expected number another may be.
        is_line: ``reach`` grows more slowly than the number. Then items of one number each match in any order
            exactly when they match in rising order.
    """

    same: Callable[[Any, Any], bool]
    reach: Callable[[Any], float]
    is_line: bool


class Described(NamedTuple):
    """An item with all that has no leeway as a text, and the numbers that have, in the text's order."""

    shape: str
    numbers: tuple[Any, ...]
    item: Any


class _TooManyError(Exception):
    pass


def matched(expected: Sequence[Described], got: Sequence[Described], leeway: Leeway) -> bool:
    """Return whether each expected item has a partner of its own among as many others."""
    groups, theirs = _by_shape(expected), _by_shape(got)
    if {shape: len(group) for shape, group in groups.items()} != {
        shape: len(group) for shape, group in theirs.items()
    }:
        return False
    return all(_group_matched(groups[shape], theirs[shape], leeway) for shape in groups)


def _by_shape(items: Sequence[Described]) -> dict[str, list[Described]]:
    groups: dict[str, list[Described]] = {}
    for described in sorted(items, key=lambda described: described.numbers):
        groups.setdefault(described.shape, []).append(described)
    return groups


def _group_matched(expected: list[Described], got: list[Described], leeway: Leeway) -> bool:
    if all(leeway.same(want.item, other.item) for want, other in zip(expected, got, strict=True)):
        return True
    if not expected[0].numbers or (leeway.is_line and len(expected[0].numbers) == 1):
        return False
    try:
        return _has_perfect_matching(expected, got, leeway)
    except _TooManyError:
        return False


def _has_perfect_matching(expected: list[Described], got: list[Described], leeway: Leeway) -> bool:
    """Find one by augmenting paths (Kuhn 1955); raise `_TooManyError` rather than go on for long."""
    left = MOST_COMPARISONS

    def spend() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise _TooManyError

    fits: list[list[int]] = []
    order, windows = _windows(expected, got, leeway)
    for want, window in zip(expected, windows, strict=True):
        fit: list[int] = []
        for at in window:
            spend()
            if leeway.same(want.item, order[at].item):
                fit.append(at)
        if not fit:
            return False
        fits.append(fit)
    partner: dict[int, int] = {}

    def find(want: int, seen: set[int]) -> bool:
        """Give an expected item a partner, moving others to another of theirs; False if none is left."""
        for at in fits[want]:
            spend()
            if at not in seen:
                seen.add(at)
                if at not in partner or find(partner[at], seen):
                    partner[at] = want
                    return True
        return False

    return all(find(want, set()) for want in range(len(expected)))


def _windows(
    expected: list[Described], got: list[Described], leeway: Leeway
) -> tuple[list[Described], list[range]]:
    """Sort by the number that tells most, and return where each expected item's partners must lie."""
    best: tuple[list[Described], list[range]] = got, [range(len(got))] * len(expected)
    for axis in range(min(len(expected[0].numbers), _AXES)):
        order = sorted(got, key=lambda other: other.numbers[axis])
        line = [other.numbers[axis] for other in order]
        windows = []
        for want in expected:
            number = want.numbers[axis]
            reach = leeway.reach(number)
            windows.append(range(bisect_left(line, number - reach), bisect_right(line, number + reach)))
        if sum(map(len, windows)) < sum(map(len, best[1])):
            best = order, windows
    return best
