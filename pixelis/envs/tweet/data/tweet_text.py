"""What of a tweet's text counts when texts are compared."""

from __future__ import annotations

import re
import unicodedata

SHINGLE = 5
"""Characters in one piece of a text; long enough that common words alone make no two texts alike."""

_ADDRESS = re.compile(r"https?://\S+|\bwww\.\S+")
_RETWEET = re.compile(r"^\s*(?:rt\s+@\w+:?|(?:\.?@\w+\s+)+)")
_NOT_WORD = re.compile(r"[\W_]+")


def normalised_text(text: str) -> str:
    """Return what is left of a text when nothing counts but its words.

    NFKC, case folded; addresses, a leading ``RT @name:`` or list of mentions, invisible characters and
    punctuation are left out; words are separated by one space. A text without any word (emoji alone) keeps
    its signs. Lone surrogates count as ``?``.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.encode("utf-8", "replace").decode("utf-8"))
        text = "".join(one for one in text if unicodedata.category(one) != "Cf")
    text = text.casefold()
    words = _NOT_WORD.sub(" ", _ADDRESS.sub(" ", _RETWEET.sub("", text))).strip()
    return words or " ".join(text.split())


def shingles(text: str) -> frozenset[str]:
    """Return the runs of ``SHINGLE`` characters of the normalised text; a shorter text is its only run."""
    text = normalised_text(text)
    return frozenset(text[at : at + SHINGLE] for at in range(max(1, len(text) - SHINGLE + 1)))


def jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    """Return |A ∩ B| / |A ∪ B|, 0-1; 1 for two empty sets (Jaccard 1901)."""
    return len(first & second) / len(first | second) if first or second else 1.0
