"""Codes to read: short strings without look-alikes, each of one split."""

from __future__ import annotations

import hashlib

import numpy as np

from pixelis.errors import SplitError, shown

CODE_ALPHABET = "ACEHKMNPRTXY347"
"""Characters of a code: capitals and digits, without the ones that a text recogniser takes for each other."""

CODE_LENGTH = 4

SPLITS: tuple[str, ...] = ("train", "test")


def code_split(code: str) -> str:
    """The split a code belongs to: a fifth of all codes is "test", by their SHA-256."""
    return "test" if hashlib.sha256(code.encode()).digest()[0] % 5 == 0 else "train"


def sample_codes(rng: np.random.Generator, count: int, split: str) -> list[str]:
    """Draw codes of one split; any two differ in at least two places.

    No character comes twice in a code: a repeated one is what text recognisers lose most often.

    Raises:
        SplitError: if split is unknown.
    """
    if split not in SPLITS:
        raise SplitError(f"expected a split of {SPLITS}, got {shown(split)}")
    codes: list[str] = []
    while len(codes) < count:
        code = "".join(CODE_ALPHABET[i] for i in rng.choice(len(CODE_ALPHABET), CODE_LENGTH, replace=False))
        if code_split(code) == split and all(_differences(code, other) >= 2 for other in codes):
            codes.append(code)
    return codes


def _differences(a: str, b: str) -> int:
    return sum(x != y for x, y in zip(a, b, strict=True))
