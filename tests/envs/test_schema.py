"""Dataclasses read from outside: every mistake names its field, what was expected and what came."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

import pydantic
import pytest
from annotated_types import Interval, Len
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from pixelis.envs.schema import (
    Bool,
    Int,
    Object,
    OneOf,
    Real,
    ShortText,
    Stored,
    Text,
    check_count,
    check_range,
    read_fields,
)
from pixelis.errors import DatasetError, TaskError

Small = Annotated[Int, Interval(ge=0, le=9)]


class Cell(NamedTuple):
    name: Annotated[str, ShortText(4)]
    count: Small


@dataclass(frozen=True)
class Dot(Stored):
    x: Small
    colour: Annotated[str, OneOf(("red", "blue"))]


@dataclass(frozen=True)
class Dots(Stored):
    dots: Annotated[tuple[Dot, ...], Len(1, 2)]
    pair: tuple[Small, Annotated[Real, Interval(ge=0, le=1)]]
    cell: Cell
    on: Bool

    def check(self) -> None:
        check_range((dot.x for dot in self.dots), 0, self.pair[0], "the columns of dots")


DOT = {"x": 1, "colour": "red"}
GOOD = {"dots": [DOT], "pair": [5, 0.5], "cell": ["abc", 3], "on": True}
SCENE = Dots((Dot(1, "red"),), (5, 0.5), Cell("abc", 3), True)


def test_json_is_what_the_fields_hold_and_gives_an_equal_object_back():
    assert Dots.from_json(GOOD) == SCENE
    assert json.dumps(SCENE.to_json()) == json.dumps(GOOD)
    assert isinstance(Dots.from_json(GOOD).pair, tuple)
    assert Dots.from_json({**GOOD, "pair": (5, 1)}).pair == (5, 1.0)


@given(st.integers(0, 9), st.floats(0, 1), st.sampled_from(["red", "blue"]), st.booleans())
def test_what_is_stored_is_read_again(x, share, colour, on):
    scene = Dots((Dot(x, colour), Dot(0, "red")), (9, share), Cell("a b", x), on)
    assert Dots.from_json(json.loads(json.dumps(scene.to_json()))) == scene


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"on": 1}, "field 'on' must be True or False, got 1"),
        ({"pair": [5]}, "field 'pair[1]' is missing"),
        ({"pair": [5, 1, 2]}, "field 'pair' must be a list of at most 2, got 3"),
        ({"pair": [5, math.nan]}, "field 'pair[1]' must be a finite number from 0 to 1, got nan"),
        ({"pair": [5, "0.5"]}, "field 'pair[1]' must be a finite number from 0 to 1, got '0.5'"),
        ({"pair": [5, True]}, "field 'pair[1]' must be a finite number from 0 to 1, got True"),
        ({"pair": [10, 0]}, "field 'pair[0]' must be an integer from 0 to 9, got 10"),
        ({"cell": ["abcde", 1]}, "'cell[0]' must be a printable text of 1 to 4 characters, got 'abcde'"),
        ({"cell": ["", 1]}, "'cell[0]' must be a printable text of 1 to 4 characters, got ''"),
        ({"cell": ["a\nb", 1]}, "'cell[0]' must be a printable text of 1 to 4 characters, got 'a\\nb'"),
        ({"cell": [None, 1]}, "'cell[0]' must be a printable text of 1 to 4 characters, got None"),
        ({"cell": ["abc", 1.0]}, "'cell[1]' must be an integer from 0 to 9, got 1.0"),
        ({"cell": ["abc"]}, "field 'cell[1]' is missing"),
        ({"dots": []}, "field 'dots' must be a list of at least 1, got 0"),
        ({"dots": [DOT, 3]}, "field 'dots[1]' must be an object, got 3"),
        ({"dots": [{"x": 1}]}, "field 'dots[0].colour' is missing"),
        ({"dots": [{**DOT, "x": True}]}, "field 'dots[0].x' must be an integer from 0 to 9, got True"),
        ({"dots": [{**DOT, "color": "x"}]}, "unknown field 'dots[0].color'. Did you mean 'colour'?"),
        ({"dots": [{**DOT, "colour": "bluo"}]}, "got 'bluo'. Did you mean 'blue'?"),
        ({"dots": [{**DOT, "colour": ["red"]}]}, "must be 'red' or 'blue', got ['red']"),
        (
            {"dots": [{**DOT, "x": 6}]},
            "6 in the columns of dots where numbers from 0 to 5 belong",
        ),
        ({3: 4}, "unknown field '[3]'"),
    ],
)
def test_a_mistake_is_told_with_its_field(change, words):
    with pytest.raises(TaskError) as caught:
        Dots.from_json({**GOOD, **change})
    if Version(pydantic.VERSION) < Version("2.14"):
        words = words.replace("'cell[1]' is missing", "'cell.count' is missing")
    assert words in str(caught.value)
    assert str(caught.value).startswith("expected a scene as Dots.to_json writes it")


@pytest.mark.parametrize("value", [None, 3, "scene", [GOOD]])
def test_what_is_no_object_is_told(value):
    with pytest.raises(TaskError, match="it must be an object"):
        Dots.from_json(value)


def test_a_missing_field_is_named():
    with pytest.raises(TaskError, match="field 'cell' is missing"):
        Dots.from_json({name: value for name, value in GOOD.items() if name != "cell"})


def test_another_name_for_a_field_is_known():
    with pytest.raises(DatasetError, match=r"unknown field 'Farbe'\. Did you mean 'colour'"):
        read_fields(Dot, {"x": 1, "Farbe": "red"}, {"farbe": "colour"})


def test_counts_are_told():
    check_count([1, 2], 2, "ports")
    with pytest.raises(ValueError, match="1 ports where 2 belong"):
        check_count([1], 2, "ports")


@dataclass(frozen=True)
class Note:
    text: Annotated[str, Text(1_200, "shorten it")]
    more: Object = field(default_factory=dict)


@pytest.mark.parametrize("text", ["x", " é ", "x" * 1_200, "two\nlines"])
def test_a_text_is_left_as_it_is(text):
    assert read_fields(Note, {"text": text}) == Note(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (3, "must be a text of 1 to 1,200 characters, got 3; shorten it"),
        (" \n", "must be a text of 1 to 1,200 characters"),
        ("x" * 1_201, "must be a text of 1 to 1,200 characters"),
        ("a\0", "holds a null"),
        ("\ud800", "half of a surrogate pair"),
    ],
)
def test_what_is_no_text_is_told(text, words):
    with pytest.raises(DatasetError, match=words):
        read_fields(Note, {"text": text})


def test_an_object_is_copied_and_fields_that_are_not_declared_are_left_alone():
    more = {"a": [1]}
    note = read_fields(Note, {"text": "x", "more": more, "other": 1})
    assert note.more == more and note.more is not more
    with pytest.raises(DatasetError, match="field 'more' must be an object, got 3"):
        read_fields(Note, {"text": "x", "more": 3})
