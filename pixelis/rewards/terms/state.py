"""States of reward components: versioned, and as JSON files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pixelis.errors import StateError
from pixelis.files import write_atomically, writing


def check_version(state: Any, component: str, version: int) -> Mapping[str, Any]:
    """Return ``state`` when it is a mapping that this version of the component wrote.

    Raises:
        StateError: it is not; the message names the component.
    """
    found = state.get("version") if isinstance(state, Mapping) else None
    if found != version:
        raise StateError(
            f"{component}: expected a state of version {version}, got version {found!r}; "
            "start from a fresh state, or load it with the release that saved it"
        )
    return state


def state_item(state: Mapping[str, Any], component: str, key: str) -> Any:
    """Return one entry of a state.

    Raises:
        StateError: it is missing; the message names the component and the entry.
    """
    if key not in state:
        raise StateError(f"{component}: the state has no {key!r}; it is incomplete, start from a fresh one")
    return state[key]


def save_json(path: Path | str, state: Mapping[str, Any]) -> None:
    """Write a state as JSON; an earlier one stays until it is written whole.

    Raises:
        OutputError: the file cannot be written.
    """
    text = json.dumps(state, indent=1, allow_nan=False) + "\n"
    with writing(Path(path), "path"):
        write_atomically(Path(path), text)


def load_json(path: Path | str) -> dict[str, Any]:
    """Read what ``save_json`` wrote.

    Raises:
        StateError: the file is missing or holds no JSON object.
    """
    try:
        state = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StateError(f"cannot read a reward state from {str(path)!r}: {error}") from error
    if not isinstance(state, dict):
        raise StateError(f"{str(path)!r} holds a {type(state).__name__}, expected a reward state (an object)")
    return state
