"""Which split a row of a user's file belongs to: the one it names, or one that a hash of it decides."""

from __future__ import annotations

import hashlib
import unicodedata
from typing import Annotated

from pixelis.envs.schema import OneOf
from pixelis.envs.tasks import SPLITS

_TEST_SHARE = 5  # one key in five is for testing

RowSplit = Annotated[str, OneOf(SPLITS, "leave it out to have it chosen")]
"""The split that a row names."""


def asked(text: str) -> str:
    """Return a question as it is compared with those of the other split.

    Without case and runs of spaces, and in Unicode's form NFKC, as answers are compared.
    """
    return " ".join(unicodedata.normalize("NFKC", text).split()).casefold()


def hashed_split(key: str) -> str:
    """Return the split of everything with one key: a fifth of all keys, by SHA-256, is for testing."""
    return "test" if hashlib.sha256(key.encode()).digest()[0] % _TEST_SHARE == 0 else "train"
