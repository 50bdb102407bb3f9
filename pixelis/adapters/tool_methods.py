"""A tool as a method with types and a docstring, which is what trainers make a schema of."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
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

    described = [
        f"    {key}: {' '.join(str(one.get('description', key)).split())}" for key, one in fields.items()
    ]
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


def _type(schema: Mapping[str, Any]) -> Any:
    kind = schema.get("type", "string")
    if kind == "array":
        return list[_type(schema.get("items", {"type": "number"}))]
    return _TYPES.get(kind, str)
