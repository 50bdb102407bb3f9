"""What a person types in ``play``, turned into a real action by the tools' own schemas.

``zoom 0.3 0.7 4`` becomes ``<tool_call>{"name": "ZOOM", "arguments": {"center": [0.3, 0.7], "factor":
4}}</tool_call>``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pixelis.errors import suggest

Schema = Mapping[str, Any]


class ShortcutError(ValueError):
    """A line that is no shortcut; the message tells the person what would be."""


def translate(line: str, schemas: Sequence[Schema]) -> str:
    """Return the action for a line.

    Lines that hold ``<`` are actions already. ``answer TEXT`` answers. ``TOOL ...`` calls a tool by its name
    or a part of it, with JSON arguments, or with numbers or words that its schema says where to put.

    Args:
        line: what was typed.
        schemas: the toolset's, in OpenAI's function format.

    Raises:
        ShortcutError: no tool of that name, or arguments it has no place for.
    """
    if "<" in line:
        return line
    word, _, rest = line.strip().partition(" ")
    if word.lower() == "answer":
        return f"<answer>{rest.strip()}</answer>"
    function = _find(word, schemas)
    call = {"name": function["name"], "arguments": _arguments(rest.strip(), function)}
    return f"<tool_call>{json.dumps(call)}</tool_call>"


def usage(schemas: Sequence[Schema]) -> str:
    """Return one line for each thing that can be typed."""
    lines = [f"  {_usage(schema['function'])}" for schema in schemas]
    return "\n".join([*lines, "  answer TEXT", "  any text with < is taken as an action; help, quit"])


def _find(word: str, schemas: Sequence[Schema]) -> Mapping[str, Any]:
    functions = {schema["function"]["name"]: schema["function"] for schema in schemas}
    wanted = word.upper()
    for name, function in functions.items():
        if wanted in (name.upper(), *name.upper().split("_")):
            return function
    raise ShortcutError(f"no tool {word!r}.{suggest(wanted, [*functions, 'ANSWER'])}")


def _arguments(text: str, function: Mapping[str, Any]) -> dict[str, Any]:
    properties: Mapping[str, Any] = function["parameters"].get("properties", {})
    if not text:
        return {}
    if text.startswith("{"):
        try:
            return dict(json.loads(text))
        except ValueError as error:
            raise ShortcutError(f"not JSON: {error}") from error
    try:
        numbers = [_number(word) for word in text.split()]
    except ValueError:
        return _words(text, function["name"], properties)
    found = _place(numbers, properties)
    if found is None:
        raise ShortcutError(
            f"{function['name']} has no place for {len(numbers)} number(s): {_usage(function)}"
        )
    return found


def _words(text: str, name: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    for key, kind in properties.items():
        if kind.get("type") == "string":
            return {key: text}
    raise ShortcutError(f"{name} takes numbers or JSON, got {text!r}")


def _place(numbers: Sequence[float], properties: Mapping[str, Any]) -> dict[str, Any] | None:
    """Put numbers into a list of that length; or one into a scalar; or a list and, last, a scalar."""
    lists = {kind["maxItems"]: key for key, kind in properties.items() if kind.get("type") == "array"}
    scalars = [key for key, kind in properties.items() if kind.get("type") in ("integer", "number")]
    if len(numbers) in lists:
        return {lists[len(numbers)]: list(numbers)}
    if len(numbers) == 1 and scalars:
        return {scalars[0]: numbers[0]}
    if len(numbers) - 1 in lists and scalars:
        return {lists[len(numbers) - 1]: list(numbers[:-1]), scalars[-1]: numbers[-1]}
    return None


def _number(word: str) -> float:
    return int(word) if word.lstrip("-").isdigit() else float(word)


def _usage(function: Mapping[str, Any]) -> str:
    properties = function["parameters"].get("properties", {})
    forms = [f"{key}{_form(kind)}" for key, kind in properties.items()]
    return f"{function['name'].lower()} {' | '.join(forms)}".rstrip()


def _form(kind: Mapping[str, Any]) -> str:
    return (
        f" ({kind['maxItems']} numbers)" if kind.get("type") == "array" else f" ({kind.get('type', 'value')})"
    )
