"""Assertions of a test script as test cases: what to call and what must come back. The script is not run.

``assert f(1, 2) == 3``, its mirror image, ``assert f(1)``, ``assert not f(1)``, ``is`` with None or a bool,
tolerances written as ``abs(f(1) - 0.5) < 1e-6``, and list(), tuple(), set() or sorted() around the call are
read. A script with anything else that could fail stays a script, whole, so that no assertion is lost in
silence.
"""

from __future__ import annotations

import ast
import builtins
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pixelis.envs.coding.answers.comparison import AnswerComparison, loosest
from pixelis.envs.coding.answers.python_source import given_names, parse_exactly, parse_trusted
from pixelis.envs.coding.problems.literals import read_literal, write_literal
from pixelis.envs.coding.problems.problem import TestCase
from pixelis.errors import DatasetError, shown

_ORDERLESS = (("set",), ("sorted",))
_WRAPPERS: dict[str, Callable[[Any], Any]] = {"list": list, "tuple": tuple, "set": set, "sorted": sorted}
_AROUND = (*_WRAPPERS, "abs", "len", "str", "sum", "round")
_BUILT_IN = frozenset(dir(builtins))
_MALFORMED = (TypeError, IndexError, OverflowError)  # abs() of nothing, a text as a tolerance
MAX_DIGITS = 300
NO_ASSERTIONS = "no assertions"
"""The reason for a script in which nothing could fail."""


@dataclass(frozen=True)
class Translation:
    """What a script became.

    Attributes:
        cases: its assertions as test cases; empty where ``reason`` says why not. One that forgives less than
            another has a comparison of its own.
        comparison: what counts as equal in them: numbers by value, as ``==`` has it, and the
            greatest tolerance written.
        reason: the first thing that is no such assertion; empty for a script that was read whole.
        vacuous: assertions left out because they hold for every solution (``assert True``, ``f(x) == f(x)``).
        around: what stands around all calls, the outermost first, see ``Problem.around``.
    """

    cases: tuple[TestCase, ...]
    comparison: AnswerComparison
    reason: str = ""
    vacuous: int = 0
    around: tuple[str, ...] = ()


class _UnreadError(Exception):
    pass


@dataclass(frozen=True)
class _Sides:
    """An assertion taken apart: the call, the expected value, what is wrapped around the call, tolerances.

    ``wraps`` has the outermost first; ``exactly`` is whether the type of a number counts, too.
    """

    call: ast.expr
    expected: Any
    wraps: tuple[str, ...] = ()
    absolute: float = 0.0
    relative: float = 0.0
    exactly: bool = False

    @property
    def comparison(self) -> AnswerComparison:
        """What counts as equal."""
        return AnswerComparison(
            float_tolerance=self.absolute,
            relative_tolerance=self.relative,
            unordered=self.wraps in _ORDERLESS,
            any_sequence=bool(self.wraps),
            same_number_type=self.exactly,
        )


def translate(script: str, entry: str) -> Translation:
    """Return a script's assertions as test cases, or why they are none.

    Args:
        script: assertions, or HumanEval's ``def check(candidate)`` around them.
        entry: the function's name; ``candidate`` inside ``check`` means the same.
    """
    names, claims, vacuous = {entry, "candidate"}, [], 0
    try:
        for statement in _statements(parse_exactly(script)):
            sides = _sides(statement, names)
            vacuous += sides is None
            claims += [(sides, _case(sides, names))] if sides else []
        wraps = {sides.wraps for sides, _ in claims}
        if len(wraps) != 1:
            raise _UnreadError("assertions of several kinds" if claims else NO_ASSERTIONS)
        row = loosest({sides.comparison for sides, _ in claims})
        cases = tuple(
            case if sides.comparison == row else replace(case, comparison=sides.comparison)
            for sides, case in claims
        )
        return Translation(cases, row, "", vacuous, *wraps)
    except (_UnreadError, SyntaxError, ValueError, RecursionError, *_MALFORMED) as error:
        return Translation((), AnswerComparison(), str(error)[:160] or type(error).__name__)


