"""Choices and sets."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.rewards.answers import choice_index, choice_matches, set_matches, split_items

COLOURS = ("red", "dark blue", "green")


@pytest.mark.parametrize(
    ("answer", "index"),
    [
        ("red", 0),
        (" Dark  Blue. ", 1),
        ("B", 1),
        ("b)", 1),
        ("(B)", 1),
        ("B. dark blue", 1),
        ("(c) Green", 2),
        ("C: green", 2),
        ("B. green", None),  # letter and text disagree
        ("D", None),
        ("A B", None),
        ("A, B", None),
        ("red green", None),
        ("red or dark blue", None),
        ("A red B dark blue", None),
        ("blue", None),
        ("", None),
        ("not red", None),
        ("1", None),
        ("A" * 2_000_000, None),
    ],
)
def test_a_choice_by_hand(answer, index):
    assert choice_index(answer, COLOURS) == index
    assert choice_matches(answer, "dark blue", COLOURS) == (index == 1)


def test_where_choices_are_letters_themselves_only_texts_count():
    assert choice_index("B", ("C", "B", "A")) == 1
    assert choice_index("A", ("C", "B", "Z")) is None


def test_beyond_26_choices_there_are_no_letters():
    many = [f"item {number}" for number in range(27)]
    assert choice_index("A", many[:26]) == 0
    assert choice_index("A", many) is None
    assert choice_index("item 26", many) == 26


@given(
    st.lists(st.sampled_from(COLOURS), min_size=2, max_size=4),
    st.sampled_from([" ", ",", ", ", "\n", " and "]),
)
def test_several_choices_match_none(named, separator):
    assert choice_index(separator.join(named), COLOURS) is None


@given(st.text())
def test_no_text_raises(text):
    assert choice_index(text, COLOURS) in (None, 0, 1, 2)
    assert isinstance(split_items(text), list)


@pytest.mark.parametrize(
    ("answer", "items"),
    [
        ("a, b,c", ["a", "b", "c"]),
        ("1,204.50; 3", ["1,204.50", "3"]),
        ("x\ny\n\n", ["x", "y"]),
        ('["a, b", "c"]', ["a, b", "c"]),
        ("[1, 2]", []),
        ('["a"', []),
        ("[" * 900, []),
        (",,", []),
        ("", []),
        ("a," * 600, []),  # too long
    ],
)
def test_items_by_hand(answer, items):
    assert split_items(answer) == items


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("red, green", True),
        ("Green; RED.", True),
        ('["green", "red"]', True),
        ("red", False),
        ("red, green, blue", False),
        ("red, red, green", False),
        ("red green", False),
        ("red, red", False),
        ("", False),
    ],
)
def test_sets_by_hand(answer, right):
    assert set_matches(answer, ["red", "green"]) == right


def test_an_empty_set_matches_nothing():
    assert not set_matches("", [])
    assert not set_matches("[]", [])


@given(
    st.lists(
        st.text("abc xyz", min_size=1).filter(str.strip),
        min_size=1,
        max_size=6,
        unique_by=lambda t: " ".join(t.split()),
    )
)
def test_any_order_of_the_items_matches(items):
    assert set_matches(json.dumps(items[::-1]), items)
    assert not set_matches(json.dumps([*items, "one more"]), items)
    assert not set_matches(json.dumps(items[1:]), items)
