"""The head of a preference model: features to one score, in numpy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Head:
    """Layers with ReLU between them, after each feature was standardised.

    Attributes:
        mean: of each feature, float64 [d].
        scale: what each feature is divided by, float64 [d], above 0.
        layers: weights [out, in] and bias [out] of each, the last with out = 1.
    """

    mean: np.ndarray
    scale: np.ndarray
    layers: tuple[tuple[np.ndarray, np.ndarray], ...]

    def __call__(self, features: np.ndarray) -> np.ndarray:
        """Return scores, float64 [n], of features [n, d]; only differences of scores mean anything."""
        hidden = (features - self.mean) / self.scale
        for number, (weights, bias) in enumerate(self.layers):
            # Not a matrix product: its rounding depends on how many rows there are, and a score must not.
            hidden = np.einsum("ni,oi->no", np.maximum(hidden, 0) if number else hidden, weights) + bias
        return hidden[:, 0]