def called_name(assertion: str, solution: str = "") -> str:
    """Return the function that an assertion calls, e.g. ``f`` of ``assert set(f(1)) == {1}``.

    Args:
        assertion: a test.
        solution: a source that defines the function, if there is one; of several called, that one is meant.

    Raises:
        DatasetError: it calls none.
    """
    tree = parse_trusted(assertion)
    if tree is None:
        raise DatasetError(f"a test must be Python, got {shown(assertion, 60)}; write assert f(…) == …")
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = [function.id for function in calls if isinstance(function, ast.Name)]
    written = parse_trusted(solution)
    defined = given_names(written) if written is not None else set()
    for is_it in (defined.__contains__, lambda name: name not in _BUILT_IN, lambda name: name not in _AROUND):
        if found := next(filter(is_it, names), None):
            return found
    raise DatasetError(f"a test must call the function, got {shown(assertion, 60)}; write assert f(…) == …")


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "check":
            yield from (inner for inner in statement.body if not _is_harmless(inner))
        elif not _is_harmless(statement):
            yield statement


def _is_harmless(statement: ast.stmt) -> bool:
    """Whether a statement checks nothing: a docstring, METADATA, an import, pass, the call of check."""
    if isinstance(statement, ast.Assign):
        return all(isinstance(target, ast.Name) and target.id == "METADATA" for target in statement.targets)
    if isinstance(statement, ast.Expr):
        value = statement.value
        called = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "check"
        return called or isinstance(value, ast.Constant)
    return isinstance(statement, ast.Import | ast.ImportFrom | ast.Pass)


def _sides(statement: ast.stmt, names: set[str]) -> _Sides | None:
    """Return what an assertion claims; None for one that holds for every solution."""
    if not isinstance(statement, ast.Assert):
        raise _UnreadError(f"line {statement.lineno}: {type(statement).__name__}")
    test = statement.test
    if isinstance(test, ast.Constant) and test.value:
        return None
    if _is_call(test, names):
        return _Sides(test, True)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and _is_call(test.operand, names):
        return _Sides(test.operand, False)
    if isinstance(test, ast.Call) and ast.unparse(test.func) in ("math.isclose", "isclose"):
        return _is_close(test)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        raise _UnreadError(f"line {test.lineno}: {type(test).__name__} in an assertion")
    left, right, op = test.left, test.comparators[0], test.ops[0]
    if isinstance(op, ast.Lt | ast.LtE):
        return _difference(left, right, names, is_strict=isinstance(op, ast.Lt))
    if isinstance(op, ast.Is):
        return _identical(left, right, names)
    if not isinstance(op, ast.Eq):
        raise _UnreadError(f"line {test.lineno}: {type(op).__name__} in an assertion")
    return _equal(left, right, names)


def _identical(left: ast.expr, right: ast.expr, names: set[str]) -> _Sides:
    sides = _equal(left, right, names)
    if sides is None or not any(sides.expected is one for one in (None, True, False)):
        raise _UnreadError(f"line {left.lineno}: is with something else than None, True or False")
    return replace(sides, exactly=sides.expected is not None)


def _equal(left: ast.expr, right: ast.expr, names: set[str]) -> _Sides | None:
    if _calls(right, names) and not _calls(left, names):
        left, right = right, left
    if _calls(right, names):
        if len({re.sub(rf"\b({'|'.join(names)})\b", "f", ast.unparse(side)) for side in (left, right)}) == 1:
            return None
        raise _UnreadError(f"line {left.lineno}: two calls compared")
    call, wraps = _unwrapped(left)
    value, around = _unwrapped(right)
    expected = _value(value)
    if {*around} - {*wraps} or ("set" in wraps and isinstance(expected, list | tuple) and _repeats(expected)):
        raise _UnreadError(
            f"line {left.lineno}: {', '.join(sorted({*around, *wraps}))}() changes what is expected"
        )
    if wraps and type(expected) not in (list, tuple, set):
        raise _UnreadError(f"line {left.lineno}: {', '.join(sorted(wraps))}() around a call")
    for name in reversed(around if len(wraps) > 1 else ()):  # of one alone the comparison takes care
        expected = _WRAPPERS[name](expected)
    return _Sides(call, expected, wraps)


def _repeats(items: Sequence[Any]) -> bool:
    return len({write_literal(item) for item in items}) < len(items)


