"""Caches of the values used last, one of which forgets what was computed too long ago."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from pixelis.errors import ConfigError

V = TypeVar("V")


class LRUCache(Generic[V]):
    """Keeps the values that were used last; a hit makes its entry the youngest in use.

    Args:
        capacity: entries kept, at least 1.
    """

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ConfigError(f"a cache needs a capacity of at least 1, got {capacity}")
        self.capacity = capacity
        self._entries: OrderedDict[bytes, V] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: bytes) -> bool:
        return key in self._entries

    def get(self, key: bytes) -> V | None:
        """Return the value of a key, or None."""
        value = self._entries.get(key)
        if value is not None:
            self._entries.move_to_end(key)
        return value

    def put(self, key: bytes, value: V) -> None:
        """Keep a value; the entry that was unused for longest makes room."""
        self._entries[key] = value
        self._entries.move_to_end(key)
        if len(self._entries) > self.capacity:
            self._entries.popitem(last=False)

    def drop(self, key: bytes) -> None:
        """Forget a key that is there."""
        del self._entries[key]

    def items(self) -> list[tuple[bytes, V]]:
        """Return keys and values, the longest unused first."""
        return list(self._entries.items())


class AgedCache:
    """Keeps the numbers that were used last, and counts how often that helped.

    Every number carries the version of whatever computed it. One computed more than ``max_age`` versions ago
    is stale: it is dropped, and counts as a miss.

    Args:
        capacity: entries kept, at least 1.
        max_age: versions, at least 0.
    """

    def __init__(self, capacity: int = 1000, max_age: int = 32) -> None:
        if max_age < 0:
            raise ConfigError(f"a cache needs a max_age of at least 0, got {max_age}")
        self.max_age = max_age
        self.hits = self.misses = self.stale = 0
        self._cache: LRUCache[tuple[float, int]] = LRUCache(capacity)

    def __len__(self) -> int:
        return len(self._cache)

    def __contains__(self, key: bytes) -> bool:
        return key in self._cache

    @property
    def hit_rate(self) -> float:
        """Share of look-ups that found a value that was not stale; 0 before the first."""
        return self.hits / max(1, self.hits + self.misses)

    def get(self, key: bytes, version: int) -> float | None:
        """Return the number of a key if one is there that is not stale at this version."""
        entry = self._cache.get(key)
        if entry is not None and version - entry[1] <= self.max_age:
            self.hits += 1
            return entry[0]
        if entry is not None:
            self._cache.drop(key)
            self.stale += 1
        self.misses += 1
        return None

    def put(self, key: bytes, value: float, version: int) -> None:
        """Keep a number; the entry that was unused for longest makes room."""
        self._cache.put(key, (value, version))

    def state_dict(self) -> dict[str, Any]:
        """Return entries, the longest unused first, and counters, as JSON values."""
        return {
            "entries": [[key.hex(), value, version] for key, (value, version) in self._cache.items()],
            "counts": [self.hits, self.misses, self.stale],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Put back what `state_dict` returned."""
        cache: LRUCache[tuple[float, int]] = LRUCache(self._cache.capacity)
        for key, value, version in state["entries"]:
            cache.put(bytes.fromhex(key), (float(value), int(version)))
        self.hits, self.misses, self.stale = map(int, state["counts"])
        self._cache = cache
