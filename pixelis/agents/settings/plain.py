"""Settings as plain data: mappings laid over one another, their leaves, their digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

Path = tuple[str, ...]
"""Names of sections and, last, of a setting."""


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain settings with others laid over them, key by key at every depth.

    Where ``over`` chooses another ``type``, nothing is left of the one that ``base`` has.
    """
    result = dict(base)
    for name, value in over.items():
        result[name] = laid_over(result.get(name), value)
    return result


def laid_over(old: Any, new: Any) -> Any:
    """Return one setting, which may be a section or the name of its ``type``, with another laid over it."""
    if isinstance(old, BaseModel):
        given = {*old.model_fields_set, *({"type"} & {*type(old).model_fields})}
        old = {name: getattr(old, name) for name in given}
    if isinstance(old, Mapping) and "type" in old and isinstance(new, str):
        new = {"type": new}
    if isinstance(old, str) and isinstance(new, Mapping):
        old = {"type": old}
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        return new
    return new if "type" in old and new.get("type", old["type"]) != old["type"] else merged(old, new)


def leaves(values: Mapping[str, Any], above: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every value of plain settings that is no mapping with something in it, with its path."""
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, (*above, name))
        else:
            yield (*above, name), value


def digest_of(values: Mapping[str, Any]) -> str:
    """Return the SHA-256 of JSON-able values, whatever their order."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
