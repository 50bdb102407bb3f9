"""An episode laid out for a page: every text and picture once, within a bound on its bytes."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pixelis.agents.episode_files.stored import Call, StoredEpisode, StoredTurn
from pixelis.agents.viewing.pictures import NOT_KEPT, Pictures
from pixelis.agents.viewing.visible import fitted, html_bytes
from pixelis.pictures import data_url, image_file

EPISODE_BYTES = 4_800_000
"""Bytes of a page that an episode may take; what surrounds it is far below the rest of 5 MB."""
_TEXT_BYTES = 4_300_000
_AROUND = 1_500  # bytes of markup around a turn
_MOST_TURNS = 1_000
_QUALITIES = (85, 70, 50)
_SMALLEST = 64  # pixels of a side, below which a picture that does not fit is left out


@dataclass(frozen=True)
class SheetCall:
    """A tool call: its line, whether it worked, and its text where the observation does not hold it."""

    line: str
    ok: bool | None
    code: str
    text: str


@dataclass(frozen=True)
class SheetTurn:
    """A turn: what was said and answered, with the picture as a ``data:`` address (None: no new one)."""

    number: int
    action: str
    heard: str | None
    calls: tuple[SheetCall, ...]
    reward: float | None
    probability: float | None
    picture: str | None


@dataclass(frozen=True)
class Sheet:
    """What a page shows of an episode.

    Attributes:
        title: which episode it is.
        episode: the episode itself, for how it ended.
        asked: the first observation.
        picture: the first picture as a ``data:`` address.
        turns: see `SheetTurn`.
        text: the whole text, where the turns were not kept.
        notes: what is missing, and why.
    """

    title: str
    episode: StoredEpisode
    asked: str
    picture: str | None
    turns: tuple[SheetTurn, ...]
    text: str
    notes: tuple[str, ...]


def sheet_of(episode: StoredEpisode, pictures: Pictures, title: str) -> Sheet:
    """Return the layout of an episode."""
    notes = [pictures.problem] if pictures.problem and episode.turns is not None else []
    if episode.failure is not None:
        notes.append(f"not counted, the infrastructure failed: {episode.failure[:2_000]}")
    kept = episode.turns or ()
    if len(kept) > _MOST_TURNS:
        notes.append(f"{len(kept) - _MOST_TURNS} turns more are in {episode.where}")
    turns = [_turn(number, turn) for number, turn in enumerate(kept[:_MOST_TURNS], start=1)]
    if episode.turns is None:
        notes.append(f"{NOT_KEPT}: the episode is shown as one text, without pictures")
        turns = [_turn(0, StoredTurn("", None, episode.calls))] if episode.calls else []
    text = episode.text if episode.turns is None else ""
    flat = [episode.asked or "", text]
    for turn in turns:
        flat += [
            turn.action,
            turn.heard or "",
            *(part for call in turn.calls for part in (call.line, call.text)),
        ]
    short = fitted(flat, _TEXT_BYTES - _AROUND * len(turns))
    if short != flat:
        notes.append(f"texts are shortened to fit a page; they are whole in {episode.where}")
    spent = sum(map(html_bytes, short)) + _AROUND * len(turns)
    images = _addresses(pictures.frames, max(EPISODE_BYTES - spent, EPISODE_BYTES - _TEXT_BYTES))
    if any(image is None and frame is not None for image, frame in zip(images, pictures.frames, strict=True)):
        notes.append("some pictures are left out: they do not fit on a page")
    left = iter(short)
    asked, text = next(left), next(left)
    laid = []
    shown = images[0] if images else None
    for place, turn in enumerate(turns, start=1):
        action, heard = next(left), next(left)
        calls = tuple(replace(call, line=next(left), text=next(left)) for call in turn.calls)
        image = images[place] if place < len(images) else None
        laid.append(
            replace(
                turn,
                action=action,
                heard=None if turn.heard is None else heard,
                calls=calls,
                picture=None if image == shown else image,
            )
        )
        shown = image or shown
    return Sheet(title, episode, asked, images[0] if images else None, tuple(laid), text, tuple(notes))


def call_line(call: Call) -> str:
    """Return a call as one line, such as ``ZOOM(center=[0.3, 0.7], factor=4)``."""
    arguments = call.get("arguments")
    if isinstance(arguments, Mapping):
        told = ", ".join(f"{name}={_json(value)}" for name, value in arguments.items())
    else:
        told = "" if arguments is None else _json(arguments)
    return f"{call.get('tool') or 'not a call'}({told})"


# ---------------------------------------------------------------------- private


def _turn(number: int, turn: StoredTurn) -> SheetTurn:
    calls = tuple(_call(call, turn.heard or "") for call in turn.calls)
    probability = None if turn.logprob is None else math.exp(min(turn.logprob, 0.0))
    return SheetTurn(number, turn.action, turn.heard, calls, turn.reward, probability, None)


def _call(call: Call, heard: str) -> SheetCall:
    text, ok = str(call.get("text") or ""), call.get("ok")
    known = text.strip() in heard
    return SheetCall(
        call_line(call),
        ok if isinstance(ok, bool) else None,
        str(call.get("error_code") or ""),
        "" if known else text,
    )


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _addresses(frames: Sequence[np.ndarray | None], budget: int) -> list[str | None]:
    """Return pictures as ``data:`` addresses that take at most ``budget`` bytes together, equal ones once."""
    digests = [None if frame is None else hashlib.sha256(frame.tobytes()).digest() for frame in frames]
    known: dict[bytes, str | None] = {}
    share = budget // max(len({digest for digest in digests if digest is not None}), 1)
    for digest, frame in zip(digests, frames, strict=True):
        if digest is not None and frame is not None and digest not in known:
            known[digest] = _address(frame, share)
    return [None if digest is None else known[digest] for digest in digests]


def _address(frame: np.ndarray, limit: int) -> str | None:
    """Return a picture as PNG where that fits into ``limit`` bytes, else as JPEG, smaller and smaller."""
    from PIL import Image

    image = Image.fromarray(frame)
    formats: list[tuple[str, dict[str, Any]]] = [("png", {})]
    formats += [("jpeg", {"quality": quality}) for quality in _QUALITIES]
    while True:
        for kind, options in formats:
            address = data_url(image_file(image, kind, **options), kind)
            if len(address) <= limit:
                return address
        if min(image.size) < 2 * _SMALLEST:
            return None
        image = image.resize((image.width // 2, image.height // 2))
        formats = formats[-len(_QUALITIES) :]
