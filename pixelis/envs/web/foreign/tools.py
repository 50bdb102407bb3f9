"""The tools of a page in a real browser: those of every web environment, and those of mouse and keyboard."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pixelis.envs.tools import CallRefused, Tool, ToolOutput
from pixelis.envs.web.browse.tools import TRAITS
from pixelis.envs.web.chromium.hand_actions import ClickAt, Drag, Hover, Mark, Pause, Point, Press, Wheel
from pixelis.envs.web.foreign.session import PageSession
from pixelis.envs.web.page.backend import Back, Click, Goto, Select, Type, Wait
from pixelis.rewards.terms.traits import ToolTraits

MAX_TYPED = 2_000
MAX_TIMES = 200
MAX_WAIT = 10_000
_WHEEL = 120

_ID = {"type": "string", "description": "as it is written on the page, e.g. e12@v7"}
_POINT = {
    "type": "array",
    "items": {"type": "number", "minimum": 0, "maximum": 1},
    "minItems": 2,
    "maxItems": 2,
}
_PIXELS = {
    "type": "array",
    "items": {"type": "integer", "minimum": -5000, "maximum": 5000},
    "minItems": 2,
    "maxItems": 2,
}
_NAMED_KEYS = [
    "Enter",
    "Tab",
    "Escape",
    "Backspace",
    "Delete",
    "Insert",
    "Space",
    "Home",
    "End",
    "PageUp",
    "PageDown",
    "ArrowLeft",
    "ArrowRight",
    "ArrowUp",
    "ArrowDown",
]
_KEYS = re.compile(
    rf"((Control|Shift|Alt|Meta)\+)*({'|'.join(_NAMED_KEYS)}|F[1-9]|F1[0-2]|[!-~])|[^\W\d_]", re.UNICODE
)

Arguments = Mapping[str, Any]


def _click(session: PageSession, arguments: Arguments) -> ToolOutput:
    key, at = session.key(arguments["id"]), arguments.get("at")
    return session.do(Click(key) if at is None else ClickAt(key, Point(*at)), "Clicked.")


def _type(session: PageSession, arguments: Arguments) -> ToolOutput:
    key = session.key(arguments["id"])
    return session.do(Type(key, arguments["text"], arguments.get("submit", False)), "Typed.")


def _select(session: PageSession, arguments: Arguments) -> ToolOutput:
    return session.do(Select(session.key(arguments["id"]), arguments["option"]), "Selected.")


def _scroll(session: PageSession, arguments: Arguments) -> ToolOutput:
    down = arguments["direction"] == "down"
    if "id" not in arguments:
        return session.scroll(down)
    times = arguments.get("times", 1)
    action = Wheel(session.key(arguments["id"]), _WHEEL * times * (1 if down else -1))
    return session.do(action, "Scrolled the element.")


def _goto(session: PageSession, arguments: Arguments) -> ToolOutput:
    return session.do(Goto(arguments["url"]), "Loaded.")


def _back(session: PageSession, arguments: Arguments) -> ToolOutput:
    return session.do(Back(), "Back.")


def _wait(session: PageSession, arguments: Arguments) -> ToolOutput:
    milliseconds = arguments.get("milliseconds")
    return session.do(Wait() if milliseconds is None else Pause(milliseconds), "Waited.")


def _press(session: PageSession, arguments: Arguments) -> ToolOutput:
    keys = arguments["keys"]
    if not _KEYS.fullmatch(keys):
        raise CallRefused(
            "bad_key",
            f"There is no key {keys[:30]!r}. Write a character, or one of {', '.join(_NAMED_KEYS)}, "
            "with Control+, Shift+ or Alt+ before it if wanted (not before a letter like é).",
        )
    key = session.key(arguments["id"]) if "id" in arguments else None
    return session.do(Press(keys, key, arguments.get("times", 1)), "Pressed.")


def _drag(session: PageSession, arguments: Arguments) -> ToolOutput:
    key = session.key(arguments["id"])
    to_key = session.key(arguments["to"]) if "to" in arguments else key
    start, end = (
        Point(*arguments[name]) if name in arguments else None for name in ("from_point", "to_point")
    )
    right, down = arguments.get("by", (0, 0))
    return session.do(Drag(key, to_key, start, end, (right, down)), "Dragged.")


def _hover(session: PageSession, arguments: Arguments) -> ToolOutput:
    at = arguments.get("at")
    return session.do(Hover(session.key(arguments["id"]), Point(*at) if at else None), "Moved there.")


def _mark(session: PageSession, arguments: Arguments) -> ToolOutput:
    key = session.key(arguments["id"]) if "id" in arguments else None
    return session.do(Mark(key, arguments.get("text", "")), "Selected the text.")


def _tool(
    name: str, description: str, run: Any, properties: dict[str, Any], *needed: str
) -> Tool[PageSession]:
    traits = ToolTraits(repeatable=True) if name in ("PRESS", "DRAG") else TRAITS.get(name, ToolTraits())
    return Tool(name, description, {"properties": properties, "required": list(needed)}, run, traits)


_TEXT = {"type": "string", "maxLength": MAX_TYPED}
_TIMES = {"type": "integer", "minimum": 1, "maximum": MAX_TIMES}

PAGE_TOOLS: tuple[Tool[PageSession], ...] = (
    _tool(
        "CLICK", "Press an element; at: where on it, [across, down], each 0-1.", _click,
        {"id": _ID, "at": _POINT}, "id",
    ),
    _tool(
        "TYPE", "Replace what a field holds; submit: press Enter then.", _type,
        {"id": _ID, "text": _TEXT, "submit": {"type": "boolean"}}, "id", "text",
    ),
    _tool(
        "SELECT", "Choose an option of a combobox or listbox.", _select,
        {"id": _ID, "option": _TEXT}, "id", "option",
    ),
    _tool(
        "SCROLL", "Show the next or previous part of the page; with an id, turn the wheel over that element.",
        _scroll, {"direction": {"enum": ["down", "up"]}, "id": _ID, "times": _TIMES}, "direction",
    ),
    _tool("GOTO", "Load an address.", _goto, {"url": _TEXT}, "url"),
    _tool("BACK", "Return to the page before.", _back, {}),
    _tool(
        "WAIT", "Let time go by.", _wait,
        {"milliseconds": {"type": "integer", "minimum": 1, "maximum": MAX_WAIT}},
    ),
)  # fmt: skip
"""The tools of every web environment."""

HAND_TOOLS: tuple[Tool[PageSession], ...] = (
    _tool(
        "PRESS", "Press a key or keys together (Control+c), on an element if one is named.", _press,
        {"keys": {"type": "string", "maxLength": 40}, "id": _ID, "times": _TIMES}, "keys",
    ),
    _tool(
        "DRAG", "Drag an element onto another one, to a point of it, or by [right, down] pixels.", _drag,
        {"id": _ID, "to": _ID, "from_point": _POINT, "to_point": _POINT, "by": _PIXELS}, "id",
    ),
    _tool("MARK", "Select a text with the mouse, in an element or on the page; no text: all of it.", _mark,
          {"id": _ID, "text": _TEXT}),
    _tool("HOVER", "Move the mouse over an element.", _hover, {"id": _ID, "at": _POINT}, "id"),
)  # fmt: skip
"""What pages of others may need besides."""
