"""Python's and NumPy's global random generators, lent to code of others that draws from nothing else.

Such code, seeded as it is, would make two environments in one process draw from each other, and a user's own
draws with them. Here each environment has a state of its own, which is put in place while its code runs.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

_LOCK = threading.RLock()
"""The generators are the process's: while they are lent, no other environment's code may run."""


class GlobalRandomness:
    """A state of both global generators.

    Args:
        seed: 0 to 2**32 - 1.
    """

    def __init__(self, seed: int) -> None:
        with _LOCK:
            kept = _state()
            random.seed(seed)
            np.random.seed(seed)
            self._own = _state()
            _set(kept)

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Put this state in place; afterwards what was there before, exactly."""
        with _LOCK:
            kept = _state()
            _set(self._own)
            try:
                yield
            finally:
                self._own = _state()
                _set(kept)


def _state() -> tuple[Any, Any]:
    return random.getstate(), np.random.get_state()


def _set(state: tuple[Any, Any]) -> None:
    random.setstate(state[0])
    np.random.set_state(state[1])
