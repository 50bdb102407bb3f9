"""When a claimed answer counts as the expected one: exact types, and only the leeway a problem declares.

Both sides are plain data (numbers, texts, bytes, None, lists, tuples, dicts, sets). Types are told apart by
``type() is``, never by ``isinstance`` or ``==``, so an object that calls itself equal to everything is not.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pixelis.envs.coding.answers.matching import Described, Leeway, matched
from pixelis.errors import AnswerError, shown, suggest

NUMBERS = (bool, int, float)
SEQUENCES = (list, tuple, set, frozenset)
_ATOMS = (*NUMBERS, complex, str, bytes, type(None))


@dataclass(frozen=True)
class AnswerComparison:
    """What a problem forgives. By default: nothing.

    Always: ``-0.0`` equals ``0.0``; a dict's order does not matter; keys of dicts and members of sets are
    compared without tolerance.

    Attributes:
        float_tolerance: greatest absolute difference of two floats, 0 or more.
        relative_tolerance: greatest difference as a share of the expected float's size. The larger of the two
            allowances holds.
        nan_equal: a NaN equals a NaN. Otherwise nothing equals a NaN.
        unordered: the outermost list or tuple is a multiset: any order, the same number of each. Where
            that takes a tolerance and more than 100,000 comparisons, the answer does not count as equal.
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
                    raise AnswerError(f"{name} must be a finite number from 0 up, got {shown(value, 60)}")
            elif type(value) is not bool:
                raise AnswerError(f"{name} must be true or false, got {shown(value, 60)}")

    def to_json(self) -> dict[str, Any]:
        """Return what differs from the default, as a JSON object."""
        return {name: value for name, value in asdict(self).items() if value != getattr(EXACT, name)}

    @classmethod
    def from_json(cls, value: Any) -> AnswerComparison:
        """Return the comparison a JSON object describes; names left out keep their default.

        Raises:
            AnswerError: no object, an unknown name, or a bad value.
        """
        if not isinstance(value, Mapping):
            raise AnswerError(f"a comparison must be an object, got {type(value).__name__}")
        for name in value:
            if name not in cls.__dataclass_fields__:
                raise AnswerError(
                    f"unknown comparison setting {name!r:.60}.{suggest(name, cls.__dataclass_fields__)}"
                )
        return cls(**value)


EXACT = AnswerComparison()


def compare(expected: Any, got: Any, comparison: AnswerComparison = EXACT) -> bool:
    """Return whether a claimed value is the expected one. Never raises; runs no method of a foreign type."""
    try:
        if comparison.any_sequence and type(expected) in SEQUENCES and type(got) in SEQUENCES:
            expected, got = list(expected), list(got)
        if comparison.unordered and type(expected) is type(got) and type(expected) in (list, tuple):
            return _same_members(expected, got, comparison)
        return _same(expected, got, comparison)
    except (RecursionError, _ForeignTypeError):
        return False


def canonical(value: Any, comparison: AnswerComparison = EXACT) -> str:
    """Return a text that two values share exactly when they are equal without tolerance.

    A text and no hashable value: numbers can be chosen so that their hashes collide, and a candidate would.
    Example: ``canonical(1) != canonical(True)`` and ``canonical([1]) != canonical((1,))``.
    """
    return written(value, comparison, None)


def loosest(rules: Collection[AnswerComparison]) -> AnswerComparison:
    """Return the comparison that forgives whatever one of several, at least one, does."""
    return AnswerComparison(
        float_tolerance=max(rule.float_tolerance for rule in rules),
        relative_tolerance=max(rule.relative_tolerance for rule in rules),
        nan_equal=any(rule.nan_equal for rule in rules),
        unordered=any(rule.unordered for rule in rules),
        same_number_type=all(rule.same_number_type for rule in rules),
        any_sequence=any(rule.any_sequence for rule in rules),
    )


