"""``Utf8Text``: a Gymnasium space of any Unicode text up to a length."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.spaces.utils import flatten, flatten_space, unflatten
from gymnasium.vector.utils import create_shared_memory, read_from_shared_memory

TRUNCATION_MARK = "\n[… cut]"

# Each character once: releases of Gymnasium before 1.4 cannot draw from a text that repeats one.
_SAMPLE_ALPHABET = 'abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:;!?<>{}[]"/=_-éß漢🙂'


def truncate_text(text: str, max_length: int) -> str:
    """Return ``text`` cut to ``max_length`` characters, the cut marked so that the reader knows of it."""
    if len(text) <= max_length:
        return text
    return text[: max(0, max_length - len(TRUNCATION_MARK))] + TRUNCATION_MARK[:max_length]


def clean_text(text: str) -> str:
    """Return ``text`` with every unpaired surrogate as ``?``: Unicode text that can be encoded as UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


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

    def to_jsonable(self, sample_n: Iterable[str]) -> list[str]:
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


# ---------------------------------------------------------------------- Utf8Text as numbers
# Gymnasium's own functions for Text know its character set only. With these, flattening wrappers and the
# shared memory of AsyncVectorEnv (its default) carry any text, as code points followed by _NO_CHARACTER.

_NO_CHARACTER = 0x110000


@flatten.register(Utf8Text)
def _flatten_text(space: Utf8Text, x: str) -> np.ndarray:
    points = np.full(space.max_length, _NO_CHARACTER, np.int32)
    points[: len(x)] = np.frombuffer(x.encode("utf-32-le", "surrogatepass"), np.int32)
    return points


@unflatten.register(Utf8Text)
def _unflatten_text(space: Utf8Text, x: np.ndarray) -> str:
    kept = x[x != _NO_CHARACTER].astype("<i4")
    return kept.tobytes().decode("utf-32-le", "surrogatepass")


@flatten_space.register(Utf8Text)
def _flatten_text_space(space: Utf8Text) -> spaces.Box:
    return spaces.Box(0, _NO_CHARACTER, (space.max_length,), np.int32)


class _SharedTexts(Sequence[str]):
    """The texts in a vector environment's shared memory, decoded when looked at; a deep copy is a tuple.

    ``AsyncVectorEnv`` asks for its observations once and expects to see every later write in them.
    """

    def __init__(self, space: Utf8Text, rows: np.ndarray) -> None:
        self._space, self._rows = space, rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        return tuple(_unflatten_text(self._space, row) for row in self._rows)[index]

    def __deepcopy__(self, memo: dict[int, Any]) -> tuple[str, ...]:
        return tuple(self)


@create_shared_memory.register(Utf8Text)
def _create_text_memory(space: Utf8Text, n: int = 1, ctx: Any = multiprocessing) -> Any:
    memory = ctx.Array("i", n * space.max_length)
    np.frombuffer(memory.get_obj(), np.int32)[:] = _NO_CHARACTER
    return memory


@read_from_shared_memory.register(Utf8Text)
def _read_texts(space: Utf8Text, shared_memory: Any, n: int = 1) -> Any:
    return _SharedTexts(space, np.frombuffer(shared_memory.get_obj(), np.int32).reshape(n, space.max_length))
