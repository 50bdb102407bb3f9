"""``render_mode``: which modes there are, and the transcript that ``ansi`` gives."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from pixelis.envs.keywords import RenderMode, Turns
from pixelis.errors import ConfigError, shown

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class TextKeywords(TypedDict, total=False):
    """The last keywords of environments of text."""

    max_turns: Turns | None
    render_mode: RenderMode


def text_keywords(keywords: Mapping[str, Any], turns: int) -> dict[str, Any]:
    """Return what `ToolEnv` takes of an environment's last keywords.

    Args:
        keywords: those given, see `TextKeywords`.
        turns: ``max_turns`` where it is None or not given.
    """
    given = keywords.get("max_turns")
    return {"max_turns": turns if given is None else given, "render_mode": keywords.get("render_mode")}


def check_render_mode(mode: Any, modes: Sequence[str]) -> str | None:
    """Return a render mode that an environment has, or ``None``.

    Raises:
        ConfigError: it has no such mode.
    """
    if mode is None or (isinstance(mode, str) and mode in modes):
        return mode
    known = f"one of {list(modes)} or None" if modes else "None"
    raise ConfigError(f"render_mode must be {known}, got {shown(mode, 60)}")


class RenderedTranscript:
    """What was said in an episode, as a person reads it in a terminal.

    Control characters, which could act on the terminal, and signs that turn the direction of writing are
    shown as U+FFFD.
    """

    def __init__(self) -> None:
        self._parts: list[str] = []

    def begin(self, text: str) -> None:
        """Begin an episode with what the agent is told first."""
        self._parts = [_safe(text)]

    def add(self, action: str, text: str) -> None:
        """Add a turn: what the agent said, each line behind ``> ``, and what it was told."""
        said = "\n".join(f"> {line}" for line in _safe(action).split("\n"))
        self._parts += [said, *([_safe(text)] if text else [])]

    def end(self, reward: float, success: Any, terminated: bool) -> None:
        """Add how the episode ended."""
        why = "ended" if terminated else "out of turns"
        self._parts.append(f"[{why}: reward {reward:g}, success {success}]")

    def __str__(self) -> str:
        """Return the whole of it, with a line end."""
        return "\n".join(self._parts) + "\n"


def _safe(text: str) -> str:
    return _UNSAFE.sub("\ufffd", text.replace("\r\n", "\n"))
