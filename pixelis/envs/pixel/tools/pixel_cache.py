"""What was found on pixels, kept: a group of agents that looks at the same view pays for it once."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


class PixelCache(Generic[T]):
    """The last findings by the hash of their pixels: the least recently used one is dropped first.

    What is kept is handed out again as it is, so it must not be changed.

    Args:
        size: the largest number of findings kept.

    Attributes:
        hits: how often a kept one was returned.
    """

    def __init__(self, size: int = 512) -> None:
        self._found: OrderedDict[bytes, Future[T]] = OrderedDict()
        self._size = size
        self._lock = threading.Lock()
        self.hits = 0

    def __reduce__(self) -> tuple[type[PixelCache[T]], tuple[int]]:
        """A copy in another process starts empty."""
        return PixelCache, (self._size,)

    def get(self, pixels: NDArray[np.uint8], compute: Callable[[NDArray[np.uint8]], T]) -> T:
        """Return what is kept of ``pixels`` [H, W, 3], or compute it; others who ask meanwhile wait."""
        shape = f"{pixels.shape[0]}x{pixels.shape[1]}".encode()
        key = hashlib.blake2b(np.ascontiguousarray(pixels).data, digest_size=16, salt=shape).digest()
        with self._lock:
            found = self._found.get(key)
            is_new = found is None
            if found is None:
                found = self._found[key] = Future()
            self.hits += not is_new
            self._found.move_to_end(key)
            if len(self._found) > self._size:
                self._found.popitem(last=False)
        if is_new:
            try:
                found.set_result(compute(pixels))
            except BaseException as error:
                found.set_exception(error)
                with self._lock:
                    self._found.pop(key, None)
                raise
        return found.result()

    def __len__(self) -> int:
        """Return the number of findings kept."""
        return len(self._found)
