"""CALCULATE gives arithmetic's value, and refuses whatever else is written, at once."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixelis.envs.pixel.tools.calculate import CALCULATE, LONGEST, evaluate
from pixelis.envs.tools import CallRefused, Toolset


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("540.0*(0.9167-0.6641)/(0.9167-0.4167)", 272.808),
        ("2 + 3 * 4", 14),
        ("-(2 - 5)", 3),
        ("6 ÷ 4 × 2 − 1", 2),
        ("exp(log(8) / 3)", 2),
        ("sqrt(2.25)", 1.5),
        ("1e3", 1000),
    ],
)
def test_values_by_hand(expression, value):
    assert evaluate(expression) == pytest.approx(value)


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "a",
        "True",
        "'a' * 3",
        "[1]",
        "9**9**9",
        "1 if 2 else 3",
        "1 / 0",
        "log(0)",
        "sqrt(-1)",
        "exp(1000)",
        "1e200 * 1e200",
        "1e999",
        "1j",
        "open('/etc/passwd').read()",
        "__import__('os').getpid()",
        "(1).__class__",
        "log(1, 2)",
        "log(x=1)",
        "log(*[1])",
        "lambda: 1",
        "(a := 1)",
        "1; 2",
        "1\n2",
        "\x00",
        "(" * 100 + "1" + ")" * 99,
        "(" * 90 + "1" + "+1)" * 36,
        "7 // 2",
        "5 & 3",
        "~1",
        "1if 2else 3",
        "'\\d'",
        "0x1for",
        "1 < 2",
    ],
)
def test_anything_else_has_no_value(expression):
    with pytest.raises(CallRefused, match="no value"):
        evaluate(expression)


def test_as_a_tool_it_says_six_digits_and_how_it_refuses():
    tools = Toolset([CALCULATE], lambda task: None)
    assert tools.call(None, "CALCULATE", {"expression": "2/3"}).text == "0.666667"
    refused = tools.call(None, "CALCULATE", {"expression": "1/0"})
    assert (refused.ok, refused.error_code) == (False, "no_value")
    assert tools.call(None, "CALCULATE", {}).error_code == "bad_arguments"
    assert tools.call(None, "CALCULATE", {"expression": "1" * (LONGEST + 1)}).error_code == "bad_arguments"


def test_nothing_that_fits_takes_long():
    longest = ("-" * (LONGEST - 1) + "1", "9*" * 99 + "9", "9" * LONGEST, "(" * 99 + "1" + ")" * 99)
    started = time.process_time()
    for expression in longest:
        try:
            evaluate(expression)
        except CallRefused:
            continue
    assert time.process_time() - started < 1


numbers = st.integers(0, 999).map(str) | st.floats(0.001, 999).map(lambda value: f"{value:.3f}")


@given(
    st.recursive(
        numbers,
        lambda part: st.tuples(part, st.sampled_from("+-*"), part).map(lambda it: f"({it[0]}{it[1]}{it[2]})"),
        max_leaves=12,
    )
)
def test_it_says_what_python_says(expression):
    if len(expression) <= LONGEST:
        assert math.isclose(evaluate(expression), float(eval(expression)), rel_tol=1e-9, abs_tol=1e-6)


@given(st.text(max_size=LONGEST))
def test_any_text_is_a_value_or_refused(text):
    try:
        assert math.isfinite(evaluate(text))
    except CallRefused as refused:
        assert refused.args
