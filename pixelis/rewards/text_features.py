"""Texts as fixed vectors: words and runs of three bytes, hashed into a given number of dimensions."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

WORD_WEIGHT, TRIGRAM_WEIGHT = 1.0, 0.5
_PLACES = 64  # letters of a word that count by their place; later ones share places
_WORD_BYTES = np.array([chr(byte).isalnum() or byte == 0x5F or byte >= 0x80 for byte in range(256)])
_MIX = tuple(np.uint64(value) for value in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F))
_SHIFTS = tuple(np.uint64(value) for value in (31, 29, 32))
_TAGGED = re.compile(r"<(tool_call|answer)>.*?</\1>", re.DOTALL)


def action_text(turn: str) -> str:
    """Return what a turn did: its tool calls and its answer, or the whole turn when it has neither.

    What a policy says around its calls changes nothing in the environment, and must not make an old action a
    new one.
    """
    return "".join(match.group() for match in _TAGGED.finditer(turn)) or turn


def hash_texts(texts: Sequence[str], dims: int, seed: int = 0) -> np.ndarray:
    """Return the features of texts, float32 [n, dims], each row of norm √dims.

    Signed feature hashing (Weinberger et al. 2009, arXiv:0902.2206) of a text's words and byte trigrams;
    marks of its beginning and end give the empty text features too. The same on every machine and in every
    process.

    Args:
        texts: any Unicode.
        dims: at least 1.
        seed: of the hash functions.
    """
    if not texts:
        return np.zeros((0, dims), np.float32)
    marked = [b"\x02\x02" + text.encode("utf-8", "surrogatepass") + b"\x03" for text in texts]
    data = np.frombuffer(b"".join(marked), np.uint8)
    rows = np.repeat(np.arange(len(marked)), [len(part) for part in marked])
    salt = _mixed(np.array([2 * seed + 1, 2 * seed + 2], np.uint64))
    parts = [(*_trigrams(data, rows), TRIGRAM_WEIGHT), (*_words(data, rows), WORD_WEIGHT)]
    sums = np.zeros(len(texts) * dims)
    for (codes, owners, weight), key in zip(parts, salt, strict=True):
        hashes = _mixed(codes ^ key)
        signs = np.where(hashes >> np.uint64(63), weight, -weight)
        places = owners * dims + (hashes % np.uint64(dims)).astype(np.int64)
        sums += np.bincount(places, signs, len(sums))
    features = sums.reshape(len(texts), dims)
    norms = np.sqrt(np.einsum("nd,nd->n", features, features))
    features *= (np.sqrt(dims) / np.where(norms > 0, norms, 1.0))[:, None]
    return features.astype(np.float32)


def _mixed(codes: np.ndarray) -> np.ndarray:
    """Return well-spread 64-bit hashes of 64-bit codes (multiply and shift, after splitmix64)."""
    for factor, shift in zip(_MIX, _SHIFTS, strict=False):
        codes = (codes ^ (codes >> shift)) * factor
    return codes ^ (codes >> _SHIFTS[2])


def _trigrams(data: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the code and the text of every run of three bytes inside one text."""
    wide = data.astype(np.uint64)
    codes = wide[:-2] | wide[1:-1] << np.uint64(8) | wide[2:] << np.uint64(16)
    inside = rows[:-2] == rows[2:]
    return codes[inside], rows[:-2][inside]


def _words(data: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the code and the text of every word: the sum of its bytes' hashes, each with its place."""
    is_word = _WORD_BYTES[data]
    starts = np.flatnonzero(is_word[1:] & ~is_word[:-1]) + 1  # a text begins with a mark, never with a word
    if not len(starts):
        return np.zeros(0, np.uint64), np.zeros(0, np.int64)
    places = np.arange(len(data)) - starts[np.cumsum(np.bincount(starts, minlength=len(data))) - 1]
    values = _BYTE_HASHES[places % _PLACES, data] * is_word
    return np.add.reduceat(values, starts), rows[starts]


_BYTE_HASHES = _mixed(np.arange(1, 1 + _PLACES * 256, dtype=np.uint64) << np.uint64(7)).reshape(_PLACES, 256)
