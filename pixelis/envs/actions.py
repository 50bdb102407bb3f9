"""From one assistant turn (text) to calls and an answer, in document order.

The grammar, which chat templates of current models speak:

    <tool_call>{"name": "ZOOM", "arguments": {"center": [0.3, 0.7], "factor": 4}}</tool_call>
    <tool_call><function=ZOOM><parameter=factor>4</parameter></function></tool_call>
    <answer>KT47</answer>

The first ``<answer>`` ends the turn: nothing after it counts. What a model thinks, ``<think>…</think>``, is
passed over: no call in it is run, no answer in it counts. Where a chat template has opened the thought, only
its ``</think>`` stands in the turn. The scan is linear and bounded in the number of calls, nothing is
evaluated, and no text whatever makes it raise.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from gymnasium.error import ResetNeeded

from pixelis.envs.spaces import clean_text
from pixelis.errors import ActionTypeError

MAX_CALLS_PER_TURN = 16
MAX_ACTION_LENGTH = 16_384
MAX_DEPTH = 32
"""Deepest nesting of arrays and objects in a call: not every program can store deeper ones."""
MAX_NUMBER = 2**63 - 1

_CALL_OPEN, _CALL_CLOSE = "<tool_call>", "</tool_call>"
_ANSWER_OPEN, _ANSWER_CLOSE = "<answer>", "</answer>"
_THOUGHT_OPEN, _THOUGHT_CLOSE = "<think>", "</think>"
_TAG = re.compile(f"{_CALL_OPEN}|{_ANSWER_OPEN}|{_THOUGHT_OPEN}")
_CALL_OR_ANSWER_TAG = re.compile(r"<(/?)(tool_call|answer)>")
_OBJECT = re.compile(r"\s*+\{")
_DECODER = json.JSONDecoder()
_FUNCTION_OPEN = re.compile(r"<function=([A-Za-z0-9_.-]{1,64})>")
_PARAMETER_OPEN = re.compile(r"<parameter=([A-Za-z0-9_.-]{1,64})>")
_PARAMETER_CLOSE, _FUNCTION_CLOSE = "</parameter>", "</function>"
_XML = re.compile(r"\s*+<function=")
_XML_END = re.compile(r"(?:</function>|</parameter>|<function=[A-Za-z0-9_.-]{1,64}>)\s*+</tool_call>")
_CALL_BEGIN = re.compile(r"<tool_call>\s*+(?:\{|<function=)")

_UNCLOSED_THOUGHT = "unclosed_thought"
CALL_HELP = 'Write <tool_call>{"name": "TOOL", "arguments": {…}}</tool_call> or <answer>…</answer>.'
THOUGHT_HELP = (
    f"Nothing was done: <think> has no </think> in the {MAX_ACTION_LENGTH:,} characters that are read, so "
    f"all of the turn is a thought. Think less, close it, then act. {CALL_HELP}"
)
ANSWER_HELP = "No answer. Write <answer>…</answer>."
"""For environments without tools."""


@dataclass(frozen=True)
class ToolCall:
    """A well-formed call; whether the tool exists and takes the arguments is the toolset's business.

    Attributes:
        name: of the tool.
        arguments: by name; one in XML form is what it reads as in JSON, else its text.
        texts: the arguments in XML form as they were written: what a tool gets where it asks for a text.
    """

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class BadCall:
    """A call that could not be read, and why, in words meant for the model."""

    error_code: str
    message: str


@dataclass(frozen=True)
class ParsedAction:
    """The calls of a turn in document order, and the answer that ends it (``None`` if there is none).

    ``written`` is the answer with the white space around it, which means something in code.
    """

    calls: tuple[ToolCall | BadCall, ...]
    answer: str | None
    written: str = field(default="", compare=False)

    @property
    def is_thought(self) -> bool:
        """Whether all of the turn is a thought that has no end."""
        return any(isinstance(call, BadCall) and call.error_code == _UNCLOSED_THOUGHT for call in self.calls)


def parse_action(text: str) -> ParsedAction:
    """Return the calls and the answer in ``text``.

    Text longer than ``MAX_ACTION_LENGTH`` is cut first; unpaired surrogates count as ``?``.
    """
    text = clean_text(text[:MAX_ACTION_LENGTH])
    position = _opening_thought_end(text)
    if position < 0:
        return ParsedAction((BadCall(_UNCLOSED_THOUGHT, THOUGHT_HELP),), None)
    calls: list[ToolCall | BadCall] = []
    while tag := _TAG.search(text, position):
        start = tag.end()
        if tag[0] == _THOUGHT_OPEN:
            position = max(start, text.find(_THOUGHT_CLOSE, start))
            continue
        if tag[0] == _ANSWER_OPEN:
            end = text.find(_ANSWER_CLOSE, start)
            written = text[start : end if end >= 0 else len(text)]
            return ParsedAction(tuple(calls), written.strip(), written)
        if len(calls) == MAX_CALLS_PER_TURN:
            calls.append(
                BadCall("too_many_calls", f"Only the first {MAX_CALLS_PER_TURN} calls of a turn are run.")
            )
            break
        end = _call_end(text, start)
        if end < 0:
            calls.append(BadCall("unclosed_call", f"A <tool_call> has no </tool_call>. {CALL_HELP}"))
            break
        calls.append(_parse_call(text[start:end]))
        position = end + len(_CALL_CLOSE)
    return ParsedAction(tuple(calls), None)


def without_thought(text: str) -> str:
    """Return a turn without the thought that it begins with; nothing is left of one that has no end."""
    end = _opening_thought_end(text)
    return "" if end < 0 else text[end:].removeprefix(_THOUGHT_CLOSE)


def _opening_thought_end(text: str) -> int:
    """Return where the thought ends that a turn begins with: 0 without one, -1 if it has no end.

    A chat template may have opened it, so that the turn holds its ``</think>`` alone. One in a call or an
    answer (code may hold it) ends no thought.
    """
    end = text.find(_THOUGHT_CLOSE)
    opened = text.find(_THOUGHT_OPEN)
    if opened >= 0 and not text[:opened].strip():
        return end
    if end < 0 or 0 <= opened < end:
        return 0
    before, after = list(_CALL_OR_ANSWER_TAG.finditer(text, 0, end)), _CALL_OR_ANSWER_TAG.search(text, end)
    inside = before and after and (before[-1][1], after[1]) == ("", "/") and before[-1][2] == after[2]
    return 0 if inside else end


def _call_end(text: str, start: int) -> int:
    """Return where the ``</tool_call>`` of a call stands, whose texts may hold tags; -1 if there is none."""
    if _XML.match(text, start):
        end = _XML_END.search(text, start)
        if end and not _CALL_BEGIN.search(text, start, end.start()):
            return end.end() - len(_CALL_CLOSE)
    return text.find(_CALL_CLOSE, _json_end(text, start))


def _json_end(text: str, start: int) -> int:
    """Return where the JSON object of a call ends, whose texts may hold tags; ``start`` if there is none."""
    at = _OBJECT.match(text, start)
    try:
        return _DECODER.raw_decode(text, at.end() - 1)[1] if at else start
    except (ValueError, RecursionError):
        return start


def _parse_call(body: str) -> ToolCall | BadCall:
    function = _FUNCTION_OPEN.search(body)
    if function and not body.lstrip().startswith("{"):
        return _parse_xml_arguments(function.group(1), body[function.end() :])
    try:
        value = json.loads(body, parse_constant=_reject_constant)
    except (ValueError, RecursionError) as error:
        reason = "too deeply nested" if isinstance(error, RecursionError) else str(error)[:120]
        return BadCall("bad_json", f"The call is not valid JSON ({reason}). {CALL_HELP}")
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return BadCall("bad_call", f'The call must be an object with a text "name". {CALL_HELP}')
    arguments = value.get("arguments", {})
    if not isinstance(arguments, dict):
        return BadCall("bad_call", f'"arguments" must be an object. {CALL_HELP}')
    if problem := _problem_with(value):
        return BadCall("bad_json", f"{problem} {CALL_HELP}")
    return ToolCall(value["name"], arguments)


def _parse_xml_arguments(name: str, body: str) -> ToolCall | BadCall:
    arguments: dict[str, Any] = {}
    texts: dict[str, str] = {}
    position = 0
    while match := _PARAMETER_OPEN.search(body, position):
        end = _parameter_end(body, match.end())
        if end < 0:
            return BadCall("unclosed_call", f"<parameter={match.group(1)}> has no </parameter>. {CALL_HELP}")
        text = body[match.end() : end]
        arguments[match.group(1)] = _value(text.strip())
        texts[match.group(1)] = _lines(text)
        position = end
    if problem := _problem_with(arguments):
        return BadCall("bad_json", f"{problem} {CALL_HELP}")
    return ToolCall(name, arguments, texts)


def _parameter_end(body: str, start: int) -> int:
    """Return where the ``</parameter>`` of a parameter stands, whose text may hold tags; -1 without one."""
    following = _PARAMETER_OPEN.search(body, start)
    limit = following.start() if following else body.rfind(_FUNCTION_CLOSE, start)
    end = body.rfind(_PARAMETER_CLOSE, start, limit if limit >= 0 else len(body))
    return end if end >= 0 else body.find(_PARAMETER_CLOSE, start)


def _value(text: str) -> Any:
    """An XML argument is JSON when it reads as JSON, else plain text."""
    try:
        return json.loads(text, parse_constant=_reject_constant)
    except (ValueError, RecursionError):
        return text


def _lines(text: str) -> str:
    """Return an XML argument as text: with its first line's indentation if it has lines of its own."""
    has_own_lines = text.startswith(("\n", "\r\n"))
    return text.removeprefix("\r").removeprefix("\n").rstrip() if has_own_lines else text.strip()


