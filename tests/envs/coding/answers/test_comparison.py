"""What counts as an equal answer: tables of cases worked out by hand, and properties."""

from __future__ import annotations

import itertools
import math
import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.envs.coding.answers.comparison import EXACT, AnswerComparison, canonical, compare
from pixelis.envs.coding.answers.matching import MOST_COMPARISONS
from pixelis.errors import AnswerError

NAN, INF = math.nan, math.inf


class AlwaysEqual:
    """A candidate's object that calls itself equal to everything."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other):
        raise RuntimeError("a foreign method was run")


class LyingInt(int):
    def __eq__(self, other):
        raise RuntimeError("a foreign method was run")

    __hash__ = int.__hash__


def _kind(value):  # some values are too long to be shown
    return type(value).__name__


@pytest.mark.parametrize(
    ("expected", "got", "equal"),
    [
        (1, 1, True),
        (1, True, False),
        (True, 1, False),
        (0, False, False),
        (1, 1.0, False),
        (1.0, 1, False),
        (0.0, -0.0, True),
        (NAN, NAN, True),
        (NAN, 0.0, False),
        (INF, INF, True),
        (INF, -INF, False),
        (0.1 + 0.2, 0.3, False),
        ("1", 1, False),
        ("a", b"a", False),
        ("é", "e\u0301", False),
        (None, False, False),
        (None, None, True),
        ([1, 2], (1, 2), False),
        ([1, 2], [1, 2], True),
        ([1, 2], [2, 1], False),
        ([1, 2], [1, 2, 2], False),
        ([], [[]], False),
        ([1, [2, (3,)]], [1, [2, (3,)]], True),
        ([1, [2, (3,)]], [1, [2, [3]]], False),
        ([[1]], [[True]], False),
        ({1, 2}, {2, 1}, True),
        ({1, 2}, {1.0, 2}, False),
        ({1}, frozenset({1}), False),
        ({1}, {True}, False),
        (set(), {}, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, {"a": True}, False),
        ({1: "a"}, {True: "a"}, False),
        ({1: "a"}, {1.0: "a"}, False),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        (10**5000, 10**5000, True),
        (10**5000, 10**5000 + 1, False),
        (10**400, INF, False),
        (1 + 2j, 1 + 2j, True),
        (1 + 0j, 1.0, False),
        (1, AlwaysEqual(), False),
        ([1], [AlwaysEqual()], False),
        (1, LyingInt(1), False),
        ("a", type("Text", (str,), {})("a"), False),
        (AlwaysEqual(), AlwaysEqual(), False),
    ],
    ids=_kind,
)
def test_exact(expected, got, equal):
    assert compare(expected, got) is equal


@pytest.mark.parametrize(
    ("comparison", "expected", "got", "equal"),
    [
        (AnswerComparison(float_tolerance=0.01), 1.0, 1.009, True),
        (AnswerComparison(float_tolerance=0.01), 1.0, 1.011, False),
        (AnswerComparison(float_tolerance=0.01), [(1.0, "a")], [(1.005, "a")], True),
        (AnswerComparison(float_tolerance=0.01), {"x": 1.0}, {"x": 0.995}, True),
        (AnswerComparison(float_tolerance=0.5), 1, 1.2, False),  # types stay exact
        (AnswerComparison(float_tolerance=5), 1, 2, False),  # and integers too
        (AnswerComparison(float_tolerance=0.01), INF, 1e308, False),
        (AnswerComparison(float_tolerance=0.01), INF, INF, True),
        (AnswerComparison(float_tolerance=0.01), NAN, NAN, True),
        (AnswerComparison(relative_tolerance=0.1), 100.0, 109.0, True),
        (AnswerComparison(relative_tolerance=0.1), 100.0, 111.0, False),
        (AnswerComparison(relative_tolerance=0.1), 0.0, 1e-9, False),
        (AnswerComparison(relative_tolerance=0.1), INF, 1.0, False),
        (AnswerComparison(nan_equal=False), NAN, NAN, False),
        (AnswerComparison(nan_equal=False), [NAN], [NAN], False),
        (AnswerComparison(unordered=True), [1, 2, 2], [2, 1, 2], True),
        (AnswerComparison(unordered=True), [1, 2, 2], [2, 1, 1], False),
        (AnswerComparison(unordered=True), [1, 2], [2, 1, 1], False),
        (AnswerComparison(unordered=True), [1, 2], (2, 1), False),
        (AnswerComparison(unordered=True), [1, True], [1, 1], False),
        (AnswerComparison(unordered=True), [[1, 2]], [[2, 1]], False),  # the outermost only
        (AnswerComparison(unordered=True), "ab", "ba", False),
        # 1.0 fits both 1.4 and 0.6, and 1.8 only 1.4: pairing the first that fits would fail
        (AnswerComparison(unordered=True, float_tolerance=0.45), [1.0, 1.8], [1.4, 0.6], True),
        (AnswerComparison(unordered=True, float_tolerance=0.45), [1.0, 1.0], [1.4, 1.6], False),
        (AnswerComparison(same_number_type=False), 1, 1.0, True),
        (AnswerComparison(same_number_type=False), [True], [1], True),
        (AnswerComparison(same_number_type=False), 1, "1", False),
        (AnswerComparison(same_number_type=False), {1: 2}, {1.0: 2.0}, True),
        (AnswerComparison(same_number_type=False, float_tolerance=0.1), 10**400, 1.0, False),
        (AnswerComparison(same_number_type=False, float_tolerance=0.1), 1, 1.05, True),
        (AnswerComparison(any_sequence=True), [1, 2], (1, 2), True),
        (AnswerComparison(any_sequence=True), [1, 2], (2, 1), False),
        (AnswerComparison(any_sequence=True), [[1]], [(1,)], False),
        (AnswerComparison(any_sequence=True, unordered=True), (4, 5), {5, 4}, True),
    ],
    ids=_kind,
)
def test_declared_leeway(comparison, expected, got, equal):
    assert compare(expected, got, comparison) is equal


def test_endless_nesting_is_no_match_and_no_crash():
    deep, other = [], []
    for _ in range(100_000):
        deep, other = [deep], [other]
    assert compare(deep, other) is False


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"float_tolerance": -1}, "finite number from 0"),
        ({"float_tolerance": NAN}, "finite number from 0"),
        ({"relative_tolerance": INF}, "finite number from 0"),
        ({"float_tolerance": True}, "finite number from 0"),
        ({"unordered": 1}, "true or false"),
        ({"unorderd": True}, "Did you mean 'unordered'"),
        ([], "must be an object"),
    ],
)
def test_bad_settings(settings, words):
    with pytest.raises(AnswerError, match=words):
        AnswerComparison.from_json(settings)


def test_settings_survive_json():
    comparison = AnswerComparison(float_tolerance=0.1, unordered=True)
    assert comparison.to_json() == {"float_tolerance": 0.1, "unordered": True}
    assert AnswerComparison.from_json(comparison.to_json()) == comparison
    assert AnswerComparison.from_json({}) == EXACT


_ATOMS = (
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from([0.0, 1.0, NAN, INF])
    | st.text("ab", max_size=2)
)
VALUES = st.recursive(
    _ATOMS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.integers(-1, 1) | st.text("a", max_size=1), inner, max_size=2)
    ),
    max_leaves=6,
)


@given(VALUES, VALUES)
def test_comparing_is_symmetric_reflexive_and_the_same_as_equal_forms(one, other):
    assert compare(one, one)
    assert compare(one, other) == compare(other, one) == (canonical(one) == canonical(other))


@given(VALUES)
def test_a_value_is_never_equal_to_itself_in_another_container(value):
    assert not compare(value, [value])
    assert not compare([value], (value,))


@given(st.lists(VALUES, max_size=5), st.randoms())
def test_any_order_of_a_list_is_equal_where_order_is_free(items, rng):
    shuffled = list(items)
    rng.shuffle(shuffled)
    assert compare(items, shuffled, AnswerComparison(unordered=True))
    assert compare(items, shuffled, AnswerComparison(unordered=True, float_tolerance=1e-9))
    assert not compare(items, [*shuffled, None], AnswerComparison(unordered=True))


def _calls(work):
    """Count the calls of functions, Python's and built-in, that ``work`` makes."""
    count = 0

    def note(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("tolerance", [0.0, 1e-6])
def test_lists_chosen_to_collide_cost_no_more_than_others(tolerance):
    """All these integers have one hash, which makes a hash table quadratic."""
    comparison = AnswerComparison(unordered=True, float_tolerance=tolerance)
    modulus = sys.hash_info.modulus
    wanted = list(range(3000))
    colliding = [index * modulus for index in range(3000)]
    assert len(set(map(hash, colliding))) == 1
    plain = _calls(lambda: compare(wanted, [*wanted[1:], -1], comparison))
    assert _calls(lambda: compare(wanted, colliding, comparison)) <= 1.1 * plain < 3000 * 30
    assert compare(colliding, colliding[::-1], comparison)
    assert len({hash(canonical(number)) for number in colliding}) > 2990


def test_matching_with_leeway_takes_a_bounded_number_of_steps():
    """Every point is near every other: without a bound this takes 2,000² comparisons."""
    comparison = AnswerComparison(unordered=True, float_tolerance=1.0)
    wanted = [(index / 4000, index / 4000, 0.0) for index in range(2000)]
    hostile = [*[(0.25, 0.25, 0.0)] * 1999, (0.25, 0.25, 9.0)]
    verdicts = []
    calls = _calls(lambda: verdicts.append(compare(wanted, hostile, comparison)))
    assert verdicts == [False]
    assert calls < 30 * MOST_COMPARISONS


def test_matching_with_leeway_in_long_lists():
    rng = random.Random(5)
    wanted = [(rng.randrange(40) / 2, rng.random(), "x") for _ in range(3000)]
    got = [(x + rng.uniform(-1e-7, 1e-7), y + rng.uniform(-1e-7, 1e-7), name) for x, y, name in wanted]
    rng.shuffle(got)
    comparison = AnswerComparison(unordered=True, float_tolerance=1e-6)
    assert compare(wanted, got, comparison)
    got[7] = (got[7][0], got[7][1] + 0.5, "x")
    assert not compare(wanted, got, comparison)


@given(
    st.lists(st.floats(0, 3), max_size=5), st.lists(st.floats(0, 3), max_size=5), st.sampled_from([0.3, 1])
)
def test_matching_agrees_with_trying_every_order(wanted, got, tolerance):
    for pack in (lambda number: number, lambda number: [number, -number]):
        one, other = [*map(pack, wanted)], [*map(pack, got)]
        for settings in ({"float_tolerance": tolerance}, {"relative_tolerance": tolerance}):
            ordered = AnswerComparison(**settings)
            found = len(one) == len(other) and any(
                compare(one, list(order), ordered) for order in itertools.permutations(other)
            )
            assert compare(one, other, AnswerComparison(unordered=True, **settings)) is found
