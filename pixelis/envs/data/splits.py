"""Which split a row of a user's file belongs to: the one it names, or one that a hash of it decides."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from pixelis.envs.tasks import SPLITS
from pixelis.errors import DatasetError, shown

_TEST_SHARE = 5  # one key in five is for testing


def hashed_split(key: str) -> str:
    """Return the split of everything with one key: a fifth of all keys, by SHA-256, is for testing."""
    return "test" if hashlib.sha256(key.encode()).digest()[0] % _TEST_SHARE == 0 else "train"


def row_split(row: Mapping[str, Any], chosen: str) -> str:
    """Return the split that a row names, or the one that was chosen for it.

    Raises:
        DatasetError: it names something else.
    """
    split = row.get("split", chosen)
    if split not in SPLITS:
        raise DatasetError(
            f"field 'split' must be 'train' or 'test', got {shown(split, 60)}; leave it out to have it chosen"
        )
    return split
