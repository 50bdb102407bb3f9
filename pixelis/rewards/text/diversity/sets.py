"""Diversity of a set as a mean over its pairs, and what each member adds to it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pixelis.errors import RewardError


def ngram_distances(texts: Sequence[str], longest: int = 2) -> np.ndarray:
    """Return how many n-grams two texts do not share: float64 [m, m] in [0, 1], 0 for texts of the same ones.

        d(a, b) = 1 - 2 |A & B| / (|A| + |B|) = 2 |A | B| / (|A| + |B|) - 1

    for the sets A and B of n-grams of n = 1 to ``longest`` words, case-folded and split at white space: one
    less than twice the share of the pair's n-grams that are distinct (Li et al. 2016, arXiv:1510.03055; the
    first form is one less the coefficient of Dice 1945). A text without a word shares nothing.

    Args:
        texts: m of them.
        longest: at least 1.

    Raises:
        RewardError: ``longest`` is below 1.
    """
    if longest < 1:
        raise RewardError(f"ngram_distances: expected n-grams of at least 1 word, got {longest}")
    sets = [_ngrams(text, longest) for text in texts]
    distances = np.zeros((len(sets), len(sets)))
    for i, one in enumerate(sets):
        for j, other in enumerate(sets[:i]):
            total = len(one) + len(other)
            distances[i, j] = distances[j, i] = 1 - 2 * len(one & other) / total if total else 0.0
    return distances


def cosine_distances(vectors: np.ndarray, texts: Sequence[str]) -> np.ndarray:
    """Return 1 - cosine of the vectors of two texts: float64 [m, m] in [0, 2], 0 for equal texts.

    Args:
        vectors: of unit length, [m, d]; a zero vector is at a distance of 1 from all others.
        texts: whose vectors they are.

    Raises:
        RewardError: there is not one finite vector for each text.
    """
    values = np.asarray(vectors, np.float64)
    if values.ndim != 2 or len(values) != len(texts) or not np.isfinite(values).all():
        raise RewardError(
            f"cosine_distances: expected a finite vector for each of {len(texts)} texts, got {values.shape}"
        )
    distances = np.clip(1 - values @ values.T, 0.0, 2.0)
    same = {text: number for number, text in enumerate(texts)}
    names = np.array([same[text] for text in texts], dtype=np.int64)
    return np.where(names[:, None] == names[None, :], 0.0, distances)


def mean_distance(distances: np.ndarray) -> float:
    """Return the diversity of a set, the mean distance of two different members; 0 below two members.

    With `cosine_distances` it is ``embedding_diversity`` (but for texts the encoder sees nothing in).

    Args:
        distances: symmetric, [m, m], 0 on the diagonal.

    Raises:
        RewardError: they are not.
    """
    values = checked_distances(distances)
    members = len(values)
    return float(values.sum() / (members * (members - 1))) if members > 1 else 0.0


def marginal_diversity(distances: np.ndarray) -> np.ndarray:
    """Return what each member adds: D(S) - D(S without i), float64 [m], D being `mean_distance`.

    From the row means d_i = sum_j d_ij / (m - 1) it is 2 (d_i - D(S)) / (m - 2): the contributions of three
    or more members add up to 0. Of two members each adds their whole distance, as one alone has no
    diversity; one alone adds nothing.

    Args:
        distances: as for `mean_distance`.

    Raises:
        RewardError: they are not.
    """
    values = checked_distances(distances)
    members = len(values)
    if members < 3:
        return np.full(members, mean_distance(values))
    rows = values.sum(1) / (members - 1)
    return 2 * (rows - rows.mean()) / (members - 2)


def checked_distances(distances: np.ndarray) -> np.ndarray:
    """Return distances as float64.

    Raises:
        RewardError: they are no finite symmetric matrix [m, m] of numbers >= 0 with a diagonal of 0.
    """
    values = np.asarray(distances, np.float64)
    square = values.ndim == 2 and values.shape[0] == values.shape[1]
    if not square or not np.isfinite(values).all() or (values < 0).any():
        raise RewardError(
            f"expected finite distances >= 0 of shape [m, m], got an array of shape {values.shape}"
        )
    if np.diagonal(values).any() or not np.allclose(values, values.T):
        raise RewardError("expected symmetric distances that are 0 on the diagonal; check the measure")
    return values


def _ngrams(text: str, longest: int) -> set[tuple[str, ...]]:
    words = text.casefold().split()
    sizes = range(1, longest + 1)
    return {tuple(words[at : at + n]) for n in sizes for at in range(len(words) - n + 1)}
