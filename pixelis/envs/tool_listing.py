"""Tools in words, for models and trainers whose chat template has no place for them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

INTRO = (
    'Call a tool with <tool_call>{"name": "...", "arguments": {...}}</tool_call>'
    " and give the final answer with <answer>...</answer>. The tools:"
)


def called(name: str, arguments: Mapping[str, Any] | str) -> str:
    """Return a call as a turn says it.

    Args:
        name: of the tool.
        arguments: by name; a text is what a model wrote in their place, and stays as it is.
    """
    if isinstance(arguments, str):
        return f'<tool_call>{{"name": {json.dumps(name)}, "arguments": {arguments}}}</tool_call>'
    call = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
    return f"<tool_call>{call}</tool_call>"


def listed(tools: Sequence[Mapping[str, Any]]) -> str:
    """Return how a turn is written, and each tool's schema (OpenAI's function form) on a line of its own."""
    return "\n".join([INTRO, *(json.dumps(tool, ensure_ascii=False) for tool in tools)])
