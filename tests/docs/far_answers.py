"""A measure of diversity for the runs of `metric_runs`, named as ``far_answers:far``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pixelis.agents.episodes.answers import DIVERSITIES


@DIVERSITIES.register("far")
def far(texts: Sequence[str]) -> np.ndarray:
    """Return a distance of 2 between any two texts, as of embeddings that point in opposite directions."""
    return 2.0 - 2.0 * np.eye(len(texts))
