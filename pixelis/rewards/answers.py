"""Comparing an answer with the truth."""

from __future__ import annotations

import unicodedata


def normalise_text(text: str) -> str:
    """Return text in NFKC, case-folded, with runs of white space as one space and none at the ends."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def text_matches(answer: str, truth: str) -> bool:
    """Return whether two texts are equal after ``normalise_text``.

    Equality of the whole text: an answer that lists several candidates matches none of them.
    """
    return normalise_text(answer) == normalise_text(truth)
