"""Versioned ids of controls: ``e12@v7``. What was not shown has no id; what was shown earlier is stale."""

from __future__ import annotations

import re

from pixelis.envs.web.page.backend import PageActionError
from pixelis.envs.web.page.snapshot import Snapshot

_ID = re.compile(r"\s*\[?\s*e(\d{1,9})@v(\d{1,9})\s*\]?\s*\Z")


class IdBook:
    """Numbers the controls of a version of the page, in document order, when they are first seen.

    A version ends when another document is loaded, or by the id-churn dial. Within a version a control keeps
    its number; with churn, numbers begin elsewhere in each version.

    Args:
        churn: renumber after every so many actions that load no document; 0: never.
    """

    def __init__(self, churn: int = 0) -> None:
        self.version = 0
        self._churn, self._since, self._offset = churn, 0, 0
        self._generation = -1
        self._numbers: dict[int, int] = {}
        self._keys: dict[int, int] = {}
        self._shown: set[int] = set()

    def see(self, snapshot: Snapshot, *, acted: bool = True) -> None:
        """Number what a snapshot holds; ``acted``: whether an action led to it."""
        self._since += acted
        if snapshot.generation != self._generation or (self._churn and self._since >= self._churn):
            self.version += 1
            self._generation, self._since = snapshot.generation, 0
            self._numbers, self._keys, self._shown = {}, {}, set()
            self._offset = self.version * 37 % 90 if self._churn else 0
        numbers = self._numbers
        for control in snapshot.controls():
            if control.key not in numbers:
                number = len(numbers) + 1 + self._offset
                numbers[control.key] = number
                self._keys[number] = control.key

    def id_of(self, key: int) -> str:
        """Return a control's id of the version, and remember that it was shown."""
        number = self._numbers[key]
        self._shown.add(number)
        return f"e{number}@v{self.version}"

    def shown_id(self, key: int) -> str | None:
        """Return a control's id if it was shown in this version."""
        number = self._numbers.get(key)
        return f"e{number}@v{self.version}" if number in self._shown else None

    def key_of(self, text: str) -> int:
        """Return the key of the control with this id.

        Raises:
            PageActionError: ``stale`` for an id of an earlier version, ``unknown_id`` for what was not shown.
        """
        match = _ID.match(text)
        if match is not None:
            number, version = int(match.group(1)), int(match.group(2))
            if 0 < version < self.version:
                raise PageActionError("stale")
            if version == self.version and number in self._shown:
                return self._keys[number]
        raise PageActionError("unknown_id")
