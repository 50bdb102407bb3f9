"""One reply for every tweet: how many other tweets got nearly the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

NEAR = 0.9
"""Cosine from which two replies are nearly the same."""


def duplicate_shares(vectors: np.ndarray, prompts: Sequence[int], near: float = NEAR) -> np.ndarray:
    """Return for each reply the share of the other prompts with a reply nearly the same, float [n] in [0, 1].

    s_i = |{q ≠ p_i : max over replies j of q of cos(v_i, v_j) ≥ near}| / (prompts − 1); 0 if there is one
    prompt. Equal replies to one prompt do not count: those are the business of diversity within a group.

    Args:
        vectors: unit vectors of the replies, [n, d].
        prompts: which prompt each reply answers, n integers.
        near: least cosine.
    """
    names, prompt = np.unique(np.asarray(prompts, dtype=np.int64), return_inverse=True)
    shares = np.zeros(len(prompt))
    if len(names) < 2:
        return shares
    member = np.eye(len(names))[prompt]
    for start in range(0, len(prompt), 256):
        rows = slice(start, start + 256)
        similar = (vectors[rows] @ vectors.T >= near).astype(np.float64)
        has = (similar @ member > 0) & (member[rows] == 0)
        shares[rows] = has.sum(1) / (len(names) - 1)
    return shares
