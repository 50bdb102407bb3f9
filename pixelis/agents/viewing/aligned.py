"""Two episodes turn by turn: which turns answer to one another, and which words differ."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

_WORDS = re.compile(r"\w+|\s+|.", re.DOTALL)
MOST_WORDS = 2_000
"""Words of a text that are compared one by one; above it a text that differs, differs as a whole."""

Piece = tuple[str, bool]
"""A stretch of text, and whether the other side has it not."""


class Pair(NamedTuple):
    """Turns that stand beside one another, by their index; None where a side has none."""

    left: int | None
    right: int | None
    same: bool


def align(left: Sequence[str], right: Sequence[str]) -> list[Pair]:
    """Return the turns of two episodes in pairs, in order: equal ones side by side, the others as they come.

    Args:
        left: what was said in each turn.
        right: likewise.
    """
    pairs: list[Pair] = []
    for kind, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        for place in range(max(b - a, d - c)):
            one = a + place if a + place < b else None
            other = c + place if c + place < d else None
            pairs.append(Pair(one, other, kind == "equal"))
    return pairs


def word_pieces(left: str, right: str) -> tuple[list[Piece], list[Piece]]:
    """Return both texts in pieces, those marked that only one has."""
    if left == right:
        return [(left, False)], [(right, False)]
    words = _WORDS.findall(left), _WORDS.findall(right)
    if max(map(len, words)) > MOST_WORDS:
        return [(left, True)], [(right, True)]
    pieces: tuple[list[Piece], list[Piece]] = ([], [])
    for kind, a, b, c, d in SequenceMatcher(None, *words, autojunk=False).get_opcodes():
        for side, (start, end) in enumerate(((a, b), (c, d))):
            if start < end:
                pieces[side].append(("".join(words[side][start:end]), kind != "equal"))
    return pieces
