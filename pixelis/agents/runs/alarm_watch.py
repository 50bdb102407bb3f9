"""Reads the metrics of a run by the rules of its alarms: which are on, and since when.

Rows are read one after another, so a run that was stored is judged as one that goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pixelis.agents.episode_files.stored import finite
from pixelis.agents.runs.alarm_rules import RULES
from pixelis.agents.runs.alarm_tracks import Track
from pixelis.agents.settings.alarms import AlarmThresholds

QUIET = 10
"""Steps without an alarm after which it is told anew."""
MOST_KEPT = 100


@dataclass(frozen=True)
class Alarm:
    """An alarm, where it went on.

    Attributes:
        name: such as ``entropy rises``.
        metric: which it was seen in.
        row: of the metrics, from 0.
        step: that the row tells, None where it does not.
        advice: what to do.
        seen: what of the metric, in words with numbers.
    """

    name: str
    metric: str
    row: int
    step: int | None
    advice: str
    seen: str = ""


_READ = {
    "policy/entropy_alarm": ("entropy rises", "entropy falls"),
    "watch/alarm": ("reward and watched scores part",),
}
"""Metrics that are alarms by themselves → the alarms here that tell them."""
_METRICS = (
    "success/rate",
    "policy/entropy",
    "policy/entropy_alarm",
    "policy/kl_reference",
    "policy/kl_sampler",
    "policy/mismatch",
    "groups/filter_rate",
    "completion/mean",
    "turns/cut",
    "watch/alarm",
    "vote/agreement",
    "evaluation/success",
    "evaluation/success_high",
    "levels/mean_success",
)
_SUPERVISED = ("tokens/demonstrated", "expert/kept")
"""Told by runs whose ``train/loss`` is that of demonstrations; that of a small network is another."""
READ = (
    *("step", "episodes/count", "episodes/truncated", "groups/count", "train/loss"),
    *("policy/grad_norm", "train/grad_norm", *_METRICS, *_SUPERVISED),
)
"""All that the rules read of a row."""


def is_told(metric: str, found: Sequence[Alarm]) -> bool:
    """Return whether a metric that is an alarm by itself is told by one of these."""
    return any(alarm.name in _READ.get(metric, ()) for alarm in found)


class AlarmWatch:
    """Reads the rows of a run in order.

    Args:
        thresholds: what the rules compare with; None: the defaults.

    Attributes:
        found: where alarms went on, the first `MOST_KEPT`; a resumed run begins without.
        on: names of those that are on now.
        began: of each that was on, the row with which its last stretch began.
    """

    def __init__(self, thresholds: AlarmThresholds | None = None) -> None:
        self._thresholds = thresholds or AlarmThresholds()
        self._rules = {name: rule for name, rule in RULES.items() if name not in self._thresholds.ignore}
        self.found: list[Alarm] = []
        self.on: tuple[str, ...] = ()
        self.began: dict[str, int] = {}
        self.rows = 0
        self._tracks = {name: Track() for name in (*_METRICS, "truncated", "grad_norm", "train/loss")}
        self._seen: dict[str, int] = {}

    def note(self, row: Mapping[str, Any]) -> list[Alarm]:
        """Take the next row of the metrics; return the alarms that go on with it."""
        for name in _METRICS:
            self._tracks[name].note(finite(row.get(name)))
        cut, played = finite(row.get("episodes/truncated")), finite(row.get("episodes/count"))
        self._tracks["truncated"].note(cut / played if cut is not None and played else None)
        loss = row.get("train/loss") if any(name in row for name in _SUPERVISED) else None
        self._tracks["train/loss"].note(finite(loss))
        self._note_gradient(row, bool(played))
        seen = {name: rule.see(self._tracks, self._thresholds) for name, rule in self._rules.items()}
        self.on = tuple(name for name, words in seen.items() if words is not None)
        new: list[Alarm] = []
        for name in self.on:
            if self.rows - self._seen.get(name, -QUIET - 1) > QUIET:
                self.began[name] = self.rows
                new.append(self._alarm(name, row, seen[name] or ""))
            self._seen[name] = self.rows
        self.found += new[: MOST_KEPT - len(self.found)]
        self.rows += 1
        return new

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed run needs, as JSON-able values."""
        tracks = {name: track.state_dict() for name, track in self._tracks.items()}
        kept = {"on": list(self.on), "began": self.began, "seen": self._seen}
        return {"rows": self.rows, **kept, "tracks": tracks}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` returned; metrics that were not looked at then begin without a past."""
        self.rows, self.on = int(state["rows"]), tuple(name for name in state["on"] if name in self._rules)
        self.began = {name: int(row) for name, row in state["began"].items()}
        self._seen = {name: int(row) for name, row in state["seen"].items()}
        for name, track in self._tracks.items():
            if name in state["tracks"]:
                track.load_state_dict(state["tracks"][name])

    def _alarm(self, name: str, row: Mapping[str, Any], seen: str) -> Alarm:
        rule, step = RULES[name], row.get("step")
        known = step if isinstance(step, int) and not isinstance(step, bool) else None
        told = [metric for metric in rule.metrics if row.get(metric) is not None]
        named = [metric for metric in rule.metrics if metric in row]
        return Alarm(name, (told + named + [*rule.metrics])[0], self.rows, known, rule.advice, seen)

    def _note_gradient(self, row: Mapping[str, Any], played: bool) -> None:
        """Note the gradient of a step, or that there was none; steps that only score levels are left out."""
        value = finite(row.get("policy/grad_norm", row.get("train/grad_norm")))
        is_told = "policy/grad_norm" in row or "train/grad_norm" in row
        if is_told and (value is not None or played) and row.get("groups/count") != 0:
            self._tracks["grad_norm"].note(value)
