"""The names of a row's fields: those it may have, and those it needs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from pixelis.errors import DatasetError, shown, suggest


def check_names(names: Iterable[Any], known: Collection[str], meant: Mapping[str, str] | None = None) -> None:
    """Check that every field or column is a known one.

    Args:
        names: of the fields.
        known: those that a row may have.
        meant: other names in small letters, as files from elsewhere have them → the known one.

    Raises:
        DatasetError: one is not; the message says which name was meant.
    """
    for name in names:
        if name not in known:
            field = str(name)[:40]
            named = (meant or {}).get(field.casefold())
            hint = suggest(field, known) if named is None else f" Did you mean {named!r}?"
            raise DatasetError(f"unknown field {field!r}.{hint} Rename or remove it.")


def check_needed(row: Mapping[str, Any], needed: Collection[str]) -> None:
    """Check that a row has the fields it needs.

    Raises:
        DatasetError: one is missing.
    """
    for name in needed:
        if name not in row:
            raise DatasetError(f"field {shown(name)} is missing; such a row needs {', '.join(needed)}")
