"""Values of test cases as text: Python literals, so that tuples, sets, bytes and big integers survive a file.

``nan`` and ``inf`` stand for the floats that have no literal. Nothing is executed in reading.
"""

from __future__ import annotations

import ast
from typing import Any

from pixelis.errors import DatasetError, shown

MAX_LITERAL_LENGTH = 1 << 19
MAX_DEPTH = 64
MAX_ELEMENTS = 60_000
"""Of a value: the sandbox carries no larger ones, see its ``codec``."""
_ATOMS = (bool, int, float, complex, str, bytes, type(None))
_NAMES = {"nan": float("nan"), "inf": float("inf")}


def write_literal(value: Any) -> str:
    """Return a value as the text ``read_literal`` reads.

    Raises:
        DatasetError: it holds something that has no literal, goes too deep, or is an integer of over 4,300
            digits.
    """
    try:
        _check(value)
        return repr(value)
    except (ValueError, RecursionError) as error:
        if isinstance(error, DatasetError):
            raise
        raise DatasetError(f"a value cannot be written ({str(error)[:80]}); use smaller values") from None


def read_literal(text: Any) -> Any:
    """Return the value a text holds.

    Raises:
        DatasetError: it is no text, too long, or no Python literal.
    """
    if not isinstance(text, str) or len(text) > MAX_LITERAL_LENGTH:
        raise DatasetError(
            f"expected a Python literal of at most {MAX_LITERAL_LENGTH:,} characters, got {shown(text, 40)}"
        )
    try:
        return ast.literal_eval(_Floats().visit(ast.parse(text.strip(), mode="eval")))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError) as error:
        raise DatasetError(
            f"expected a Python literal, got {shown(text[:60])} ({str(error)[:80]}); correct it"
        ) from None


def check_size(value: Any) -> int:
    """Return how many elements the containers of a value have, all together.

    Raises:
        DatasetError: more than ``MAX_ELEMENTS``, or containers more than ``MAX_DEPTH`` deep: no program could
            be given or return such a value.
    """
    elements, level = 0, [value]
    for _ in range(MAX_DEPTH + 1):
        inside: list[Any] = []
        for item in level:
            if type(item) is dict:
                inside += [*item, *item.values()]
            elif type(item) in (list, tuple, set):
                inside += item
        elements += len(inside)
        if elements > MAX_ELEMENTS:
            raise DatasetError(f"expected a value of at most {MAX_ELEMENTS:,} elements, got more")
        if not inside:
            return elements
        level = inside
    raise DatasetError(f"expected lists and objects at most {MAX_DEPTH} deep, got deeper ones")


class _Floats(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Constant(_NAMES[node.id]) if node.id in _NAMES else node


def _check(value: Any) -> None:
    kind = type(value)
    if kind is dict:
        for key, item in value.items():
            _check(key)
            _check(item)
    elif kind in (list, tuple, set):
        for item in value:
            _check(item)
    elif kind not in _ATOMS:
        raise DatasetError(f"expected numbers, texts, lists, tuples, dicts or sets, got {kind.__name__}")
