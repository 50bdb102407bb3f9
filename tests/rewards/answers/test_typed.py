"""A truth of a type: what it matches, and which truths are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.errors import AnswerError
from pixelis.rewards.answers import ANSWER_TYPES, TypedAnswer

COLOURS = ("red", "blue")
TRUTHS = {
    "text": TypedAnswer("text", "Oct 21"),
    "number": TypedAnswer("number", "1,204.50", tolerance=0.5),
    "choice": TypedAnswer("choice", "blue", COLOURS),
    "set": TypedAnswer("set", '["red", "blue"]'),
    "box": TypedAnswer("box", "[0.1, 0.1, 0.2, 0.2]", tolerance=0.6),
    "point": TypedAnswer("point", "[0.5, 0.5]", tolerance=0.1),
}


@pytest.mark.parametrize(
    ("kind", "right", "wrong"),
    [
        ("text", "October 21st", "October 22nd"),
        ("number", "$1205", "1205.01"),
        ("choice", "B", "A"),
        ("set", "blue, red", "blue"),
        ("box", "[0.1, 0.1, 0.2, 0.17]", "[0.1, 0.1, 0.2, 0.15]"),
        ("point", "[0.5, 0.59]", "[0.5, 0.61]"),
    ],
)
def test_each_type_is_compared_its_own_way(kind, right, wrong):
    assert TRUTHS[kind].matches(right)
    assert not TRUTHS[kind].matches(wrong)
    assert not TRUTHS[kind].matches(f"{right} {wrong}")
    assert not TRUTHS[kind].matches("")


def test_there_is_one_of_every_type():
    assert tuple(TRUTHS) == ANSWER_TYPES


def test_the_default_tolerances():
    assert not TypedAnswer("number", "10").matches("10.0001")
    assert TypedAnswer("number", "10", tolerance={"relative": 0.02}).matches("10.2")
    assert TypedAnswer("box", "[0, 0, 1, 1]").matches("[0, 0, 0.5, 1]")
    assert not TypedAnswer("box", "[0, 0, 1, 1]").matches("[0, 0, 0.49, 1]")
    assert TypedAnswer("point", "[0, 0]").matches("[0.05, 0]")
    assert not TypedAnswer("point", "[0, 0]").matches("[0.051, 0]")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("texts", "x"), "Did you mean 'text'"),
        (("text", ""), "1 to 1000 characters"),
        (("text", " \n"), "1 to 1000 characters"),
        (("text", "x" * 1001), "1 to 1000 characters"),
        (("text", 5), "1 to 1000 characters"),
        (("text", "x", ("x", "y")), "takes no choices"),
        (("text", "x", (), 0.5), "takes no tolerance"),
        (("number", "many"), "one number"),
        (("number", "NaN"), "one number"),
        (("number", "3 or 4"), "one number"),
        (("number", "3", (), -1), "absolute tolerance"),
        (("number", "3", (), "0.1"), "absolute tolerance"),
        (("number", "3", (), {"percent": 2}), "absolute and relative"),
        (("choice", "green", COLOURS), "not among the choices"),
        (("choice", "red", ("red",)), "two or more"),
        (("choice", "red", ("red", "RED")), "different"),
        (("choice", "red", ("red", 5)), "different texts"),
        (("set", "[]"), "one or more items"),
        (("set", "red, red"), "each once"),
        (("box", "[10, 20, 30, 40]"), "in 0-1"),
        (("box", "[0, 0, 1, 1]", (), 0), "intersection over union"),
        (("box", "[0, 0, 1, 1]", (), 1.5), "in (0, 1]"),
        (("point", "[0.5]"), "[x, y]"),
        (("point", "[0, 0]", (), True), "greatest distance"),
    ],
)
def test_a_truth_that_cannot_be_compared_is_refused(arguments, words):
    with pytest.raises(AnswerError) as caught:
        TypedAnswer(*arguments)
    assert words in str(caught.value)


@given(st.sampled_from(sorted(TRUTHS)), st.text())
def test_no_answer_raises(kind, answer):
    assert TRUTHS[kind].matches(answer) in (True, False)
