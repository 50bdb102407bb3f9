"""Texts as fixed vectors: words and runs of three bytes, hashed into a given number of dimensions."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

WORD_WEIGHT, TRIGRAM_WEIGHT = 1.0, 0.5
_FACTORS = (np.uint32(0x9E3779B1), np.uint32(0x85EBCA77))
_HALF_BITS, _SHIFT = np.uint32(16), np.uint32(15)
_BEGIN, _END = b"\x02\x02", b"\x03"
_ANSWER, _ANSWER_END = "<answer>", "</answer>"
_TAGGED = re.compile(rf"<tool_call>.*?</tool_call>|{_ANSWER}.*?(?:{_ANSWER_END}|\Z)", re.DOTALL)


def action_text(turn: str) -> str:
    """Return what a turn did: its tool calls and its answer, or the whole turn when it has neither.

    What a policy says around its calls, and after the answer, changes nothing in the environment and is left
    out, so that it makes no old action a new one. A first answer ends the turn, also where it is not closed.
    What stands within the tags is taken as it is written: one call in two spellings is two texts.
    """
    found = []
    for match in _TAGGED.finditer(turn):
        found.append(match.group())
        if found[-1].startswith(_ANSWER):
            found[-1] = found[-1].removesuffix(_ANSWER_END) + _ANSWER_END
            break
    return "".join(found) or turn


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
    parts = [_BEGIN + text.encode("utf-8", "surrogatepass") + _END for text in texts]
    data = b"".join(parts)
    bins = 2 * dims  # of each dimension one for what counts up, and one for what counts down
    rows = np.repeat(np.arange(0, len(parts) * bins, bins), [len(part) for part in parts])
    words, starts = _words(data)
    features = np.zeros((len(parts), dims))
    for codes, owners, weight in (
        (_trigrams(data), rows, TRIGRAM_WEIGHT),
        (words, rows[starts], WORD_WEIGHT),
    ):
        places = (_mixed(codes + np.uint32(seed)) >> _HALF_BITS) * np.uint32(bins) >> _HALF_BITS
        counts = np.bincount(owners + places, minlength=len(parts) * bins).reshape(-1, 2, dims)
        features += weight * (counts[:, 0] - counts[:, 1])
    norms = np.sqrt(np.einsum("nd,nd->n", features, features))
    features *= (np.sqrt(dims) / np.where(norms > 0, norms, 1.0))[:, None]
    return features.astype(np.float32)


def _mixed(codes: np.ndarray) -> np.ndarray:
    """Return well-spread hashes, uint32, of codes, uint32 (multiply, shift, multiply)."""
    hashes = codes * _FACTORS[0]
    hashes ^= hashes >> _SHIFT
    hashes *= _FACTORS[1]
    return hashes


def _trigrams(data: bytes) -> np.ndarray:
    """Return the three bytes from each place on, uint32 [len(data)].

    After the last text comes the mark of a beginning, so that every text has the same runs across its end.
    """
    padded = data + _BEGIN + b"\x00"
    return np.ndarray(len(data), "<u4", padded, strides=(1,)) & np.uint32(0xFFFFFF)


def _words(data: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Return a code of each word, uint32 (the sum of its pairs' hashes), and where it begins."""
    letters = _LETTERS[np.frombuffer(data, np.uint8)].tobytes()
    pairs = np.ndarray(len(data) - 1, "<u2", letters, strides=(1,))
    starts = np.flatnonzero(_STARTS[pairs])
    if not len(starts):
        return np.zeros(0, np.uint32), starts
    return np.add.reduceat(_PAIR_HASHES[pairs], starts, dtype=np.uint32), starts


def _pair_tables() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return tables: byte → itself inside words, else 0; two of those → begins a word, and → hash."""
    letters = np.array([byte * (chr(byte).isalnum() or byte in b"_" or byte >= 0x80) for byte in range(256)])
    pairs = np.arange(2**16, dtype=np.uint32)
    second = pairs >> np.uint32(8)  # the later byte of two, in little-endian order
    hashes = np.where(second > 0, _mixed(pairs), 0)
    return letters.astype(np.uint8), (second > 0) & (pairs & np.uint32(255) == 0), hashes.astype(np.uint32)


_LETTERS, _STARTS, _PAIR_HASHES = _pair_tables()
