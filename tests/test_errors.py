"""How messages show what came."""

from __future__ import annotations

import pickle
import time
from pathlib import Path

import numpy as np
import pytest

from pixelis.errors import ConfigError, DatasetError, ModelLoadError, shown, suggest


class Raising:
    def __repr__(self):
        raise RuntimeError("no repr")


def _deep(levels: int) -> list:
    deep: list = []
    for _ in range(levels):
        deep = [deep]
    return deep


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("dev", "'dev'"),
        (3, "3"),
        (None, "None"),
        ([1, "a", None], "[1, 'a', None]"),
        ((1,), "(1,)"),
        ({"a": [1]}, "{'a': [1]}"),
        (b"x", "b'x'"),
        (np.int64(3), "np.int64(3)"),
        (Path("/a/b"), "'/a/b'"),
        ("\x1b[31m\0\ud800", r"'\x1b[31m\x00\ud800'"),
        (Raising(), "a Raising"),
        (np.zeros(10**6), "a ndarray"),
        (10**6_000, "an integer of 19932 bits"),
    ],
    ids=lambda one: None if isinstance(one, str) else type(one).__name__,
)
def test_a_value_is_shown_as_python_writes_it_or_by_its_type(value, text):
    assert shown(value) == text


@pytest.mark.parametrize(
    "value",
    ["x" * 10**6, b"x" * 10**6, list(range(10**6)), {n: "y" * 10**6 for n in range(100)}, _deep(10**5)],
    ids=["text", "bytes", "list", "dict", "deep"],
)
def test_a_long_value_is_cut_and_costs_little(value):
    start = time.perf_counter()
    assert len(shown(value)) <= 200 and len(shown(value, 40)) <= 40
    assert time.perf_counter() - start < 0.05


def test_a_value_that_holds_itself_is_shown():
    value: list = [1]
    value.append(value)
    assert shown(value).startswith("[1, [1, [1, [")


@pytest.mark.parametrize("kind", [ConfigError, DatasetError, ModelLoadError])
@pytest.mark.parametrize(
    "came",
    [
        repr("x" * 10**5),
        repr("many words " * 10**4),
        repr(list(range(10**5))),
        "word" * 10**5,
        "w o " * 10**5,
    ],
    ids=["text", "words", "list", "bare", "bare words"],
)
def test_any_error_is_cut_whoever_wrote_its_message(kind, came):
    said = str(kind(f"size must be a number, got {came}; 3 is usual"))
    assert said.startswith("size must be a number, got ") and said.endswith("; 3 is usual")
    assert len(said) <= 2_600


def test_what_is_not_long_is_left_as_it_is():
    said = f"the run's folder {'is a long way from here and ' * 20}the model's"
    assert str(ConfigError(said)) == said
    assert str(pickle.loads(pickle.dumps(ConfigError(said)))) == said


def test_suggestions_stay_short():
    names = [f"task-number-{n}" for n in range(200)]
    assert suggest("task-numbr-7", names) == " Did you mean 'task-number-7'?"
    assert suggest(None, ["b", "a"]) == suggest(None, ["b", "a", "b"]) == " Known: a, b."
    assert suggest(object(), names).endswith("… (200 in all).") and len(suggest("", names)) < 300
    assert suggest("z" * 10**6, names).startswith(" Known: ")
