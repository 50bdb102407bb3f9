"""Tools in words, for models and trainers whose chat template has no place for them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

INTRO = (
    'Call a tool with <tool_call>{"name": "...", "arguments": {...}}</tool_call>'
    " and give the final answer with <answer>...</answer>. The tools:"
)


def listed(tools: Sequence[Mapping[str, Any]]) -> str:
    """Return how a turn is written, and each tool's schema (OpenAI's function form) on a line of its own."""
    return "\n".join([INTRO, *(json.dumps(tool, ensure_ascii=False) for tool in tools)])
