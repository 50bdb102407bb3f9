from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypedDict

import numpy as np
import pytest
from annotated_types import Interval
from typing_extensions import Unpack

from pixelis.envs.keywords import (
    Expected,
    FilePath,
    Flag,
    Names,
    Number,
    Split,
    Turns,
    Whole,
    checked_keywords,
    declared,
    declared_keywords,
    expectation,
)
from pixelis.envs.tasks import TaskSource
from pixelis.errors import ConfigError, DatasetError, SplitError


class Rest(TypedDict, total=False):
    depth: Annotated[Whole, Interval(ge=1, le=3)]


class Thing:
    @checked_keywords
    def __init__(self, *, size: Turns = 1, split: Split = "train", **rest: Unpack[Rest]) -> None:
        self.got: dict[str, Any] = {"size": size, "split": split, **rest}


class Child(Thing):
    @checked_keywords
    def __init__(self, *, colours: Annotated[Sequence[str], Names(lambda: ("red", "blue"), "'red'")] = ()):
        super().__init__()
        self.colours = colours


class Stranger(Thing):
    def __init__(self, *, size: int = 1):
        super().__init__(size=size)


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (Annotated[Whole, Interval(ge=1, le=9)], "an integer from 1 to 9"),
        (Turns, "an integer of at least 1"),
        (Annotated[Number, Interval(gt=0, le=2)], "a finite number above 0 and at most 2"),
        (Annotated[Number, Interval(ge=0, lt=1)], "a finite number of at least 0 and below 1"),
        (Flag, "True or False"),
        (str | None, "text or None"),
        (Turns | None, "an integer of at least 1 or None"),
        (Literal["a", "b"], "'a' or 'b'"),
        (Sequence[str], "a list, each item of it text"),
        (FilePath | None, "the path of a file or None"),
        (Annotated[str, Expected("a colour")], "a colour"),
    ],
)
def test_what_is_expected_is_told_from_the_declaration(annotation, words):
    assert expectation(annotation) == words


@pytest.mark.parametrize(
    ("annotation", "value", "read"),
    [
        (Whole, np.int64(3), 3),
        (Number, 3, 3.0),
        (Number, np.float32(0.5), 0.5),
        (Flag, np.bool_(True), True),
        (Turns | None, None, None),
        (Annotated[str, Names(lambda: ("a", "b"), "'a'", every="all")], "all", ("a", "b")),
        (Annotated[str, Names(lambda: ("a", "b"), "'a'")], {"b", "a"}, ("a", "b")),
    ],
)
def test_a_value_is_read_as_the_declaration_has_it(annotation, value, read):
    found = declared("it", annotation).read(value)
    assert found == read and type(found) is type(read)


@pytest.mark.parametrize(
    ("annotation", "value", "error", "message"),
    [
        (Turns, True, ConfigError, "it must be an integer of at least 1, got True; 8 is usual"),
        (Turns, 2.0, ConfigError, "it must be an integer of at least 1, got 2.0; 8 is usual"),
        (Flag, 1, ConfigError, "it must be True or False, got 1"),
        (Number, float("nan"), ConfigError, "it must be a finite number, got nan"),
        (
            Literal["single", "multi"],
            "singel",
            ConfigError,
            "it must be 'single' or 'multi', got 'singel'. Did you mean 'single'?",
        ),
        (
            Annotated[str, Names(lambda: ("red", "blue"), "'red'")],
            ["rad"],
            ConfigError,
            "it must be a name or a list of names, got ['rad']; there is no 'rad'. Did you mean 'red'?",
        ),
        (Split, "dev", SplitError, "it must be 'train' or 'test', got 'dev'; training uses 'train',"),
        (FilePath, "no.csv", DatasetError, "it must be the path of a file, got 'no.csv'; there is none;"),
    ],
)
def test_an_error_says_what_was_expected_what_came_and_what_to_do(annotation, value, error, message):
    with pytest.raises(error) as caught:
        declared("it", annotation).read(value)
    assert str(caught.value).startswith(message)


def test_a_constructor_is_checked_before_it_runs():
    assert Thing(size=np.int32(2), depth=3).got == {"size": 2, "split": "train", "depth": 3}
    with pytest.raises(ConfigError, match="size must be an integer"):
        Thing(size="2")
    with pytest.raises(ConfigError, match="depth must be an integer from 1 to 3, got 4"):
        Thing(depth=4)
    with pytest.raises(ConfigError, match=r"Thing has no keyword 'sise'\. Did you mean 'size'"):
        Thing(sise=3)


def test_a_class_has_the_declarations_of_its_bases_but_not_of_unchecked_constructors():
    assert set(declared_keywords(Child)) == {"size", "split", "depth", "colours"}
    assert Child(colours="red").colours == ("red",)
    assert set(declared_keywords(Stranger)) == {"size", "split", "depth"}


def test_a_type_that_nobody_can_check_is_left_as_it_is():
    value = object()
    assert declared("it", TaskSource).read(value) is value
