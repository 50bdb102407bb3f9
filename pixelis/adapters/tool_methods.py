"""A tool as a method with types and a docstring, which is what trainers make a schema of."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

_TYPES: Mapping[str, type[Any]] = {
    "string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict,
}  # fmt: skip


def tool_method(
    tool: Mapping[str, Any], call: Callable[[Any, str, dict[str, Any]], Any]
) -> Callable[..., Any]:
    """Return a tool as a method.

    Args:
        tool: its function schema: ``name``, ``description``, ``parameters``.
        call: what the method does, with the object, the tool's name, and the arguments that are not None.
    """
    name, parameters = str(tool["name"]), tool["parameters"]
    fields: Mapping[str, Any] = parameters.get("properties", {})
    required = set(parameters.get("required", ()))

    def method(self: Any, **arguments: Any) -> Any:
        """Stand for the tool; its own docstring is set below."""
        return call(self, name, {key: value for key, value in arguments.items() if value is not None})

    told = {
        key: one.get("description", key) if isinstance(one, Mapping) else key for key, one in fields.items()
    }
    described = [f"    {key}: {' '.join(str(text).split())}" for key, text in told.items()]
    method.__name__ = method.__qualname__ = name
    method.__doc__ = "\n".join([str(tool["description"]), "", *(["Args:", *described] if fields else [])])
    kinds = {key: _type(one) if key in required else _type(one) | None for key, one in fields.items()}
    order = sorted(fields, key=lambda key: key not in required)
    keyword, empty = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
    signed = [
        inspect.Parameter(key, keyword, default=empty if key in required else None, annotation=kinds[key])
        for key in order
    ]
    method.__signature__ = inspect.Signature([inspect.Parameter("self", keyword), *signed])  # type: ignore[attr-defined]
    method.__annotations__ = {key: kinds[key] for key in order}
    return method


def _type(schema: Any) -> Any:
    """Return the type that a JSON Schema allows; several are a union, and what says none is anything."""
    if not isinstance(schema, Mapping):  # True is a schema too
        return Any
    kind = schema.get("type")
    parts = schema.get("anyOf") or schema.get("oneOf") or ()
    if isinstance(kind, list):
        parts = [{**schema, "type": each} for each in kind]
    if not isinstance(kind, str) and "enum" in schema:
        return _union(type(each) for each in schema["enum"])
    if parts:
        return _union(_type(each) for each in parts)
    if kind == "array":
        return list[_type(schema.get("items", {"type": "number"}))]
    return type(None) if kind == "null" else _TYPES.get(str(kind), Any)


def _union(types: Iterable[Any]) -> Any:
    """Return the union of types; None, which is what an argument that is not given has, goes last."""
    found = list(dict.fromkeys(types))
    return Any if Any in found else functools.reduce(operator.or_, found)
