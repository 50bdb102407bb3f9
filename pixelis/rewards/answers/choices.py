"""One of several choices, and sets of texts."""

from __future__ import annotations

import json
import re
import string
from collections.abc import Collection, Sequence

from pixelis.rewards.answers.text import MAX_TEXT_LENGTH, normalise_phrase

LETTERS = string.ascii_uppercase

_LETTERED = re.compile(r"\(?([a-z])(?:[).:]|\b) ?(.*)", re.DOTALL)


def has_letters(choices: Sequence[str]) -> bool:
    """Return whether choices may be named by letter: there are 26 at most, and none is itself one letter."""
    return len(choices) <= len(LETTERS) and all(len(normalise_phrase(choice)) > 1 for choice in choices)


def choice_index(answer: str, choices: Sequence[str]) -> int | None:
    """Return which choice an answer names, or ``None``.

    It is named by its text (compared as phrases), or by its letter in the order of ``choices`` (``B``,
    ``b)``, ``(B)``), or by both when they agree (``B. red``). See ``has_letters`` for when letters count.
    """
    if len(answer) > MAX_TEXT_LENGTH:
        return None
    said = normalise_phrase(answer)
    texts = [normalise_phrase(choice) for choice in choices]
    if said in texts:
        return texts.index(said)
    lettered = _LETTERED.fullmatch(said) if has_letters(choices) else None
    if lettered is None:
        return None
    index, text = LETTERS.index(lettered[1].upper()), lettered[2]
    fits = index < len(texts) and (not text or normalise_phrase(text) == texts[index])
    return index if fits else None


def choice_matches(answer: str, truth: str, choices: Sequence[str]) -> bool:
    """Return whether an answer names the same choice as ``truth``; see ``choice_index``."""
    index = choice_index(answer, choices)
    return index is not None and index == choice_index(truth, choices)


def split_items(answer: str) -> list[str]:
    """Return the items of a list, without empty ones.

    A JSON array of texts; else parts between line breaks or semicolons, where there are such; else between
    commas. An item that holds a comma thus needs one of the other forms.
    """
    stripped = answer.strip()
    if len(stripped) > MAX_TEXT_LENGTH:
        return []
    if stripped.startswith("["):
        try:
            items = json.loads(stripped)
        except (ValueError, RecursionError):
            return []
        return items if isinstance(items, list) and all(isinstance(item, str) for item in items) else []
    parts = re.split(r"[\n;]" if re.search(r"[\n;]", stripped) else ",", stripped)
    return [part.strip() for part in parts if part.strip()]


def set_matches(answer: str, truth: Collection[str]) -> bool:
    """Return whether an answer lists the true items and no other, in any order, each once.

    Items are compared as phrases. A longer list than the truth never matches, so naming everything earns
    nothing. An empty truth matches nothing.
    """
    said = [normalise_phrase(item) for item in split_items(answer)]
    true = {normalise_phrase(item) for item in truth}
    return bool(true) and len(said) == len(true) and set(said) == true
