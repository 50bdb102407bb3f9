"""Which ``<answer>`` of a turn that holds code is the answer, and which is part of the code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pixelis.envs.actions import ParsedAction, parse_action
from pixelis.envs.coding.answers.extraction import defines, fenced_blocks
from pixelis.envs.coding.answers.python_source import parse
from pixelis.envs.spaces import clean_text

_OPEN, _CLOSE = "<answer>", "</answer>"
_NO_TAG = "[answer]"
CodeIn = Callable[[str], str | None]


def parse_turn(turn: str, entry: str, code_in: CodeIn) -> ParsedAction:
    """Return the calls and the answer in a turn as `parse_action` does, but for tags that are no answer.

    These are passed over: a tag in a fenced block, unless the block is no Python and ``</answer>`` stands
    behind it (a fence that was never closed); and a tag without ``</answer>`` that has code in front of it,
    unless what follows defines the function by itself.

    Args:
        turn: as long as `parse_action` reads it, at most.
        entry: name of the function asked for.
        code_in: returns the code in a text, None where there is none.

    Returns:
        The calls, and the answer with the white space around it, which is code, too.
    """
    text = clean_text(turn)
    parsed = parse_action(text)
    if parsed.answer is None:
        return parsed
    blocks = fenced_blocks(text)
    ends_nothing = False  # a tag without an end is no answer; then none behind it is
    while parsed.answer is not None:
        at = text.find(_OPEN + parsed.written)
        close = text.find(_CLOSE, at)
        block = next((one for one in blocks if one.start <= at < one.end), None)
        is_text = block is not None and (
            parse(block.code).tree is not None or (block.is_closed and not close >= block.end)
        )
        if not is_text and close < 0:
            ends_nothing = is_text = ends_nothing or _is_behind_code(text, at, entry, code_in)
        if not is_text:
            return replace(parsed, answer=parsed.written)
        text = text[:at] + _NO_TAG + text[at + len(_OPEN) :]
        parsed = parse_action(text)
    return parsed


def _is_behind_code(text: str, at: int, entry: str, code_in: CodeIn) -> bool:
    """Return whether a tag without an end ends code, or only stands in or behind it."""
    before, after = text[:at].rpartition("</think>")[2], text[at + len(_OPEN) :]
    if code_in(before) is None:
        return False
    return _OPEN in (code_in(text) or "") or not defines(code_in(after) or "", entry)
