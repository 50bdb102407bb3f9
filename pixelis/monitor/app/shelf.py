"""What a page has read of files of episodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic

from pixelis.agents.episode_files.reading import EpisodeFile, Read
from pixelis.monitor.app.parts import in_thread
from pixelis.monitor.reading.episodes import Key, Place, T, key_of, read_newest
from pixelis.monitor.reading.runs import Stamp


class Shelf(Generic[T]):
    """Files of episodes that are shown: read in a thread, and again when they have changed.

    Args:
        take: returns what is kept of a file.

    Attributes:
        kept: of each file its stamp and that, in the order in which they were asked for.
        left_out: how many of them did not fit, see `read_newest`.
    """

    def __init__(self, take: Callable[[EpisodeFile, Read], T]) -> None:
        self.kept: dict[Key, tuple[Stamp, T]] = {}
        self.left_out = 0
        self._take = take
        self._topic: Any = None
        self._underway: Any = None

    def is_about(self, topic: Any) -> bool:
        """Return whether files of this topic have been read."""
        return self._topic == topic

    async def read(self, topic: Any, asked: Sequence[Place]) -> bool:
        """Read files, and return whether anything is new; False where others were asked for meanwhile.

        Args:
            topic: what the files are about; a topic may have more of them later.
            asked: the least important first.
        """
        underway = topic, [key_of(*place) for place in asked]
        if self._underway == underway:
            return False
        self._underway = underway
        try:
            kept = await in_thread(read_newest, asked, self.kept, self._take)
        finally:
            is_last = self._underway is underway
            self._underway = None if is_last else self._underway
        if not is_last or kept is None:  # None: the server ends
            return False
        before = self._topic, self.left_out, [(key, stamp) for key, (stamp, _) in self.kept.items()]
        self._topic, self.kept, self.left_out = topic, kept, len(asked) - len(kept)
        return before != (topic, self.left_out, [(key, stamp) for key, (stamp, _) in kept.items()])
