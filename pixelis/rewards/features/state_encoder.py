"""What an encoder of states is: it looks at observations, and gives each of them 768 numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from pixelis.errors import RewardError

STATE_DIMS, ACTION_DIMS = 768, 128


@dataclass(slots=True)
class Look:
    """What an encoder sees of an observation.

    Attributes:
        digest: 16 bytes; equal for observations that the encoder cannot tell apart.
        seen: what it will encode; whoever has the features may put None here to save memory.
        features: float32 [768] once it has.
    """

    digest: bytes
    seen: Any
    features: np.ndarray | None = None


class StateEncoder(Protocol):
    """Turns observations into features in two steps: a quick look, and the features of many at once."""

    @property
    def name(self) -> str:
        """What tells its features from those of another encoder."""
        ...

    def look(self, observation: Mapping[str, Any]) -> Look:
        """Return what is seen of an observation."""
        ...

    def encode(self, looks: Sequence[Look]) -> np.ndarray:
        """Return the features, float32 [n, 768]: of each look the same bits whatever the others are."""
        ...


def check_features(values: Any, shape: tuple[int, ...], source: str, component: str) -> np.ndarray:
    """Return what an encoder gave as float32 of a shape.

    Raises:
        RewardError: it is no such array, or not finite; the message names the component and the encoder.
    """
    expected = f"{component}: expected the encoder {source} to give {STATE_DIMS} numbers"
    try:
        features = np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError, RuntimeError) as error:  # RuntimeError: a tensor that has a gradient
        raise RewardError(f"{expected}, got {type(values).__name__}: {error}") from error
    if features.shape != shape:
        raise RewardError(
            f"{expected}, the shape {shape}, got {features.shape}; take an encoder of that size, or project "
            "its output"
        )
    if not np.isfinite(features).all():
        raise RewardError(f"{expected} that are finite, got NaN or infinity")
    return features
