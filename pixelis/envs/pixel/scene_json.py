"""Checks of scenes that come as JSON from outside: one clear error for all that can be wrong with them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pixelis.errors import TaskError


def whole(value: Any, low: int, high: int) -> int:
    """Return a whole number from ``low`` to ``high``.

    Raises:
        ValueError: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"{value!r:.40} where a whole number from {low} to {high} belongs")
    return value


@contextmanager
def task_error(scene: str) -> Iterator[None]:
    """Turn what goes wrong in reading a scene's JSON into a ``TaskError`` that names the reason.

    Args:
        scene: name of the class whose ``to_json`` writes such scenes.

    Raises:
        TaskError: a field is missing, or a value is of the wrong type or out of range.
    """
    try:
        yield
    except TaskError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        reason = f"no field {error}" if isinstance(error, KeyError) else str(error)
        raise TaskError(f"expected a scene as {scene}.to_json writes it, got one with {reason}") from error
