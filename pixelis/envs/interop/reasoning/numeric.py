"""Expressions of mathematics by numbers: whether an answer can be an integral, before SymPy is asked.

To tell whether a difference of two expressions is zero SymPy simplifies it, which takes minutes for some of
twenty symbols. A wrong answer is told from a right one by its slope at a few points in microseconds.
"""

from __future__ import annotations

import ast
import cmath
from collections.abc import Mapping
from typing import Any

FUNCTIONS: Mapping[str, Any] = {
    **{name: getattr(cmath, name) for name in ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh")},
    **{name: getattr(cmath, name) for name in ("tanh", "exp", "log", "sqrt")},
    "ln": cmath.log,
    "Abs": abs,
    "sec": lambda x: 1 / cmath.cos(x),
    "csc": lambda x: 1 / cmath.sin(x),
    "cot": lambda x: 1 / cmath.tan(x),
}
"""What an expression may call, by SymPy's names."""
CONSTANTS: Mapping[str, complex] = {"pi": cmath.pi, "E": cmath.e, "C": 1.0}
_POINTS = tuple(
    sign * point for point in (0.1, 0.2, 0.3, 0.7, 1.1, 1.7, 2.3, 3.9, 7.3, 12.1) for sign in (1, -1)
)
_STEP, _TOLERANCE, _REAL = 1e-5, 1e-4, 1e-9


def may_be_integral(answer: str, integrand: str, variable: str) -> bool:
    """Whether an expression's slope is an integrand's value, at every point at which that is real.

    Both must be expressions that `value_of` can work out.
    """
    found, wanted = ast.parse(answer.strip(), mode="eval").body, ast.parse(integrand, mode="eval").body
    compared = 0
    for point in _POINTS:
        try:
            high, low = (value_of(found, {variable: point + step}) for step in (_STEP, -_STEP))
            slope, value = (high - low) / (2 * _STEP), value_of(wanted, {variable: point})
        except (ArithmeticError, ValueError):
            continue
        if not (cmath.isfinite(slope) and cmath.isfinite(value)) or abs(value.imag) > _REAL:
            continue
        compared += 1
        if abs(slope - value) > _TOLERANCE * max(1.0, abs(slope), abs(value)):
            return False
    return compared >= 2


def value_of(node: ast.expr, symbols: Mapping[str, complex]) -> complex:
    """Return an expression's value.

    Raises:
        ArithmeticError, ValueError: it has none, or holds what is not known here.
    """
    match node:
        case ast.Constant(value=int() | float() as value):
            return complex(value)
        case ast.Name(id=name) if name in symbols or name in CONSTANTS:
            return complex(symbols[name] if name in symbols else CONSTANTS[name])
        case ast.UnaryOp(op=ast.USub()):
            return -value_of(node.operand, symbols)
        case ast.UnaryOp(op=ast.UAdd()):
            return value_of(node.operand, symbols)
        case ast.BinOp(op=ast.Add()):
            return value_of(node.left, symbols) + value_of(node.right, symbols)
        case ast.BinOp(op=ast.Sub()):
            return value_of(node.left, symbols) - value_of(node.right, symbols)
        case ast.BinOp(op=ast.Mult()):
            return value_of(node.left, symbols) * value_of(node.right, symbols)
        case ast.BinOp(op=ast.Div()):
            return value_of(node.left, symbols) / value_of(node.right, symbols)
        case ast.BinOp(op=ast.Pow()):
            return value_of(node.left, symbols) ** value_of(node.right, symbols)
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in FUNCTIONS:
            return complex(FUNCTIONS[name](value_of(argument, symbols)))
        case _:
            raise ValueError("not known here")
