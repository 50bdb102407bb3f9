"""Reading a scene that was stored as JSON: every field is checked, every mistake is one ``TaskError``."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pixelis.errors import TaskError, shown


@contextmanager
def reading_scene(kind: str) -> Iterator[None]:
    """Turn what goes wrong while the fields of foreign data are read into a ``TaskError``.

    Args:
        kind: name of the class whose ``to_json`` wrote the data.
    """
    try:
        yield
    except TaskError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        reason = f"no field {error}" if isinstance(error, KeyError) else str(error)
        raise TaskError(f"expected a scene as {kind}.to_json writes it, got one with {reason}") from error


def whole(value: Any, low: int, high: int) -> int:
    """Return a whole number from ``low`` to ``high``; anything else is a ``ValueError``."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"{shown(value, 40)} where a whole number from {low} to {high} belongs")
    return value


def real(value: Any, low: float, high: float) -> float:
    """Return a finite number from ``low`` to ``high``; anything else is a ``ValueError``."""
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not number or not low <= value <= high:
        raise ValueError(f"{shown(value, 40)} where a number from {low:g} to {high:g} belongs")
    return float(value)


def flag(value: Any) -> bool:
    """Return true or false; anything else is a ``ValueError``."""
    if not isinstance(value, bool):
        raise ValueError(f"{shown(value, 40)} where true or false belongs")
    return value


def one_of(value: Any, known: tuple[str, ...]) -> str:
    """Return one of the known words; anything else is a ``ValueError``."""
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{shown(value, 40)} where one of {known!s:.80} belongs")
    return value


def word(value: Any, longest: int) -> str:
    """Return a printable text of 1 to ``longest`` characters; anything else is a ``ValueError``."""
    if not isinstance(value, str) or not 1 <= len(value) <= longest or not value.isprintable():
        raise ValueError(f"{shown(value, 40)} where a printable text of 1 to {longest} characters belongs")
    return value
