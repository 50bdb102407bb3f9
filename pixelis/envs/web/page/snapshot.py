"""What a browser sees of a page: lines of text and controls. The same for every backend.

docs/reference/web_pages.md ("The walk") says in prose how a page becomes a snapshot; ``dom_walk`` does it in
Python, ``static/snapshot.js`` in a browser, and a test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

ROLES = (
    "link",
    "button",
    "textbox",
    "checkbox",
    "radio",
    "combobox",
    "listbox",
    "slider",
    "switch",
    "tab",
    "option",
    "menuitem",
    "treeitem",
    "file",
    "clickable",
)
"""Roles of controls. ``clickable`` is what has a listener or a pointer cursor and no role (real browsers)."""

STATES = ("checked", "selected", "disabled", "readonly", "required", "expanded", "collapsed", "invalid")
"""States in the order in which they are listed."""

KINDS = ("text", "heading", "item", "row")

MAX_NAME = 100
"""Greatest length of names, values and image texts in code points; longer ones end with ``…``."""
MAX_OPTIONS = 30
"""Options of a select that are listed; the rest is counted: ``… 12 more``."""
SPACE = " \t\n\r\f\v\u00a0"
"""What counts as white space on pages (Python and JavaScript differ on the rest)."""

_SPACES = str.maketrans(dict.fromkeys(SPACE, " "))

VALIDITY = {
    "valueMissing": "needs a value",
    "typeMismatch": "is not of the right form",
    "patternMismatch": "is not of the right form",
    "tooShort": "is too short",
    "tooLong": "is too long",
    "rangeUnderflow": "is too small",
    "rangeOverflow": "is too large",
    "stepMismatch": "is not a step that is allowed",
    "badInput": "is not of the right form",
}
"""Why a form is not sent: key of the DOM's ``ValidityState``, in the order it is asked → words."""

NOT_TAKEN = "The field did not take that text."
NO_PREVIOUS_PAGE = "There is no previous page."


@dataclass(frozen=True, slots=True)
class Control:
    """Something that can be acted on.

    Attributes:
        key: the backend's handle; equal for the same element as long as it stays in the document.
        role: one of ``ROLES``.
        name: accessible name, white space collapsed, at most ``MAX_NAME`` long; may be empty.
        value: what a field holds, the labels of what is selected, ``None`` where there is none or it is
            empty; passwords are ``•`` for each character.
        states: of ``STATES``, in that order.
        options: labels of a select's options, at most ``MAX_OPTIONS`` and a count of the rest.
    """

    key: int
    role: str
    name: str
    value: str | None = None
    states: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


Piece = str | Control


@dataclass(frozen=True, slots=True)
class PageLine:
    """One line of a page.

    Attributes:
        kind: one of ``KINDS``.
        level: of a heading 1-6; of an item how deep its list is nested, from 1; else 0.
        pieces: texts and controls in document order; no two texts follow each other.
    """

    kind: str
    level: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A page at one moment.

    Attributes:
        url: path and query on our own sites, else the whole address.
        title: of the document, white space collapsed.
        lines: what is on it, document order.
        generation: grows with each document that is loaded (or rendered anew by the page's own doing).
        notice: what the browser itself says about the last action, e.g. why a form was not sent; else empty.
    """

    url: str
    title: str
    lines: tuple[PageLine, ...]
    generation: int
    notice: str = ""

    def controls(self) -> Iterator[Control]:
        """Yield the controls in document order."""
        for line in self.lines:
            for piece in line.pieces:
                if not isinstance(piece, str):
                    yield piece


def collapse(text: str) -> str:
    """Return ``text`` with runs of white space as one blank, and none at its ends."""
    return " ".join(part for part in text.translate(_SPACES).split(" ") if part)


def cut(text: str, limit: int = MAX_NAME) -> str:
    """Return ``text`` with at most ``limit`` code points; a longer one ends with ``…``."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def listed_options(labels: list[str]) -> tuple[str, ...]:
    """Return the options as a control lists them: the first ``MAX_OPTIONS``, the rest counted."""
    shown = tuple(labels[:MAX_OPTIONS])
    return shown if len(labels) <= MAX_OPTIONS else (*shown, f"… {len(labels) - MAX_OPTIONS} more")


def not_sent(role: str, name: str, validity: str) -> str:
    """Return the notice of a form that the browser did not send, by the first field that is not valid.

    ``validity`` is a key of ``VALIDITY``: the first that holds, in that order.
    """
    return f'Not sent: {role} "{name}" {VALIDITY[validity]}.'
