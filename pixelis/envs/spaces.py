"""``Utf8Text``: a Gymnasium space of any Unicode text up to a length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

TRUNCATION_MARK = "\n[… cut]"

_SAMPLE_ALPHABET = 'abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ 0123456789 .,:;!?<>{}[]"/=_- éß漢🙂'


def truncate_text(text: str, max_length: int) -> str:
    """Return ``text`` cut to ``max_length`` characters, the cut marked so that the reader knows of it."""
    if len(text) <= max_length:
        return text
    return text[: max(0, max_length - len(TRUNCATION_MARK))] + TRUNCATION_MARK[:max_length]


class Utf8Text(spaces.Text):
    """Text of 0 to ``max_length`` Unicode code points.

    ``gymnasium.spaces.Text`` limits text to a character set (ASCII letters and digits by default); a
    language model writes anything. This is a ``Text`` whose membership test is the length alone;
    ``sample`` draws from a small mixed alphabet. A string with unpaired surrogates is no Unicode text
    and is not contained.

    Args:
        max_length: the greatest number of code points.
        seed: seed of the space's own generator, used by ``sample``.
    """

    def __init__(self, max_length: int, *, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(max_length=max_length, min_length=0, charset=_SAMPLE_ALPHABET, seed=seed)

    def contains(self, x: Any) -> bool:
        """Return whether ``x`` is a string of at most ``max_length`` encodable code points."""
        if not isinstance(x, str) or len(x) > self.max_length:
            return False
        try:
            x.encode("utf-8")
        except UnicodeEncodeError:
            return False
        return True

    def to_jsonable(self, sample_n: Sequence[str]) -> list[str]:
        """Return the samples as they are: text is JSON already."""
        return list(sample_n)

    def from_jsonable(self, sample_n: list[Any]) -> list[str]:
        """Return the samples as strings."""
        return [str(sample) for sample in sample_n]

    def __repr__(self) -> str:
        """Return ``Utf8Text(max_length)``."""
        return f"Utf8Text({self.max_length})"

    def __eq__(self, other: object) -> bool:
        """Return whether ``other`` is a ``Utf8Text`` of the same length."""
        return isinstance(other, Utf8Text) and other.max_length == self.max_length

    __hash__ = None  # type: ignore[assignment]  # like every Gymnasium space: mutable, so unhashable
