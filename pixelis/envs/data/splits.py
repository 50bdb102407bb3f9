"""Which split a row of a user's file belongs to: the one it names, or one that a hash of it decides."""

from __future__ import annotations

import hashlib
import unicodedata
from typing import Annotated

from pixelis.envs.schema import OneOf
from pixelis.envs.tasks import SPLITS

_NUMBERS = ("<super>", "<sub>", "<fraction>")
_TEST_SHARE = 5  # one key in five is for testing

RowSplit = Annotated[str, OneOf(SPLITS, "leave it out to have it chosen")]
"""The split that a row names."""


def asked(text: str) -> str:
    """Return a question as it is compared with those of the other split.

    Without case and runs of spaces, in one form of Unicode; what is raised, lowered or a fraction stays so.
    """
    return " ".join(_in_one_form(text).split()).casefold()


def hashed_split(key: str) -> str:
    """Return the split of everything with one key: a fifth of all keys, by SHA-256, is for testing."""
    return "test" if hashlib.sha256(key.encode()).digest()[0] % _TEST_SHARE == 0 else "train"


def _in_one_form(text: str) -> str:
    """Return a text in Unicode's form NFKC, but for characters that would be other numbers: 3² is not 32."""
    if text.isascii():
        return text
    parts = (
        each if unicodedata.decomposition(each).startswith(_NUMBERS) else unicodedata.normalize("NFKC", each)
        for each in text
    )
    return unicodedata.normalize("NFC", "".join(parts))
