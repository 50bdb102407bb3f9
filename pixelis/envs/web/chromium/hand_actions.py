"""What mouse and keyboard do on pages of others, besides the actions of every backend."""

from __future__ import annotations

from dataclasses import dataclass

from pixelis.envs.web.page.backend import PageAction


@dataclass(frozen=True, slots=True)
class Point:
    """Where on a control, each 0-1 of its box: from its left, and from its top."""

    across: float = 0.5
    down: float = 0.5


@dataclass(frozen=True, slots=True)
class ClickAt:
    """Press a control at a point of it (pages of others)."""

    key: int
    at: Point


@dataclass(frozen=True, slots=True)
class Hover:
    """Move the mouse over a control, or to a point of it (pages of others)."""

    key: int
    at: Point | None = None


@dataclass(frozen=True, slots=True)
class Press:
    """Press a key, or keys together, as Playwright names them: ``Enter``, ``Control+c`` (pages of others)."""

    keys: str
    key: int | None = None
    times: int = 1


@dataclass(frozen=True, slots=True)
class Drag:
    """Press a control, move to another one or another point, ``by`` so many pixels further, let go."""

    key: int
    to_key: int
    start: Point | None = None
    end: Point | None = None
    by: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """Select a text as with the mouse: in a control, or (``None``) on the page; empty: all of it."""

    key: int | None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Wheel:
    """Turn the mouse wheel over a control, ``down`` pixels (pages of others)."""

    key: int
    down: int


@dataclass(frozen=True, slots=True)
class Pause:
    """Let time go by, in milliseconds (pages of others)."""

    milliseconds: int


ForeignAction = PageAction | ClickAt | Hover | Press | Drag | Mark | Wheel | Pause