def written(value: Any, rule: AnswerComparison, numbers: list[Any] | None) -> str:
    """Return the canonical text; with ``numbers``, those with leeway go there and ``~`` stands for them."""
    kind = type(value)
    if kind in NUMBERS:
        if numbers is not None and has_leeway(value, rule):
            numbers.append(value)
            return "~"
        return _number(value, rule)
    if kind in _ATOMS:
        return _atom(value, kind)
    if kind in (list, tuple):
        return f"{kind.__name__}({','.join([written(item, rule, numbers) for item in value])})"
    if kind in (set, frozenset):
        return f"{kind.__name__}({','.join(sorted([written(item, rule, None) for item in value]))})"
    if kind is dict:
        keyed = sorted([(written(key, rule, None), at) for at, key in enumerate(value)])
        values = list(value.values())
        pairs = [f"{key}:{written(values[at], rule, numbers)}" for key, at in keyed]
        return f"dict({','.join(pairs)})"
    raise _ForeignTypeError(kind.__name__)


def has_leeway(value: Any, rule: AnswerComparison) -> bool:
    """Return whether a tolerance may hold for a number."""
    return math.isfinite(value) if type(value) is float else not rule.same_number_type


def _number(value: Any, rule: AnswerComparison) -> str:
    kind = type(value)
    if value != value:
        return "nan" if rule.nan_equal else f"nan {next(_UNIQUE)}"
    name = kind.__name__ if rule.same_number_type else ""
    if kind is float and (rule.same_number_type or not value.is_integer()):
        return f"{name} {(value + 0.0).hex()}"  # the sum makes -0.0 a 0.0
    return f"{name} {int(value):x}"


def _atom(value: Any, kind: type) -> str:
    if kind is str:
        return f"str {len(value)} {value}"  # the length tells where it ends
    if kind is bytes:
        return f"bytes {value.hex()}"
    if kind is complex:
        return f"complex {_number(value.real, EXACT)} {_number(value.imag, EXACT)}"
    return "None"


_UNIQUE = itertools.count()


class _ForeignTypeError(TypeError):
    pass


def _same(expected: Any, got: Any, rule: AnswerComparison) -> bool:
    kind = type(expected)
    if kind in NUMBERS and type(got) in NUMBERS:
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


def _same_number(expected: Any, got: Any, rule: AnswerComparison) -> bool:
    if expected != expected or got != got:
        return rule.nan_equal and expected != expected and got != got
    if expected == got:
        return True
    if float not in (type(expected), type(got)):
        return False
    try:
        difference = abs(expected - got)
    except OverflowError:  # an int beyond every float
        return False
    return difference < math.inf and difference <= reach_of(expected, rule)


def reach_of(expected: Any, rule: AnswerComparison) -> float:
    """Return how far from an expected number another may be; 0 beyond every float."""
    try:
        return max(rule.float_tolerance, rule.relative_tolerance * abs(float(expected)))
    except OverflowError:
        return 0


def _same_dict(expected: dict[Any, Any], got: dict[Any, Any], rule: AnswerComparison) -> bool:
    if len(expected) != len(got):
        return False
    theirs = {canonical(key, rule): value for key, value in got.items()}
    for key, value in expected.items():
        name = canonical(key, rule)
        if name not in theirs or not _same(value, theirs[name], rule):
            return False
    return True


def _same_members(expected: Sequence[Any], got: Sequence[Any], rule: AnswerComparison) -> bool:
    if len(expected) != len(got):
        return False
    if not rule.float_tolerance and not rule.relative_tolerance:
        return sorted([canonical(item, rule) for item in expected]) == sorted(
            [canonical(item, rule) for item in got]
        )
    leeway = Leeway(
        same=lambda one, other: _same(one, other, rule),
        reach=lambda number: reach_of(number, rule),
        is_line=rule.same_number_type and rule.relative_tolerance <= 1,
    )
    return matched(described(expected, rule), described(got, rule), leeway)


def described(items: Sequence[Any], rule: AnswerComparison) -> list[Described]:
    """Return each item with what has no leeway as a text, and its numbers that have, in the text's order."""
    found: list[Described] = []
    for item in items:
        numbers: list[Any] = []
        found.append(Described(written(item, rule, numbers), tuple(numbers), item))
    return found
