"""Telling when training has had nothing to learn from for a while."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.rl.batch import StepBatch
from pixelis.agents.runs.metrics import success_rate

_LOG = logging.getLogger(__name__)
PATIENCE = 10
"""Steps without a gradient, one after the other, before that is told."""


class NoSignal:
    """Counts steps in a row that had no gradient and warns once per stretch of them.

    Args:
        patience: how many are silently accepted.
    """

    def __init__(self, patience: int = PATIENCE) -> None:
        self._patience, self._steps = patience, 0

    def note(self, batch: StepBatch, episodes: Sequence[Episode]) -> None:
        """Take notice of a step.

        Args:
            batch: what it trains on.
            episodes: all it played.
        """
        self._steps = 0 if batch.counts is not None else self._steps + 1
        if self._steps != self._patience:
            return
        valid = [episode for episode in episodes if episode.valid_for_training]
        if valid:
            rate = success_rate(valid)
            _LOG.warning(
                "every group has the same reward for %d steps: no gradient%s; change --difficulty so that "
                "some episodes of a group succeed and some fail, raise --temperature or --group-size, or let "
                "demonstrations come first (--warm-start)",
                self._steps,
                "" if rate is None else f" (success rate {rate:.2f})",
            )
        else:
            reasons = {episode.failure_reason for episode in episodes}
            _LOG.warning(
                "no episode could be trained on for %d steps: no gradient; mend the env, which says: %s",
                self._steps,
                "; ".join(sorted(str(reason) for reason in reasons)[:3]),
            )
