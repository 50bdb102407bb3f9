"""Gymnasium's ``VectorWrapper`` as a base class: generic for type checkers; at run time since its 1.4."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import VectorWrapper

if TYPE_CHECKING:
    AnyVectorWrapper = VectorWrapper[Any, Any, Any, Any, np.ndarray]
else:
    AnyVectorWrapper = VectorWrapper
