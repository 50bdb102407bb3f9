"""What went wrong in code that is not ours, in a sentence with its line; and when nothing can go on.

An episode whose environment or reward fails is left out and the others go on. That is right for a browser
that crashed, and wrong for a mistake that every episode makes: then there is nothing to train on or to
report, and whoever looks on must be told the reason instead of an empty table.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pixelis.errors import EpisodesFailedError
from pixelis.user_code import with_place

if TYPE_CHECKING:
    from pixelis.agents.episodes.episode import Episode

_LOG = logging.getLogger(__name__)

PATIENCE = 10
"""Steps in a row in which every episode failed, after others that went well, before that ends a run."""
EARLY = 32
"""Episodes after which an evaluation in which each has failed is not played to its end."""
_TOLD = 5  # reasons of one run or evaluation


def reason_of(episode: Episode) -> str:
    """Return why an episode failed, with the line where that is known."""
    return with_place(str(episode.failure_reason), episode.failure_place)


def failed_share(episodes: Sequence[Episode]) -> float | None:
    """Return the share of episodes that failed, None without any."""
    failed = sum(not episode.valid_for_training for episode in episodes)
    return failed / len(episodes) if episodes else None


class FailureWatch:
    """Tells why episodes failed, each reason once; ends what has no episode left.

    Not to be resumed: a run that goes on is a new attempt, whose first step says whether it can work.
    """

    def __init__(self) -> None:
        self._told: set[str] = set()
        self._any_good, self._bad_steps = False, 0

    def note(self, episodes: Sequence[Episode], when: str) -> None:
        """Take notice of what a step or an evaluation played.

        Args:
            episodes: all of them.
            when: such as ``step 3``, for the messages.

        Raises:
            EpisodesFailedError: each failed, and none before went well or that is `PATIENCE` steps in a row.
        """
        failed = [episode for episode in episodes if not episode.valid_for_training]
        if len(failed) < len(episodes):
            self._any_good, self._bad_steps = True, 0
        elif failed:
            self._bad_steps += 1
        if failed and self._bad_steps >= (PATIENCE if self._any_good else 1):
            raise all_failed(failed, when if self._bad_steps == 1 else f"the last {self._bad_steps} steps")
        self._tell(failed, len(episodes), when)

    def _tell(self, failed: Sequence[Episode], count: int, when: str) -> None:
        for episode in failed:
            key = episode.failure_place or str(episode.failure_reason)
            if key in self._told or len(self._told) >= _TOLD:
                continue
            which = "the first" if not self._told else "one"
            self._told.add(key)
            _LOG.warning(
                "%d of %d episodes of %s failed and are left out; %s: %s",
                *(len(failed), count, when, which, reason_of(episode)),
            )
            if episode.failure_trace:
                _LOG.info("the traceback of that:\n%s", episode.failure_trace.rstrip())


def all_failed(failed: Sequence[Episode], when: str) -> EpisodesFailedError:
    """Return the error of a step or an evaluation without one good episode."""
    count = "the only episode" if len(failed) == 1 else f"all {len(failed)} episodes"
    message = f"{count} of {when} failed: {reason_of(failed[0])}"
    return EpisodesFailedError(message, failed[0].failure_trace or "")
