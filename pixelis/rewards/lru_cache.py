"""A cache of the values used last, which forgets what was computed too long ago."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from pixelis.errors import ConfigError


class AgedCache:
    """Keeps the values that were used last; a hit makes its entry the youngest in use.

    Every value carries the version of whatever computed it. One computed more than ``max_age`` versions ago
    is stale: it is dropped, and counts as a miss.

    Args:
        capacity: entries kept, at least 1.
        max_age: versions, at least 0.
    """

    def __init__(self, capacity: int = 1000, max_age: int = 32) -> None:
        if capacity < 1 or max_age < 0:
            raise ConfigError(f"a cache needs capacity >= 1 and max_age >= 0, got {capacity} and {max_age}")
        self.capacity, self.max_age = capacity, max_age
        self.hits = self.misses = self.stale = 0
        self._entries: OrderedDict[bytes, tuple[float, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: bytes) -> bool:
        return key in self._entries

    @property
    def hit_rate(self) -> float:
        """Share of look-ups that found a value; 0 before the first."""
        return self.hits / max(1, self.hits + self.misses)

    def get(self, key: bytes, version: int) -> float | None:
        """Return the value of a key if one is there that is not stale at this version."""
        entry = self._entries.get(key)
        if entry is not None and version - entry[1] <= self.max_age:
            self._entries.move_to_end(key)
            self.hits += 1
            return entry[0]
        if entry is not None:
            del self._entries[key]
            self.stale += 1
        self.misses += 1
        return None

    def put(self, key: bytes, value: float, version: int) -> None:
        """Keep a value; the entry that was unused for longest makes room."""
        self._entries[key] = (value, version)
        self._entries.move_to_end(key)
        if len(self._entries) > self.capacity:
            self._entries.popitem(last=False)

    def state(self) -> dict[str, Any]:
        """Return entries, the longest unused first, and counters, as JSON values."""
        return {
            "entries": [[key.hex(), value, version] for key, (value, version) in self._entries.items()],
            "counts": [self.hits, self.misses, self.stale],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Put back what `state` returned."""
        self._entries = OrderedDict(
            (bytes.fromhex(key), (float(value), int(version))) for key, value, version in state["entries"]
        )
        self.hits, self.misses, self.stale = map(int, state["counts"])
