"""Parameters of functions that others wrote: what takes their calls takes the calls of the shown line too."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.envs.coding.problems.problem import TestCase
from pixelis.envs.coding.problems.signatures import MOST_CHARACTERS, called_with, signature_of

DEFAULTS = ("", "None", "-1", "[1, (2,)]", "lambda a, b=1: (a, b)", "{'a': 1}", repr("z" * MOST_CHARACTERS))


@st.composite
def functions(draw: st.DrawFn) -> str:
    """Sources of a function ``f`` with parameters by place (``/``), by both and by name (``k``)."""
    kinds = draw(st.lists(st.sampled_from("/.k"), max_size=6))
    names, parts, has_default = iter("abcdef"), [], False
    for kind in "/.k":
        for number in range(kinds.count(kind)):
            if kind == "k" and number == 0:
                parts.append(draw(st.sampled_from(["*", "*rest"])))
            annotation, default = draw(st.sampled_from(["", ": list[int]"])), draw(st.sampled_from(DEFAULTS))
            if kind != "k":  # after a default all have one
                default = default or ("0" if has_default else "")
                has_default = bool(default)
            parts.append(f"{next(names)}{annotation}{default and f' = {default}'}")
        if kind == "/" and parts:
            parts.append("/")
    parts += draw(st.sampled_from([[], ["**more"]]))
    return f"def f({', '.join(parts)}) -> int:\n    return 1\n"


def shape(source: str) -> list[tuple[str, Any, bool]]:
    """Return name, kind and whether it may be left out of every parameter of ``f``."""
    made: dict[str, Any] = {}
    exec(source, made)
    parameters = inspect.signature(made["f"]).parameters.values()
    return [(each.name, each.kind, each.default is each.empty) for each in parameters]


def shown(parameters: tuple[tuple[str, str], ...]) -> str:
    return f"def f({', '.join(f'{name}: {kind}' if kind else name for name, kind in parameters)}): ..."


@given(functions())
def test_the_shown_line_takes_what_the_function_takes(source: str):
    found = signature_of(source, "f")
    assert found is not None and found[1] == "int"
    assert shape(shown(found[0])) == shape(source)


def test_by_hand():
    source = "def f(a): ...\nf = lambda x, /, *y, z=3: x\ndef g(b): ...\n"
    assert signature_of(source, "f") == ((("x", ""), ("/", ""), ("*y", ""), ("z=3", "")), "")
    assert signature_of(source, "h") is None and signature_of("def f(:", "f") is None
    long = signature_of(f"def f(a: str = {'z' * 70!r}): ...", "f")
    assert long == ((("a", "str = ..."),), "")


names = st.sampled_from(["x", "y", "class", "a-b", "argument_1", "_argument_1"])
cases = st.builds(
    TestCase, st.lists(st.integers(), max_size=3).map(tuple), st.none(), st.dictionaries(names, st.integers())
)


@given(st.lists(cases, min_size=1, max_size=4).map(tuple))
def test_parameters_for_calls_take_all_of_them(calls: tuple[TestCase, ...]):
    made: dict[str, Any] = {}
    exec(shown(called_with(calls)), made)
    for call in calls:
        inspect.signature(made["f"]).bind(*call.args, **call.kwargs)


@pytest.mark.parametrize(
    ("calls", "line"),
    [
        ([((1, 2), {}), ((1,), {})], "def f(argument_1, argument_2=None): ..."),
        ([((1,), {"key": 2}), ((1,), {"key": 2, "top": 3})], "def f(argument_1, *, key, top=None): ..."),
        ([((), {"argument_1": 2}), ((1,), {})], "def f(_argument_1=None, *, argument_1=None): ..."),
        ([((1,), {"class": 2})], "def f(argument_1, **arguments): ..."),
        ([], "def f(): ..."),
    ],
)
def test_parameters_for_calls_by_hand(calls, line):
    assert shown(called_with(tuple(TestCase(args, None, kwargs) for args, kwargs in calls))) == line
