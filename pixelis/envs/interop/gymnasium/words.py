"""Observations of any Gymnasium environment as text, and what is a picture among them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

MOST_NUMBERS = 256
"""An array of more is not written down but for its shape."""
LEAST_SIDE = 16
"""Of a picture, pixels; smaller arrays of bytes are codes, as MiniGrid's 7 x 7 x 3."""
DIGITS = 4
_STYLED = re.compile(r"((?:\x1b\[[\d;]*m)+)(.*?)\x1b\[0?m", re.DOTALL)
_STYLE = re.compile(r"\x1b\[([\d;]*)m")
_COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")


def is_picture(space: spaces.Space[Any]) -> bool:
    """Whether a space holds pictures: bytes [H, W, 3]."""
    return (
        isinstance(space, spaces.Box)
        and space.dtype == np.uint8
        and len(space.shape) == 3
        and space.shape[2] == 3
        and min(space.shape[:2]) >= LEAST_SIDE
    )


def picture_shape(space: spaces.Space[Any]) -> tuple[int, ...] | None:
    """Return the shape [H, W, 3] of the first picture in an observation; None where there is none."""
    inside = space.spaces.values() if isinstance(space, spaces.Dict) else [space]
    return next((each.shape for each in inside if is_picture(each)), None)


def picture_in(space: spaces.Space[Any], value: Any) -> np.ndarray | None:
    """Return the first picture in an observation; None where there is none."""
    if isinstance(space, spaces.Dict):
        return next((np.asarray(value[key]) for key, part in space.spaces.items() if is_picture(part)), None)
    return np.asarray(value) if is_picture(space) else None


def said(space: spaces.Space[Any], value: Any, names: Sequence[str] = ()) -> str:
    """Return an observation as text; pictures are left out.

    Args:
        space: of the observation.
        value: in it.
        names: of the numbers of a vector or the parts of a tuple, as far as they are known.
    """
    if isinstance(space, spaces.Dict):
        kept = [key for key in space.spaces if not is_picture(space[key])]
        lines = ((key, said(space[key], value[key])) for key in kept)
        return "\n".join(f"{key}:\n{text}" if "\n" in text else f"{key}: {text}" for key, text in lines)
    if isinstance(space, spaces.Tuple):
        return _named(names, (said(part, one) for part, one in zip(space, value, strict=True)))
    if is_picture(space):
        return ""
    if isinstance(space, spaces.Box) and len(space.shape) == 1 and len(names) == space.shape[0]:
        return _named(names, map(_number, np.asarray(value)))
    if isinstance(value, (np.ndarray, np.generic, int, float)) and not isinstance(value, bool):
        return _array(np.asarray(value))
    return str(value)


def _named(names: Sequence[str], values: Iterable[str]) -> str:
    found = list(values)
    if len(names) != len(found):
        return ", ".join(found)
    return ", ".join(f"{name}: {value}" for name, value in zip(names, found, strict=True))


def _array(values: np.ndarray) -> str:
    """Rows of numbers; of a grid with channels, what belongs to a cell joined by hyphens."""
    if values.size > MOST_NUMBERS:
        return f"an array of shape {values.shape}"
    if values.ndim == 0:
        return _number(values[()])
    if values.ndim == 1:
        return " ".join(map(_number, values))
    if values.ndim == 2:
        return "\n".join(map(_array, values))
    if values.ndim == 3:
        return "\n".join(" ".join("-".join(map(_number, cell)) for cell in row) for row in values)
    return f"an array of shape {values.shape}"


def _number(value: Any) -> str:
    if isinstance(value, (np.floating, float)):
        return f"{float(value):.{DIGITS}g}"
    return str(int(value))


def plain(drawn: str) -> str:
    """Return a drawing for terminals as plain text.

    What stands on a coloured ground is put in brackets (an agent's place, most often); what is written in a
    colour is named below, as ``blue: Y``.
    """
    named: dict[str, list[str]] = {}

    def unstyled(match: re.Match[str]) -> str:
        """Return what is written, in brackets if on a ground; note its colour."""
        codes = [int(code) for style in _STYLE.findall(match[1]) for code in style.split(";") if code]
        grounds = [code for code in codes if 40 <= code <= 47 or 100 <= code <= 107]
        colours = [_COLOURS[code % 10] for code in codes if 30 <= code <= 37 or 90 <= code <= 97]
        if grounds:
            return f"[{match[2]}]"
        for colour in colours:
            named.setdefault(colour, []).append(match[2].strip())
        return match[2]

    text = _STYLE.sub("", _STYLED.sub(unstyled, drawn)).strip("\n")
    below = "; ".join(f"{colour}: {', '.join(words)}" for colour, words in named.items())
    return f"{text}\n{below}" if below else text


def first_sentence(documentation: str | None, most: int = 300) -> str:
    """Return the first sentence of a docstring on one line, cut to ``most`` characters."""
    paragraph = re.split(
        r"\n\s*\n", re.sub(r"^\s*#.*$", "", documentation or "", flags=re.MULTILINE).strip()
    )[0]
    words = re.split(r"(?<=[.!?]) ", " ".join(paragraph.split()))[0]
    return words if len(words) <= most else words[: most - 1].rsplit(" ", 1)[0] + " …"


def success_in(info: Mapping[str, Any]) -> bool | None:
    """Return what an environment's ``info`` says of success, under either of its usual names."""
    told = [info[name] for name in ("success", "is_success") if isinstance(info.get(name), (bool, np.bool_))]
    return bool(told[0]) if told else None