def _difference(left: ast.expr, right: ast.expr, names: set[str], *, is_strict: bool) -> _Sides:
    """Read ``abs(f(x) - value) < tolerance``, or ``<=``."""
    if not isinstance(left, ast.Call) or ast.unparse(left.func) not in ("abs", "math.fabs", "fabs"):
        raise _UnreadError(f"line {left.lineno}: < in an assertion")
    inside, tolerance = left.args[0], _value(right)
    if not isinstance(inside, ast.BinOp) or not isinstance(inside.op, ast.Sub) or not 0 <= tolerance < 1:
        raise _UnreadError(f"line {left.lineno}: no difference of two numbers, or a tolerance of 1 or more")
    if is_strict and not tolerance:
        raise _UnreadError(f"line {left.lineno}: a difference below 0")
    reach = math.nextafter(tolerance, 0) if is_strict else float(tolerance)
    call, value = (inside.left, inside.right) if _calls(inside.left, names) else (inside.right, inside.left)
    return _Sides(call, float(_value(value)), absolute=reach)


def _is_close(test: ast.Call) -> _Sides:
    """Read ``math.isclose(f(x), value, rel_tol=…, abs_tol=…)``, whose rel_tol is 1e-9 unless given."""
    given = {str(keyword.arg): float(_value(keyword.value)) for keyword in test.keywords}
    if len(test.args) != 2 or not set(given) <= {"rel_tol", "abs_tol"}:
        raise _UnreadError(f"line {test.lineno}: isclose() with other arguments")
    value = float(_value(test.args[1]))
    return _Sides(test.args[0], value, (), given.get("abs_tol", 0.0), given.get("rel_tol", 1e-9))


def _case(sides: _Sides, names: set[str]) -> TestCase:
    call = sides.call
    if not isinstance(call, ast.Call) or not _is_call(call, names):
        raise _UnreadError(f"line {call.lineno}: no call to compare")
    kwargs = {keyword.arg: _value(keyword.value) for keyword in call.keywords if keyword.arg}
    if len(kwargs) != len(call.keywords):
        raise _UnreadError(f"line {call.lineno}: ** in a call")
    return TestCase(tuple(_value(argument) for argument in call.args), sides.expected, kwargs)


def _is_call(node: ast.expr, names: set[str]) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


def _calls(node: ast.expr, names: set[str]) -> bool:
    return any(isinstance(inner, ast.expr) and _is_call(inner, names) for inner in ast.walk(node))


def _unwrapped(node: ast.expr) -> tuple[ast.expr, tuple[str, ...]]:
    wraps: list[str] = []
    while (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in _WRAPPERS
        and len(node.args) == 1
        and not node.keywords
    ):
        wraps.append(node.func.id)
        node = node.args[0]
    return node, tuple(wraps)


def _value(node: ast.expr) -> Any:
    """Return the value of a literal, perhaps with arithmetic on numbers in it. Nothing is called."""
    try:
        return read_literal(write_literal(_computed(node)))
    except (DatasetError, ArithmeticError, TypeError, ValueError):
        raise _UnreadError(f"line {node.lineno}: no literal") from None


def _computed(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        items = [_computed(item) for item in node.elts]
        return (
            items if isinstance(node, ast.List) else tuple(items) if isinstance(node, ast.Tuple) else {*items}
        )
    if isinstance(node, ast.Dict) and all(node.keys):
        return {
            _computed(key): _computed(item) for key, item in zip(node.keys, node.values, strict=True) if key
        }
    if isinstance(node, ast.UnaryOp):
        value = _computed(node.operand)
        return -value if isinstance(node.op, ast.USub) else +value
    if isinstance(node, ast.BinOp):
        return _arithmetic(node.op, _computed(node.left), _computed(node.right))
    raise ValueError(type(node).__name__)


def _arithmetic(op: ast.operator, a: Any, b: Any) -> Any:
    if not all(type(side) in (int, float, complex) for side in (a, b)):
        raise TypeError("arithmetic on something else than numbers")
    if isinstance(op, ast.Pow):
        if abs(b) > MAX_DIGITS or abs(a) > 10**6:
            raise ValueError("a power too high")
        return a**b
    if isinstance(op, ast.Add):
        return a + b
    if isinstance(op, ast.Sub):
        return a - b
    if isinstance(op, ast.Mult):
        return a * b
    if isinstance(op, ast.Div):
        return a / b
    if isinstance(op, ast.FloorDiv):
        return a // b
    raise ValueError(type(op).__name__)
