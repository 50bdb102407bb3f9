"""How different a set of texts is by its embeddings: Vendi score and mean cosine distance."""

from __future__ import annotations

import numpy as np

from pixelis.errors import RewardError


def vendi_score(vectors: np.ndarray) -> float:
    """Return the effective number of different texts: 1 (all the same) to m (all at right angles).

    exp(−Σ λ ln λ) over the eigenvalues λ of K / m, K the cosine Gram matrix (Friedman and Dieng 2023,
    arXiv:2210.02410). Computed from the smaller of the two Gram matrices of the unit vectors, whose
    eigenvalues above 0 are the same.

    Args:
        vectors: embeddings, [m, d], m ≥ 1, no zero vector among them.

    Raises:
        RewardError: the array is no such thing.
    """
    units = _units(vectors, 1, "vendi_score")
    count, dims = units.shape
    gram = units @ units.T if count <= dims else units.T @ units
    eigenvalues = np.linalg.eigvalsh(gram / count)
    shares = eigenvalues[eigenvalues > 1e-12]
    return float(np.clip(np.exp(-(shares * np.log(shares)).sum()), 1.0, count))


def embedding_diversity(vectors: np.ndarray) -> float:
    """Return 1 − the mean cosine of two different texts of the set: 0 (all the same) to m / (m − 1).

    Args:
        vectors: embeddings, [m, d], m ≥ 2, no zero vector among them.

    Raises:
        RewardError: the array is no such thing.
    """
    units = _units(vectors, 2, "embedding_diversity")
    count = len(units)
    total = units.sum(0)
    return float(max(0.0, 1 - (total @ total - count) / (count * (count - 1))))


def _units(vectors: np.ndarray, least: int, name: str) -> np.ndarray:
    values = np.asarray(vectors, np.float64)
    if values.ndim != 2 or len(values) < least or not values.size:
        raise RewardError(
            f"{name}: expected vectors [m, d] of at least {least} texts, got shape {values.shape}"
        )
    if not np.isfinite(values).all():
        raise RewardError(f"{name}: expected finite vectors, got NaN or infinity; check the encoder")
    largest = np.abs(values).max(1, keepdims=True)
    if not largest.all():
        raise RewardError(f"{name}: text {int(np.argmin(largest))} has the zero vector, which points nowhere")
    values = values / largest  # so that squares neither vanish nor overflow
    return values / np.linalg.norm(values, axis=1, keepdims=True)
