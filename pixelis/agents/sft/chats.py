"""Demonstrations from a JSONL file of chats in OpenAI's form; see `load_chats` and ``docs/guide/sft.md``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.models.chat import ChatFormat
from pixelis.agents.sft.demonstrate import add_observation, add_turn
from pixelis.envs.tool_listing import called
from pixelis.errors import ConfigError, shown

MOST_WEIGHT = 1e15
"""A line's weight times a message's must be a number in float32, sums of many of them included."""
_SPEAKERS, _OBSERVERS = ("assistant",), ("user", "tool")
_ROLES = ("system", *_OBSERVERS, *_SPEAKERS)


def load_chats(path: str | Path, chat: ChatFormat) -> list[Episode]:
    """Read demonstrations from a JSONL file, one chat a line.

    A line is ``{"messages": [...], "tools": [...], "difficulty": 0, "weight": 1}``; the last three may be
    left out. ``weight`` is what its tokens count in the loss, from 0 to `MOST_WEIGHT` (reward-weighted SFT).
    Messages have OpenAI's form: ``{"role": "user", "content": "..."}``, the roles being ``system`` (first, or
    not at all), ``user``, ``tool`` and ``assistant``. Content is text, or a list of parts ``{"type": "text",
    "text": ...}`` and ``{"type": "image_url", "image_url": {"url": "file.png"}}`` (``{"type": "image",
    "image": "file.png"}`` and a key ``"image"`` beside ``"content"`` are the same); image paths count from
    the file's folder. An assistant's ``tool_calls`` become ``<tool_call>`` texts, its ``"weight"`` is
    multiplied with the line's, and 0 leaves it out of the loss. What is said between two assistant messages
    becomes one observation.

    Returns:
        Episodes whose ``info["task"]["difficulty"]`` is the line's.

    Raises:
        ConfigError: the file cannot be read or a line is not of that form; the message names the line.
    """
    path = Path(path)
    try:
        lines = path.read_text(encoding="utf-8").split("\n")  # alone: JSON may hold U+2028 and the like
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read demonstrations from {str(path)!r}: {error}") from error
    episodes: list[Episode] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            episodes.append(_episode(chat, json.loads(line), path.parent, number - 1))
        except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
            raise ConfigError(
                f'{str(path)!r} line {number}: expected {{"messages": [user, assistant, ...]}}:'
                f" {_reason(error)}"
            ) from error
    return episodes


@dataclass(frozen=True)
class _Said:
    """What came before an assistant's message, and the message."""

    text: str
    image: np.ndarray | None
    answer: str
    weight: float


def _episode(chat: ChatFormat, row: Any, folder: Path, index: int) -> Episode:
    if not isinstance(row, dict) or "messages" not in row:
        raise ValueError("there are no messages")
    difficulty, tools = row.get("difficulty", 0), row.get("tools") or ()
    if isinstance(difficulty, bool) or not isinstance(difficulty, int):
        raise ValueError(f"difficulty must be an integer, got {difficulty!r}")
    messages = list(row["messages"])
    _check_roles([message.get("role") for message in messages])
    system = _text(messages.pop(0)) if messages[0]["role"] == "system" else ""
    episode = Episode("", seed=index, group=index, member=0, info={"task": {"difficulty": difficulty}})
    whole = _weight(row)
    for turn in _turns(messages, folder):
        if (product := whole * turn.weight) > MOST_WEIGHT:
            raise ValueError(f"the weights of line and message make {product:g}; {MOST_WEIGHT:g} at most")
        add_observation(chat, episode, turn.text, turn.image, tools, system)
        add_turn(chat, episode, turn.answer, weight=whole * turn.weight)
    return episode


def _check_roles(roles: Sequence[Any]) -> None:
    unknown = [role for role in roles if role not in _ROLES]
    if unknown:
        raise ValueError(f"unknown role {unknown[0]!r}; known: {', '.join(_ROLES)}")
    inner = roles[1:] if roles and roles[0] == "system" else roles
    neighbours = zip([*inner], inner[1:], strict=False)
    if (
        not inner
        or "system" in inner
        or inner[0] in _SPEAKERS
        or inner[-1] not in _SPEAKERS
        or any(first in _SPEAKERS and second in _SPEAKERS for first, second in neighbours)
    ):
        raise ValueError(
            "the roles must be user, assistant, user, assistant, ... (tool like user, system only first),"
            f" got {list(roles)}"
        )


def _turns(messages: Sequence[Mapping[str, Any]], folder: Path) -> Iterator[_Said]:
    """Yield one item for each assistant message, what others said before it joined by line breaks."""
    texts: list[str] = []
    pictures: list[np.ndarray] = []
    for message in messages:
        if message["role"] in _OBSERVERS:
            texts.append(_text(message))
            pictures += [_picture(folder / name) for name in _image_names(message)]
            continue
        if len(pictures) > 1:
            raise ValueError(f"at most one image can be shown between two answers, got {len(pictures)}")
        shown = pictures[0] if pictures else None
        yield _Said("\n".join(texts), shown, _answer(message), _weight(message))
        texts, pictures = [], []


def _weight(holder: Mapping[str, Any]) -> float:
    weight = holder.get("weight", 1)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= MOST_WEIGHT:
        raise ValueError(
            f"weight must be a finite number of at least 0, got {shown(weight)}; {MOST_WEIGHT:g} at most"
        )
    return float(weight)


def _text(message: Mapping[str, Any]) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise ValueError(f"content must be text or a list of parts, got {type(content).__name__}")
    for part in content:
        if part.get("type") not in ("text", "image_url", "image"):
            raise ValueError(f"a part must be of type text, image_url or image, got {part.get('type')!r}")
    return "\n".join(part["text"] for part in content if part["type"] == "text")


def _answer(message: Mapping[str, Any]) -> str:
    """Return what the assistant said, its ``tool_calls`` written the way Pixelis' environments read them."""
    said = _text(message) if message.get("content") is not None else ""
    calls = [_call(item["function"]) for item in message.get("tool_calls") or ()]
    whole = "\n".join(part for part in (said, *calls) if part)
    if not whole:
        raise ValueError("an assistant message says nothing")
    return whole


def _call(function: Mapping[str, Any]) -> str:
    arguments = function.get("arguments") or {}
    return called(function["name"], json.loads(arguments) if isinstance(arguments, str) else arguments)


def _image_names(message: Mapping[str, Any]) -> list[str]:
    parts = message["content"] if isinstance(message["content"], list) else []
    places = [part["image_url" if part["type"] == "image_url" else "image"] for part in parts if _shows(part)]
    return [_path(place) for place in [*places, *([message["image"]] if "image" in message else [])]]


def _shows(part: Mapping[str, Any]) -> bool:
    return part["type"] != "text"


def _path(place: Any) -> str:
    name = place["url"] if isinstance(place, dict) else place
    if ("://" in name and not name.startswith("file://")) or name.startswith("data:"):
        raise ValueError(f"an image must be a path on this machine, got {name[:40]!r}")
    return name.removeprefix("file://")


def _picture(path: Path) -> np.ndarray:
    from PIL import Image

    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def _reason(error: Exception) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)
