"""What a person types in ``play``, turned into a real action by the tools' own schemas.

``zoom 0.3 0.7 4`` becomes ``<tool_call>{"name": "ZOOM", "arguments": {"center": [0.3, 0.7], "factor":
4}}</tool_call>``. Several lines are typed as a block: ``answer <<END``, the lines, ``END``; or in a fence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pixelis.errors import suggest

Schema = Mapping[str, Any]
_BLOCK = re.compile(r"(?:^|\s)<<(\w+)\s*\Z")
_FENCE = re.compile(r"(`{3,}|~{3,})[^`]*\Z")


class ShortcutError(ValueError):
    """A line that is no shortcut; the message tells the person what would be."""


def block_end(line: str) -> str | None:
    """Return the line that ends the block which a line opens (``answer <<END``, a fence), if it opens one."""
    if fence := _FENCE.match(line):
        return fence[1]
    opened = _BLOCK.search(line)
    return opened[1] if opened else None


def translate(line: str, schemas: Sequence[Schema], block: str | None = None) -> str:
    """Return the action for a line.

    A line that begins with ``<`` or holds a call or an answer is an action already, and so is every other
    line where there are no tools. ``answer TEXT`` answers. ``TOOL ...`` calls a tool by its name or a part of
    it, with JSON arguments, or with numbers and words that its schema says where to put; ``name=value`` last.

    Args:
        line: what was typed.
        schemas: the toolset's, in OpenAI's function format; empty where there are no tools.
        block: the lines below it, if it opened a block; alone they are the action.

    Raises:
        ShortcutError: no tool of that name, arguments it has no place for, or brackets nested too deep.
    """
    if block is not None:
        if fence := _FENCE.match(line):
            return f"{line}\n{block}\n{fence[1]}"
        line = _BLOCK.sub("", line).strip()
        if not line:
            return block
    elif line.startswith("<") or "<tool_call>" in line or "<answer>" in line:
        return line
    word, _, rest = line.strip().partition(" ")
    if word.lower() == "answer":
        above = f"{rest.strip()}\n" if rest.strip() else ""
        return f"<answer>{rest.strip()}</answer>" if block is None else f"<answer>\n{above}{block}\n</answer>"
    if not schemas and block is None:
        return line
    function = _find(word, schemas)
    try:
        call = {"name": function["name"], "arguments": _arguments(rest.strip(), function, block)}
        return f"<tool_call>{json.dumps(call)}</tool_call>"
    except RecursionError:
        raise ShortcutError("the brackets are nested too deep; nothing was said") from None


def usage(schemas: Sequence[Schema]) -> str:
    """Return one line for each thing that can be typed."""
    lines = [f"  {_usage(schema['function'])}" for schema in schemas]
    raw = "text that begins with < or holds <tool_call> or <answer>" if schemas else "any other text"
    return "\n".join(
        [
            *lines,
            "  answer TEXT",
            "  several lines: answer <<END, the lines, END" + (" (a tool likewise)" if schemas else ""),
            f"  {raw} is taken as an action; so is a block in a ``` fence, or of <<END alone; help, quit",
        ]
    )


def _find(word: str, schemas: Sequence[Schema]) -> Mapping[str, Any]:
    functions = {schema["function"]["name"]: schema["function"] for schema in schemas}
    wanted = word.upper()
    for name, function in functions.items():
        if wanted in (name.upper(), *name.upper().split("_")):
            return function
    raise ShortcutError(f"no tool {word!r}.{suggest(wanted, [*functions, 'ANSWER'])}")


def _arguments(text: str, function: Mapping[str, Any], block: str | None) -> dict[str, Any]:
    properties: Mapping[str, Any] = function["parameters"].get("properties", {})
    if text.startswith("{") and block is None:
        try:
            return dict(json.loads(text))
        except ValueError as error:
            raise ShortcutError(f"not JSON: {error}") from error
    words, named = _without_named(text.split(" "), properties)
    required = [name for name in function["parameters"].get("required", ()) if name not in named]
    texts = [name for name, kind in properties.items() if _is_text(kind) and name not in (*named, *required)]
    text = " ".join(words).strip()
    words = text.split()
    if not words and block is None:
        return _complete(named, function)
    if not any(_is_text(properties[name]) for name in required) and block is None:
        found = _numbers(words, function, {key: kind for key, kind in properties.items() if key not in named})
        if found is not None:
            return {**found, **named}
    return _complete({**_in_order(text, words, [*required, *texts], function, block), **named}, function)


def _without_named(words: list[str], properties: Mapping[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """Take ``name=value`` off the end, as long as the names are a tool's arguments."""
    named: dict[str, Any] = {}
    while words and (parts := words[-1].partition("="))[1] and parts[0] in properties:
        named[parts[0]] = parts[2] if _is_text(properties[parts[0]]) else _value(parts[2])
        words = words[:-1]
    return words, named


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _is_text(kind: Mapping[str, Any]) -> bool:
    return kind.get("type") == "string" or any(isinstance(value, str) for value in kind.get("enum", ()))


def _numbers(
    words: Sequence[str], function: Mapping[str, Any], properties: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return where numbers go; None where the words are none."""
    try:
        numbers = [_number(word) for word in words]
    except ValueError:
        return None
    found = _place(numbers, properties)
    if found is None:
        raise ShortcutError(
            f"{function['name']} has no place for {len(numbers)} number(s): {_usage(function)}"
        )
    return found


def _in_order(
    text: str, words: list[str], names: list[str], function: Mapping[str, Any], block: str | None
) -> dict[str, Any]:
    """Give each argument a word, in order; the last one that gets any takes all that is left of the text."""
    properties = function["parameters"].get("properties", {})
    found: dict[str, Any] = {}
    count = len(words) + (block is not None)
    chosen = names[: max(count, 1)]
    if not chosen:
        raise ShortcutError(f"{function['name']} takes numbers or JSON, got {text!r}")
    for at, name in enumerate(chosen):
        is_last = at == len(chosen) - 1
        if is_last and block is not None:
            if at < len(words):
                raise ShortcutError(
                    f"{function['name']} has no place for {' '.join(words[at:])!r}: {_usage(function)}"
                )
            found[name] = block
        elif _is_text(properties[name]):
            found[name] = text.split(None, at)[at] if is_last else words[at]
        else:
            found[name] = _value(words[at])
    return found


def _complete(found: dict[str, Any], function: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments with which a tool can be called, as far as its schema's ``required`` says."""
    missing = [name for name in function["parameters"].get("required", ()) if name not in found]
    if missing:
        raise ShortcutError(f"{function['name']} needs {', '.join(missing)}: {_usage(function)}")
    return found


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
    required = function["parameters"].get("required", ())
    forms = [f"{key}{_form(kind)}" for key, kind in properties.items()]
    sign = ", " if any(_is_text(properties[name]) for name in required) else " | "
    return f"{function['name'].lower()} {sign.join(forms)}".rstrip()


def _form(kind: Mapping[str, Any]) -> str:
    return (
        f" ({kind['maxItems']} numbers)" if kind.get("type") == "array" else f" ({kind.get('type', 'value')})"
    )
