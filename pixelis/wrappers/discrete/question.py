"""What a question says, as numbers: which known words it holds, and the choices it lists."""

from __future__ import annotations

import re
from collections.abc import Collection

import numpy as np

_CHOICES = re.compile(r":\s*([^:?]+?)\s+or\s+([^:?,]+?)\s*\?")


def words_in(question: str, words: Collection[str]) -> frozenset[str]:
    """Return which of ``words`` a question holds, singular or plural; "sky blue" does not hold "blue"."""
    ordered = sorted(words, key=len, reverse=True)
    pattern = "|".join(re.escape(word) for word in ordered)
    found = re.findall(rf"\b({pattern})s?\b", question.lower()) if ordered else []
    return frozenset(found)


def one_hot(question: str, words: tuple[str, ...]) -> np.ndarray:
    """Return float32 ``[len(words)]``: 1 for each word the question holds, else 0."""
    found = words_in(question, words)
    return np.array([word in found for word in words], np.float32)


def listed_choices(question: str) -> tuple[str, ...]:
    """Return the answers that a question lists (``…: red, blue or pink?``), in its order; often none."""
    match = _CHOICES.search(question)
    return (*(part.strip() for part in match[1].split(",")), match[2]) if match else ()
