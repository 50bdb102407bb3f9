"""The scripts that run in a page, and what they say, as Python values."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pixelis.envs.web.page.snapshot import Control, PageLine, Piece, Snapshot

_FOLDER = Path(__file__).parent / "static"
_IN_THE_PAGE = ("probe.js",)
_BESIDE_IT = ("eyes.js", "looks.js", "snapshot.js", "act.js")
_CHANNEL = f"pixelis-{secrets.token_hex(16)}"
"""Name of the events by which the two worlds talk; no page knows it."""
_EPOCH = 1_600_000_000_000
"""Milliseconds since 1970 at which a page with a clock of its own begins: a Sunday in September 2020."""


@dataclass(frozen=True)
class PageSettings:
    """How a page is seen and driven.

    Attributes:
        hosts: what it may reach: ``host``, ``host:port`` or ``*.host``; ``*`` for everything.
        base: what is left out at the beginning of addresses that are shown; empty: nothing is.
        own: one of our pages: driven by one call a step, hit tests included, without the mouse, and only what
            is declared is a control.
        leaves: every visible element without children gets an id, also when nothing shows that it can be
        used.
        drawings: shapes of drawings, and painted boxes without text, get an id too.
        step_milliseconds: how far an action moves the page's clock, which else stands still; ``None``: the
        page
            keeps the real clock, and an action has settled when the page no longer changes.
        watch: a JavaScript expression whose value is wanted after each action; empty: none.
        width: of the window in pixels.
        height: likewise.
        load_seconds: longest time a document may take to load.
        action_seconds: longest time the page may take for anything else.
    """

    hosts: tuple[str, ...] = ()
    base: str = ""
    own: bool = False
    leaves: bool = False
    drawings: bool = False
    step_milliseconds: int | None = None
    watch: str = ""
    width: int = 1024
    height: int = 720
    load_seconds: float = 10.0
    action_seconds: float = 10.0

    @property
    def longest_action(self) -> float:
        """Seconds that a whole action may take, whatever the page does."""
        return 20.0 + 2 * self.load_seconds + 4 * self.action_seconds


@lru_cache(maxsize=2)
def _source(names: tuple[str, ...]) -> str:
    return "\n".join((_FOLDER / name).read_text(encoding="utf-8") for name in names)


def init_script(settings: PageSettings) -> str:
    """Return the script to run before the scripts of every page, in its own world."""
    return _with_settings(_IN_THE_PAGE, settings)


def world_script(settings: PageSettings) -> str:
    """Return the script to run before the scripts of every page, in a world of ours beside it."""
    return _with_settings(_BESIDE_IT, settings)


def _with_settings(names: tuple[str, ...], settings: PageSettings) -> str:
    for_page = {
        "channel": _CHANNEL,
        "foreign": not settings.own,
        "leaves": settings.leaves,
        "drawings": settings.drawings,
        "clock": _EPOCH if settings.own or settings.step_milliseconds is not None else 0,
    }
    source = _source(names).replace("__WATCH__", settings.watch or "null")
    return source.replace("__SETTINGS__", json.dumps(for_page))


def snapshot_of(raw: Mapping[str, Any], url: str, generation: int, notice: str) -> Snapshot:
    """Return what ``snapshot.js`` says as a ``Snapshot``."""
    lines = tuple(
        PageLine(kind, level, tuple(_piece(piece) for piece in pieces))
        for kind, level, pieces in raw["lines"]
    )
    return Snapshot(url, raw["title"], lines, generation, notice)


def _piece(raw: Any) -> Piece:
    if isinstance(raw, str):
        return raw
    key, role, name, value, states, options = raw
    return Control(key, role, name, value, tuple(states), tuple(options))


def dialog_notices(said: list[list[str]]) -> list[str]:
    """Return what is told of a page's dialogs, which are answered at once: OK, or the value proposed."""
    words = {
        "alert": "The page says",
        "confirm": "The page asked, and OK was pressed",
        "prompt": "The page asked for a text, and its proposal was taken",
        "window": "Loaded here instead of in a new window",
    }
    return [f'{words[kind]}: "{text}"' for kind, text in said]
