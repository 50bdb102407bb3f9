"""What alarms need that a row of metrics does not say: why there is no gradient, and where entropy began."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import numpy as np

from pixelis.agents.episodes.behaviour import cut_share
from pixelis.agents.episodes.episode import Episode
from pixelis.agents.rl.batch import StepBatch
from pixelis.agents.runs.alarm_rules import CUT
from pixelis.agents.runs.metrics import success_rate

_LOG = logging.getLogger(__name__)

PATIENCE = 10
"""Steps without a gradient, one after the other, before that is told."""

START, WINDOW = 3, 2
"""Steps whose mean is where it began, and steps whose mean is where it is now."""
RISE, LEAST_RISE = 3.0, 0.3
"""Too high is above this many times the start, and at least so many nats above it."""
FALL, LEAST_START = 0.2, 0.05
"""Too low is below this share of the start, where that was at least so many nats."""
GOOD = 0.8
"""Mean success of the last ten steps from which a low entropy is what learning is for."""
LEARNT = 0.5
"""So is one with a success that has come so much of the way to that from the first steps'."""


class NoSignal:
    """Counts steps in a row that had no gradient, and knows why; told once per stretch of them.

    Args:
        patience: how many are silently accepted.

    Attributes:
        words: what is wrong and what to do; None while there are fewer such steps.
    """

    def __init__(self, patience: int = PATIENCE) -> None:
        self._patience, self._steps, self._is_due = patience, 0, False
        self.words: str | None = None

    def note(self, batch: StepBatch, episodes: Sequence[Episode]) -> None:
        """Take notice of a step.

        Args:
            batch: what it trains on.
            episodes: all it played.
        """
        self._steps = 0 if batch.counts is not None else self._steps + 1
        self.words = self._reason(episodes) if self._steps >= self._patience else None
        self._is_due = self._steps == self._patience

    def tell(self, is_alarm: bool) -> None:
        """Warn where it is time to; not where the alarm of the metrics is on, which uses these words.

        Args:
            is_alarm: whether it is; it is not where the task is solved, and there is nothing more to learn.
        """
        if self._is_due and not is_alarm:
            _LOG.warning(self.words)
        self._is_due = False

    def state_dict(self) -> dict[str, int]:
        """Return what a resumed run needs."""
        return {"steps": self._steps}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Take over what `state_dict` returned."""
        self._steps = int(state["steps"])

    def _reason(self, episodes: Sequence[Episode]) -> str:
        valid = [episode for episode in episodes if episode.valid_for_training]
        if not valid:
            reasons = sorted({str(episode.failure_reason) for episode in episodes})
            return (
                f"no episode could be trained on for {self._steps} steps: no gradient; mend the env, which "
                f"says: {'; '.join(reasons[:3])}"
            )
        rate, cut = success_rate(valid), cut_share(valid) or 0.0
        if cut > CUT and not rate:
            return (
                f"every group has the same reward for {self._steps} steps: no gradient; {cut:.2f} of the "
                "turns end at the token limit, so raise --max-new-tokens"
            )
        if rate is None and any("answer_form" in episode.info for episode in valid):
            return (
                f"every group has the same reward for {self._steps} steps: no gradient; the tasks have no "
                "labels, so let members vote (--rewards.vote '{}', docs/guide/without_labels.md); where they "
                "do, they agree in nothing or in everything"
            )
        success = "" if rate is None else f" (success rate {rate:.2f})"
        return (
            f"every group has the same reward for {self._steps} steps: no gradient{success}; change "
            "--difficulty so that some episodes of a group succeed and some fail, raise --temperature or "
            "--group-size, or let demonstrations come first (--warm-start)"
        )


class EntropyRange:
    """Compares the entropy of each step with that of the first ones; see ``policy/entropy_alarm``.

    Both bounds are relative to the start, because what is usual depends on model and task, and have an
    absolute guard, because tiny entropies multiply easily.
    """

    def __init__(self) -> None:
        self._start: list[float] = []
        self._last: list[float] = []
        self._success: list[float] = []  # of the first steps
        self._outside = 0

    def note(self, entropy: float | None, success: float | None) -> int | None:
        """Take notice of a step; return 1 above the range, -1 below, 0 inside, None while it is not known.

        Args:
            entropy: mean of the step's sampled tokens, in nats; None where it was not measured.
            success: moving mean of the success rate, None where there is none.
        """
        if success is not None and len(self._success) < START:
            self._success.append(success)
        if entropy is None:
            return self._outside if len(self._start) == START else None
        if len(self._start) < START:
            self._start.append(entropy)
            return None
        self._last = [*self._last, entropy][-WINDOW:]
        start, now = float(np.mean(self._start)), float(np.mean(self._last))
        found = self._side(start, now, success) if len(self._last) == WINDOW else 0
        self._outside = found
        return found

    def state_dict(self) -> dict[str, Sequence[float] | int]:
        """Return what a resumed run needs, as JSON-able values."""
        kept = {"start": self._start, "last": self._last, "success": self._success}
        return {**kept, "outside": self._outside}

    def load_state_dict(self, state: dict[str, list[float] | int]) -> None:
        """Take over what `state_dict` returned."""
        self._start, self._last = list(state["start"]), list(state["last"])  # type: ignore[arg-type]
        self._success = list(state.get("success", []))  # type: ignore[arg-type]  # older ones do not say
        self._outside = int(state["outside"])  # type: ignore[arg-type]

    def _side(self, start: float, now: float, success: float | None) -> int:
        if now > max(RISE * start, start + LEAST_RISE):
            return 1
        if start >= LEAST_START and now < FALL * start and not self._learns(success):
            return -1
        return 0

    def _learns(self, success: float | None) -> bool:
        if success is None:
            return False
        first = min(float(np.mean(self._success)), GOOD) if self._success else GOOD
        return success >= first + LEARNT * (GOOD - first)
