"""Alarms while a run trains: each is told once a stretch, and is a reason to stop or to go slower.

The rules are those of `alarm_rules`, which the monitor judges stored runs by; here they read each row before
it is written.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from pixelis.agents.episodes.behaviour import Row
from pixelis.agents.runs.alarm_rules import RULES
from pixelis.agents.runs.alarm_watch import QUIET, Alarm, AlarmWatch
from pixelis.agents.settings.alarms import AlarmThresholds

_LOG = logging.getLogger(__name__)

OnAlarm = Literal["warn", "stop", "lower_lr"]
LOWERED = 1 / 3
"""What the learning rate is multiplied by."""
LEAST_SHARE = 0.01
"""All that alarms multiply the learning rate by is at least this."""


class RunAlarms:
    """Judges each row of a run that trains.

    Args:
        on_alarm: what an alarm does besides being told.
        explain: from an alarm's name to what the trainer knows of it, in words; None: no more than the rule.
        lower_rate: multiplies the learning rate by a factor; returns the metrics that change with it.
        thresholds: what the rules compare with; None: the defaults.

    Attributes:
        stopped: the alarms for which training has to end now; none with other ``on_alarm`` than ``stop``.
        rate_share: what alarms have multiplied the learning rate by so far, 1 or less.
    """

    def __init__(
        self,
        on_alarm: OnAlarm,
        explain: Callable[[str], str | None],
        lower_rate: Callable[[float], Row],
        thresholds: AlarmThresholds | None = None,
    ) -> None:
        self._on_alarm, self._explain, self._lower_rate = on_alarm, explain, lower_rate
        self._watch = AlarmWatch(thresholds)
        self.stopped: tuple[Alarm, ...] = ()
        self.rate_share = 1.0
        self._answered: dict[str, int] = {}  # alarm → the stretch of it that the rate was lowered for
        self._lowered: int | None = None  # row with which it was lowered
        self._untold: list[Alarm] = []

    @property
    def on(self) -> tuple[str, ...]:
        """Names of the alarms that are on now."""
        return self._watch.on

    def note(self, row: Mapping[str, Any]) -> Row:
        """Judge the next row, tell what is new and do what is to be done; return what belongs to the row."""
        new = self._watch.note(row)
        for alarm in self._untold + new:
            self._tell(alarm)
        self._untold = []
        if self._on_alarm == "stop":
            self.stopped = tuple(new)
        changed = self._lower() if self._on_alarm == "lower_lr" else Row()
        return {"alarms/on": len(self.on), **changed}

    def catch_up(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Judge the rows of steps before a checkpoint that holds no alarms; those still on are told later."""
        latest = {alarm.name: alarm for row in rows for alarm in self._watch.note(row)}
        self._untold = sorted((latest[name] for name in self.on), key=lambda alarm: alarm.row)

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed run needs, as JSON-able values."""
        rate = {"share": self.rate_share, "row": self._lowered, "answered": self._answered}
        return {"watch": self._watch.state_dict(), "rate": rate}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        self._watch.load_state_dict(state["watch"])
        rate = state["rate"]
        self.rate_share = float(rate["share"])
        self._lowered = None if rate["row"] is None else int(rate["row"])
        self._answered = {name: int(row) for name, row in rate["answered"].items()}

    # ------------------------------------------------------------------ private

    def _tell(self, alarm: Alarm) -> None:
        words = self._explain(alarm.name) or f"{alarm.seen}; {alarm.advice}"
        # One text, not a pattern and its values: the console shows each pattern once, and this each stretch.
        _LOG.warning(f"ALARM: {alarm.name} (step {alarm.step}): {words}")

    def _lower(self) -> Row:
        """Lower the rate for stretches of alarms that it was not lowered for yet.

        The rules look back over ten steps and more, so after it was lowered they see for some time what was
        before: only an alarm that is still on after `QUIET` steps lowers it again.
        """
        now, began = self._watch.rows - 1, self._watch.began
        on = [name for name in self.on if RULES[name].lowers]
        if all(self._answered.get(name) == began[name] for name in on):
            return {}
        if self._lowered is not None and now - self._lowered <= QUIET:
            return {}
        self._answered |= {name: began[name] for name in on}
        share = max(self.rate_share * LOWERED, LEAST_SHARE)
        if share == self.rate_share:
            _LOG.warning(
                "on_alarm lower_lr: alarms have multiplied the learning rate by %g, and lower it no more; go "
                "back to an earlier checkpoint",
                LEAST_SHARE,
            )
            return {}
        changed = self._lower_rate(share / self.rate_share)
        _LOG.warning(
            f"on_alarm lower_lr: the learning rate is multiplied by {share / self.rate_share:.3g} "
            f"({share:.3g} with what alarms did before), for: {', '.join(on)}"
        )
        self.rate_share, self._lowered = share, now
        return changed
