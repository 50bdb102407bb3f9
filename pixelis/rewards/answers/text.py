"""Texts: equal letter for letter, or equal as phrases."""

from __future__ import annotations

import unicodedata

from pixelis.rewards.answers.dates import parse_date

MAX_TEXT_LENGTH = 1_000
"""Longest answer that is compared as a phrase, characters."""

_PLAIN = str.maketrans(
    {**dict.fromkeys("‘’‚′", "'"), **dict.fromkeys("“”„″", '"'), **dict.fromkeys("‐‑–—−", "-")}
)
_QUOTES = ('"', "'")


def normalise_text(text: str) -> str:
    """Return text in NFKC, case-folded, with runs of white space as one space and none at the ends."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def text_matches(answer: str, truth: str) -> bool:
    """Return whether two texts are equal after ``normalise_text`` but for one full stop at the end.

    Equality of the whole text: an answer that lists several candidates matches none of them.
    """
    return _without_stop(normalise_text(answer)) == _without_stop(normalise_text(truth))


def _without_stop(normal: str) -> str:
    """Return a text without its full stop, if it ends in one alone and is more than that."""
    bare = normal.removesuffix(".").rstrip()
    return normal if not bare or bare.endswith(".") else bare


def phrase_matches(answer: str, truth: str) -> bool:
    """Return whether two texts say the same, as people write it.

    They do when they are equal after ``normalise_phrase``, or when both are the same date in words
    (``October 21st`` and ``Oct 21``, see ``parse_date``). Digits count as written: ``007`` is not ``7``.
    Nothing, and more than ``MAX_TEXT_LENGTH`` characters, match nothing.
    """
    if len(answer) > MAX_TEXT_LENGTH or len(truth) > MAX_TEXT_LENGTH:
        return False
    said, true = normalise_phrase(answer), normalise_phrase(truth)
    if said == true:
        return bool(said)
    date = parse_date(said)
    return date is not None and date == parse_date(true)


def normalise_phrase(text: str) -> str:
    """Return ``normalise_text`` with plain quotes and dashes, not enclosed in quotes, without end stop.

    A text of nothing but quotes and full stops is left as it is.
    """
    normal = normalise_text(text).translate(_PLAIN)
    bare = normal.rstrip(". ")
    while len(bare) > 2 and bare[0] in _QUOTES and bare[-1] == bare[0]:
        bare = bare[1:-1].strip().rstrip(". ")
    return bare or normal
