"""What an answer is worth by a task's own scorer, and which answers that scorer must not be handed.

Scorers of some tasks give what a model wrote to Python's ``eval`` or SymPy's ``parse_expr``, which runs it.
As code it can do anything, and in its scope stand the truth and the entry (``oracle_answer``, as an answer to
``string_insertion``, was paid). So what such a scorer would run is read first, and only numbers, operators,
lists and a few functions of mathematics pass.
"""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import math
import re
import sys
import warnings
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from pixelis.envs.interop.reasoning.numeric import CONSTANTS, FUNCTIONS, may_be_integral, value_of
from pixelis.user_code import RAISED

_MOST_NODES = 2000
"""Parts of an expression that SymPy is given."""
_MOST_BITS = 1024
_ARITHMETIC = re.compile(r"[0-9+\-*/() \n]*")
_NOTHING, _NEAR, _COIN_TOLERANCE = 1e-6, 1e-4, 1e-4
"""What rounding makes; a share of a target that its scorer may take for it; what the coin's scorer allows."""
_RUNS = re.compile(r"(?<![\w.])eval\(|\bparse_expr\b|\bsympify\b")


def worth(dataset: Any, entry: Mapping[str, Any], answer: str) -> float:
    """Return what an answer is worth by the task's own scorer, in [0, 1].

    An answer that it raises for, or that it would run and may not, is worth 0.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what NumPy or Python has to say of an odd answer is no concern
            if not may_be_scored(type(dataset), answer) or not _is_an_answer(entry, answer):
                return 0.0
            value = float(dataset.score_answer(answer, copy.deepcopy(dict(entry))))
    except (*RAISED, RecursionError):
        return 0.0
    return min(max(value, 0.0), 1.0) if math.isfinite(value) else 0.0


def may_be_scored(kind: type[Any], answer: str) -> bool:
    """Whether a task's scorer may be given an answer."""
    runs = _what_runs(kind)
    if runs == "nothing":
        return True
    trees = [tree for tree in map(_tree, (answer, answer.strip())) if tree is not None]
    if runs == "eval":  # which refuses what is no expression
        return all(map(_is_literal, trees))
    if len(trees) < 2:  # SymPy reads more than Python does
        return False
    tree = trees[-1]
    short = sum(1 for _ in ast.walk(tree)) <= _MOST_NODES
    return short and answer.isascii() and _size(tree) <= _MOST_BITS


def _tree(text: str) -> ast.expr | None:
    """Return a text as an expression of Python's; None where it is none."""
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _is_an_answer(entry: Mapping[str, Any], answer: str) -> bool:
    """Whether an answer can be right, for tasks whose scorers (0.1.25) pay or cost too much.

    That of ``game_of_life_halting`` takes any text for True, that of ``puzzle24`` any four numbers that make
    24 or a little more (it and ``countdown`` also what constants make, the latter what comes near), that of a
    coin the first digit of the truth, those of sorted and of complex numbers NaN. Those of integrals simplify
    wrong answers for minutes, those of moves and of a coin work out large numbers for longer.
    """
    metadata = entry["metadata"]
    match metadata.get("source_dataset"):
        case "game_of_life_halting":
            return answer.strip().lower() == str(entry["answer"]).strip().lower()
        case "puzzle24":
            numbers = sorted(map(int, re.findall(r"\d+", answer)[:8]))
            return numbers == sorted(metadata["numbers"]) and _off(answer, 24) < _NOTHING
        case "countdown":
            off = _off(answer, metadata["target"])
            return off < _NOTHING or off > _NEAR * abs(metadata["target"])
        case "number_sorting" | "complex_arithmetic":
            return re.search("nan|inf", answer, re.IGNORECASE) is None
        case "coin_flip":
            if re.search(r"e[+-]?\d{4}", answer.replace("_", ""), re.IGNORECASE):
                return False
            return abs(float(Fraction(answer.replace(",", ""))) - float(entry["answer"])) <= _COIN_TOLERANCE
        case "rush_hour" | "rubiks_cube":
            return re.search(r"\d{2}", answer) is None
        case "simple_integration" | "intermediate_integration":
            return may_be_integral(answer, metadata["integrand"], metadata["variable"])
        case _:
            return True


def _off(answer: str, number: int) -> float:
    """Return how far an expression's value is from a number.

    Raises:
        ValueError, ArithmeticError: it is none of plain arithmetic.
    """
    tree = _tree(answer.strip()) if _ARITHMETIC.fullmatch(answer) else None
    if tree is None:
        raise ValueError("no arithmetic")
    return abs(value_of(tree, {}) - number)


@functools.cache
def _what_runs(kind: type[Any]) -> str:
    """Return what a scorer runs answers by: ``nothing``, ``eval`` or ``sympy``.

    Read off the source of its module, so that a task that is added tomorrow is seen as well.
    """
    module = sys.modules[kind.__module__]
    source = inspect.getsource(module)
    if not _RUNS.search(source):
        return "nothing"
    return "sympy" if re.search(r"^\s*(from|import) sympy", source, re.MULTILINE) else "eval"


def _is_literal(tree: ast.expr) -> bool:
    """Whether Python finds nothing to look up or call: values, lists of them, or a word in capitals.

    Such words (``ABCD`` where letters are to be inserted) are no name in any scorer's scope.
    """
    if isinstance(tree, ast.Name):
        return re.fullmatch("[A-Z]+", tree.id) is not None
    parts = (ast.List, ast.Tuple, ast.Constant, ast.UnaryOp, ast.USub, ast.Load)
    return all(isinstance(node, parts) for node in ast.walk(tree))


def _size(node: ast.expr) -> float:
    """Return a bound on the bits that an expression's largest number needs; infinite if it may not be run."""
    match node:
        case ast.Constant(value=int() as value):
            return value.bit_length() + 1
        case ast.Constant(value=float() as value) if math.isfinite(value):
            return 64
        case ast.Name(id=name) if name in CONSTANTS or len(name) == 1:
            return 2.0
        case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
            return _size(node.operand)
        case ast.BinOp(op=ast.Pow()):
            return _size(node.left) * _greatest(node.right)
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            return max(_size(node.left), _size(node.right)) + 1
        case ast.BinOp(op=ast.Mult() | ast.Div()):
            return _size(node.left) + _size(node.right)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS and args:
            return sum(_size(one) for one in args)
        case _:
            return math.inf


def _greatest(exponent: ast.expr) -> float:
    """Return the magnitude of an exponent: a number, or a quotient of numbers; 4 for a symbol alone."""
    match exponent:
        case ast.Constant(value=int() | float() as value):
            return max(float(value), 1.0) if value < 2**32 else math.inf
        case ast.UnaryOp(op=ast.USub()):
            return _greatest(exponent.operand)
        case ast.BinOp(op=ast.Div()):
            return _greatest(exponent.left)
        case ast.Name() | ast.BinOp(op=ast.Mult()):
            return 4.0 if _size(exponent) < 16 else math.inf
        case _:
            return math.inf
