"""CALCULATE: arithmetic for environments whose answer is worked out from what was read."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from pixelis.envs.tools import CallRefused, Tool, ToolOutput
from pixelis.rewards.terms.traits import ToolTraits

LONGEST = 200
"""Characters of an expression: what would take long cannot be written."""

_PARTS = re.compile(r"\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+|log|exp|sqrt|[-+*/() ]")
_SIGNS = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-"})
_BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_UNARY: dict[type[ast.unaryop], Callable[[float], float]] = {ast.USub: operator.neg, ast.UAdd: operator.pos}
_FUNCTIONS: dict[str, Callable[[float], float]] = {"log": math.log, "exp": math.exp, "sqrt": math.sqrt}


def evaluate(expression: str) -> float:
    """Return the value of an expression of numbers, + - * / ( ), log, exp and sqrt, in float64.

    It is parsed, never run: a name, an attribute or any other form of Python is refused.

    Args:
        expression: at most `LONGEST` characters; × · ÷ and the sign − are understood.

    Raises:
        CallRefused: it is something else, or its value is no finite number.
    """
    plain = expression.translate(_SIGNS).strip()
    try:
        if _PARTS.sub("", plain):  # else Python's parser would warn of some of them
            raise SyntaxError("no arithmetic")
        value = _value(ast.parse(plain, mode="eval").body)
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError) as error:
        what = "it is no arithmetic" if isinstance(error, SyntaxError) else str(error)
        raise CallRefused("no_value", f"this has no value ({what}).") from None
    if not math.isfinite(value):
        raise CallRefused("no_value", "this has no value (too large).")
    return value


def _value(node: ast.expr) -> float:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return float(number)
        case ast.BinOp(left, sign, right) if type(sign) in _BINARY:
            return _BINARY[type(sign)](_value(left), _value(right))
        case ast.UnaryOp(sign, operand) if type(sign) in _UNARY:
            return _UNARY[type(sign)](_value(operand))
        case ast.Call(func=ast.Name(name), args=[argument], keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](_value(argument))
    raise SyntaxError("not arithmetic")


def _calculate(workspace: Any, arguments: Mapping[str, Any]) -> ToolOutput:
    value = evaluate(arguments["expression"])
    return ToolOutput(f"{value:.6g}", {"value": value})


CALCULATE: Tool[Any] = Tool(
    "CALCULATE",
    "Work out an expression of numbers: + - * / ( ) log exp sqrt. Its value is told with six digits.",
    {
        "properties": {"expression": {"type": "string", "maxLength": LONGEST}},
        "required": ["expression"],
    },
    _calculate,
    ToolTraits(limit=10),
)
