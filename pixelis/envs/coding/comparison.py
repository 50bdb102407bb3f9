"""When a claimed answer counts as the expected one: exact types, and only the leeway a problem declares.

Both sides are plain data (numbers, texts, bytes, None, lists, tuples, dicts, sets). Types are told apart by
``type() is``, never by ``isinstance`` or ``==``, so an object that calls itself equal to everything is not.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pixelis.errors import AnswerError, suggest

_NUMBERS = (bool, int, float)
_SEQUENCES = (list, tuple, set, frozenset)
_ATOMS = (*_NUMBERS, complex, str, bytes, type(None))


@dataclass(frozen=True)
class Comparison:
    """What a problem forgives. By default: nothing.

    Always: ``-0.0`` equals ``0.0``; a dict's order does not matter; keys of dicts and members of sets are
    compared without tolerance.

    Attributes:
        float_tolerance: greatest absolute difference of two floats, 0 or more.
        relative_tolerance: greatest difference as a share of the expected float's size. The larger of the two
            allowances holds.
        nan_equal: a NaN equals a NaN. Otherwise nothing equals a NaN.
        unordered: the outermost list or tuple is a multiset: any order, the same number of each.
        same_number_type: ``1``, ``1.0`` and ``True`` differ. Otherwise they compare by value, as in an
            ``assert`` with ``==``.
        any_sequence: the outermost value may be a list, tuple or set where one of these is expected. A set
            has no order, so this is of use together with ``unordered``.

    Raises:
        AnswerError: a tolerance that is negative, infinite or no number, or a switch that is no bool.
    """

    float_tolerance: float = 0.0
    relative_tolerance: float = 0.0
    nan_equal: bool = True
    unordered: bool = False
    same_number_type: bool = True
    any_sequence: bool = False

    def __post_init__(self) -> None:
        """Check the values."""
        for name, value in asdict(self).items():
            if name.endswith("tolerance"):
                if type(value) not in (int, float) or not 0 <= value < math.inf:
                    raise AnswerError(f"{name} must be a finite number from 0 up, got {value!r:.60}")
            elif type(value) is not bool:
                raise AnswerError(f"{name} must be true or false, got {value!r:.60}")

    def to_json(self) -> dict[str, Any]:
        """Return what differs from the default, as a JSON object."""
        return {name: value for name, value in asdict(self).items() if value != getattr(EXACT, name)}

    @classmethod
    def from_json(cls, value: Any) -> Comparison:
        """Return the comparison a JSON object describes; names left out keep their default.

        Raises:
            AnswerError: no object, an unknown name, or a bad value.
        """
        if not isinstance(value, Mapping):
            raise AnswerError(f"a comparison must be an object, got {type(value).__name__}")
        for name in value:
            if name not in cls.__dataclass_fields__:
                raise AnswerError(
                    f"unknown comparison setting {name!r:.60}.{suggest(str(name), cls.__dataclass_fields__)}"
                )
        return cls(**value)


EXACT = Comparison()


def compare(expected: Any, got: Any, comparison: Comparison = EXACT) -> bool:
    """Return whether a claimed value is the expected one. Never raises; runs no method of a foreign type."""
    try:
        if comparison.any_sequence and type(expected) in _SEQUENCES and type(got) in _SEQUENCES:
            expected, got = list(expected), list(got)
        if comparison.unordered and type(expected) is type(got) and type(expected) in (list, tuple):
            return _same_members(expected, got, comparison)
        return _same(expected, got, comparison)
    except (RecursionError, _ForeignTypeError):
        return False


def canonical(value: Any, comparison: Comparison = EXACT) -> Any:
    """Return a hashable form that two values share exactly when they are equal without tolerance.

    Example: ``canonical(1) != canonical(True)`` and ``canonical([1]) != canonical((1,))``.
    """
    kind = type(value)
    if kind is float and value != value:
        return ("nan",) if comparison.nan_equal else ("nan", object())
    if kind in _NUMBERS and not comparison.same_number_type:
        return ("number", value)
    if kind in _ATOMS:
        return (kind.__name__, value)
    if kind in (list, tuple):
        return (kind.__name__, tuple(canonical(item, comparison) for item in value))
    if kind in (set, frozenset):
        return (kind.__name__, frozenset(canonical(item, comparison) for item in value))
    if kind is dict:
        pairs = ((canonical(key, comparison), canonical(item, comparison)) for key, item in value.items())
        return ("dict", frozenset(pairs))
    raise _ForeignTypeError(kind.__name__)


class _ForeignTypeError(TypeError):
    pass


def _same(expected: Any, got: Any, rule: Comparison) -> bool:
    kind = type(expected)
    if kind in _NUMBERS and type(got) in _NUMBERS:
        return (kind is type(got) or not rule.same_number_type) and _same_number(expected, got, rule)
    if kind is not type(got):
        return False
    if kind in (list, tuple):
        return len(expected) == len(got) and all(
            _same(one, other, rule) for one, other in zip(expected, got, strict=True)
        )
    if kind is dict:
        return _same_dict(expected, got, rule)
    return canonical(expected, rule) == canonical(got, rule)


def _same_number(expected: Any, got: Any, rule: Comparison) -> bool:
    if expected != expected or got != got:
        return rule.nan_equal and expected != expected and got != got
    if expected == got:
        return True
    if float not in (type(expected), type(got)):
        return False
    try:
        difference, size = abs(expected - got), abs(float(expected))
    except OverflowError:  # an int beyond every float
        return False
    return difference < math.inf and difference <= max(rule.float_tolerance, rule.relative_tolerance * size)


def _same_dict(expected: dict[Any, Any], got: dict[Any, Any], rule: Comparison) -> bool:
    if len(expected) != len(got):
        return False
    theirs = {canonical(key, rule): value for key, value in got.items()}
    for key, value in expected.items():
        name = canonical(key, rule)
        if name not in theirs or not _same(value, theirs[name], rule):
            return False
    return True


def _same_members(expected: Sequence[Any], got: Sequence[Any], rule: Comparison) -> bool:
    if len(expected) != len(got):
        return False
    if not rule.float_tolerance and not rule.relative_tolerance:
        return Counter(canonical(item, rule) for item in expected) == Counter(
            canonical(item, rule) for item in got
        )
    return _matched(expected, got, rule)


def _matched(expected: Sequence[Any], got: Sequence[Any], rule: Comparison) -> bool:
    """Whether each expected item has a partner of its own: a perfect matching by augmenting paths (Kuhn)."""
    fits = [[at for at, item in enumerate(got) if _same(want, item, rule)] for want in expected]
    partner: dict[int, int] = {}

    def find(want: int, seen: set[int]) -> bool:
        """Give an expected item a partner, moving others to another of theirs; False if none is left."""
        for at in fits[want]:
            if at not in seen:
                seen.add(at)
                if at not in partner or find(partner[at], seen):
                    partner[at] = want
                    return True
        return False

    return all(find(want, set()) for want in range(len(expected)))