def _reject_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _problem_with(value: Any) -> str:
    r"""Return why a JSON value is refused though it parsed, in words for the model; empty when it is fine.

    Refused are numbers that no 64-bit number holds (``1e999`` is legal JSON), half surrogate pairs
    (``"\ud800"`` is legal too) and deep nesting: each would break a program that reads the record later.
    """
    pending = [(value, 0)]
    while pending:
        item, depth = pending.pop()
        if depth > MAX_DEPTH:
            return f"The call is nested more than {MAX_DEPTH} deep."
        if isinstance(item, dict):
            pending.extend((part, depth + 1) for pair in item.items() for part in pair)
        elif isinstance(item, list):
            pending.extend((part, depth + 1) for part in item)
        elif isinstance(item, str) and item != clean_text(item):
            return "A text holds half of a surrogate pair."
        elif isinstance(item, int | float) and abs(item) > MAX_NUMBER:
            return "A number is too large."
    return ""


def check_turn(action: Any, *, over: bool) -> None:
    """Check what ``step`` is given: a text, while an episode goes on.

    Raises:
        ActionTypeError: it is no text.
        gymnasium.error.ResetNeeded: there is no episode, or it has ended.
    """
    if not isinstance(action, str):
        raise ActionTypeError(
            f"an action is one assistant turn as a str, got {type(action).__name__}; pass the model's text"
        )
    if over:
        raise ResetNeeded("the episode has not begun or has ended; call reset() first")
