"""Alarms of a run, from its metrics alone: what goes wrong, since when, and what to do about it.

Rows are read one after another, so a run that was stored is judged as one that goes on. A change of a metric
is that of the mean of its last `RECENT` values against the up to `PAST` values before them; it counts where
it is larger than `ERRORS` standard errors of the difference. Steps without a value are left out.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

RECENT, PAST, LEAST_PAST = 5, 20, 10
ERRORS = 4.0
LONG = 10
"""Steps that something has to last where a few say nothing."""
GOOD = 0.8
"""Success from which equal rewards and a low entropy are what learning is for."""
RISEN = 0.08
"""Nats by which entropy has to rise."""
FALLEN = 0.25
"""By which success has to fall."""
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
    """

    name: str
    metric: str
    row: int
    step: int | None
    advice: str


class Track:
    """The values of a metric that rules look at: the first, the last ones, and the best mean."""

    def __init__(self) -> None:
        self.first: list[float] = []
        self.silent = 0  # rows in a row that did not tell it, or told 0
        self.best: float | None = None  # largest mean of `LONG` values
        self._past, self._recent, self._long = RunningWindow(PAST), RunningWindow(RECENT), RunningWindow(LONG)

    def note(self, value: float | None) -> None:
        """Take the value of the next row."""
        self.silent = 0 if value else self.silent + 1
        if value is None:
            return
        left = self._recent.note(value)
        if left is not None:
            self._past.note(left)
        self._long.note(value)
        if len(self.first) < RECENT:
            self.first.append(value)
        if (now := self.long()) is not None and (self.best is None or now > self.best):
            self.best = now

    def recent(self) -> float | None:
        """Return the mean of the last `RECENT` values, None where there are fewer."""
        return self._recent.mean if self._recent.is_full else None

    def long(self) -> float | None:
        """Return the mean of the last `LONG` values, None where there are fewer."""
        return self._long.mean if self._long.is_full else None

    def start(self) -> float | None:
        """Return the mean of the first values, None where there are fewer."""
        return sum(self.first) / RECENT if len(self.first) == RECENT else None

    def last(self) -> float | None:
        """Return the last value, None where there is none."""
        return self._recent.values[-1] if self._recent.values else None

    def change(self) -> tuple[float, float, float] | None:
        """Return the past's mean, the recent one, and the standard error of their difference."""
        count = len(self._past.values)
        if count < LEAST_PAST:
            return None
        error = self._past.deviation * math.sqrt(1 / count + 1 / RECENT)
        return self._past.mean, self._recent.mean, error

    @property
    def recent_deviation(self) -> float:
        """Deviation of the last `RECENT` values."""
        return self._recent.deviation

    @property
    def long_deviation(self) -> float:
        """Deviation of the last `LONG` values."""
        return self._long.deviation


class RunningWindow:
    """The last values of a sequence, their mean and deviation, at the same cost however many there are."""

    def __init__(self, size: int) -> None:
        self.values: deque[float] = deque(maxlen=size)
        self._sum = self._squares = 0.0

    def note(self, value: float) -> float | None:
        """Take a value; return the one that it drives out."""
        left = self.values[0] if self.is_full else None
        self.values.append(value)
        self._sum += value - (left or 0.0)
        self._squares += value * value - (left or 0.0) ** 2
        return left

    @property
    def is_full(self) -> bool:
        """Whether a further value drives one out."""
        return len(self.values) == self.values.maxlen

    @property
    def mean(self) -> float:
        """Of the values."""
        return self._sum / len(self.values)

    @property
    def deviation(self) -> float:
        """Of the values, as a sample's."""
        count = len(self.values)
        return math.sqrt(max(self._squares - self._sum * self._sum / count, 0.0) / max(count - 1, 1))


Tracks = Mapping[str, Track]


def _entropy_rises(tracks: Tracks) -> bool:
    if (change := tracks["policy/entropy"].change()) is None:
        return False
    past, now, error = change
    return now - past > max(ERRORS * error, past, RISEN)


def _entropy_falls(tracks: Tracks) -> bool:
    change, success = tracks["policy/entropy"].change(), tracks["success/rate"].change()
    if change is None or success is None:
        return False
    past, now, error = change
    learns = success[1] >= GOOD or success[1] - success[0] > success[2]
    return past - now > max(ERRORS * error, 0.5 * past, 0.02) and not learns


def _success_below_start(tracks: Tracks) -> bool:
    track = tracks["success/rate"]
    start, now = track.start(), track.long()
    if start is None or now is None or start - now < 0.1:
        return False
    error = math.sqrt(deviation(track.first) ** 2 / RECENT + track.long_deviation**2 / LONG)
    return start - now > 3 * error


def _success_fell(tracks: Tracks) -> bool:
    track = tracks["success/rate"]
    now = track.recent()
    if now is None or track.best is None or track.best - now < FALLEN:
        return False
    return track.best - now > ERRORS * track.recent_deviation / math.sqrt(RECENT)


def _kl(tracks: Tracks) -> bool:
    found = tracks["policy/kl_reference"].recent(), tracks["policy/kl_sampler"].recent()
    return any(now is not None and now > most for now, most in zip(found, (1.0, 0.2), strict=True))


def _zero_variance(tracks: Tracks) -> bool:
    share, success = tracks["groups/filter_rate"].long(), tracks["success/rate"].recent()
    return share is not None and share >= 0.9 and (success is None or success < GOOD)


def _truncated(tracks: Tracks) -> bool:
    track = tracks["truncated"]
    start, now = track.start(), track.recent()
    return start is not None and now is not None and now > max(start + 0.25, 0.3)


def _empty(tracks: Tracks) -> bool:
    track = tracks["completion/mean"]
    start, now = track.start(), track.recent()
    return start is not None and now is not None and now < 2 <= 0.5 * start


def _mismatch(tracks: Tracks) -> bool:
    now = tracks["policy/mismatch"].recent()
    return now is not None and now > 0.1


def _watched(tracks: Tracks) -> bool:
    return (tracks["watch/alarm"].last() or 0.0) > 0


def _no_gradient(tracks: Tracks) -> bool:
    track, success = tracks["policy/grad_norm"], tracks["success/rate"].recent()
    return track.last() is not None and track.silent >= LONG and (success is None or success < GOOD)


RULES: dict[str, tuple[str, Callable[[Tracks], bool], str]] = {
    "success fell": ("success/rate", _success_fell, "go back to the checkpoint of its best; a third of --lr"),
    "success below its start": (
        "success/rate",
        _success_below_start,
        "go back to the start with a tenth of --lr, or look at failed episodes for what is paid instead",
    ),
    "entropy rises": (
        "policy/entropy",
        _entropy_rises,
        "the policy comes apart: an earlier checkpoint with a third of --lr, or a KL penalty (--beta)",
    ),
    "entropy falls": (
        "policy/entropy",
        _entropy_falls,
        "it hardly explores and does not learn: lower --lr, raise --temperature, or widen "
        "--loss.surrogate.epsilon_high",
    ),
    "KL is large": (
        "policy/kl_reference",
        _kl,
        "it has left the model it began as: lower --lr or raise --beta, and read episodes for nonsense",
    ),
    "no differences inside groups": (
        "groups/filter_rate",
        _zero_variance,
        "nothing to learn from: another --difficulty, more --group-size or --temperature, or --warm-start",
    ),
    "episodes run out": (
        "episodes/truncated",
        _truncated,
        "they end at a limit: raise max_turns or --max-new-tokens, or look for loops in the episodes",
    ),
    "answers are empty": (
        "completion/mean",
        _empty,
        "it stops at once: read episodes, lower --lr, and see whether silence is paid",
    ),
    "reward and watched scores part": (
        "watch/alarm",
        _watched,
        "what is paid rises while a score that is not paid falls: read the best paid episodes",
    ),
    "sampler and trainer differ": (
        "policy/mismatch",
        _mismatch,
        "the samples are another policy's: float32, --correction, or fewer updates a step",
    ),
    "no gradient": (
        "policy/grad_norm",
        _no_gradient,
        "nothing is trained on: see the groups' rewards and the failures of the environment",
    ),
}
"""Alarm → the metric it is seen in, whether it is on, and what to do."""
_METRICS = (
    "success/rate",
    "policy/entropy",
    "policy/kl_reference",
    "policy/kl_sampler",
    "policy/mismatch",
    "policy/grad_norm",
    "groups/filter_rate",
    "completion/mean",
    "watch/alarm",
)


class AlarmWatch:
    """Reads the rows of a run in order.

    Attributes:
        found: where alarms went on, the first `MOST_KEPT`.
        on: names of those that are on now.
    """

    def __init__(self) -> None:
        self.found: list[Alarm] = []
        self.on: tuple[str, ...] = ()
        self._tracks = {name: Track() for name in (*_METRICS, "truncated")}
        self._seen: dict[str, int] = {}
        self._rows = 0

    def note(self, row: Mapping[str, Any]) -> None:
        """Take the next row of the metrics."""
        for name in _METRICS:
            self._tracks[name].note(_number(row.get(name)))
        cut, played = _number(row.get("episodes/truncated")), _number(row.get("episodes/count"))
        self._tracks["truncated"].note(cut / played if cut is not None and played else None)
        self.on = tuple(name for name, (_, is_on, _) in RULES.items() if is_on(self._tracks))
        for name in self.on:
            new = self._rows - self._seen.get(name, -QUIET - 1) > QUIET
            if new and len(self.found) < MOST_KEPT:
                metric, _, advice = RULES[name]
                step = row.get("step")
                known = step if isinstance(step, int) and not isinstance(step, bool) else None
                self.found.append(Alarm(name, metric, self._rows, known, advice))
            self._seen[name] = self._rows
        self._rows += 1


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def deviation(values: Sequence[float]) -> float:
    """Return the sample's standard deviation."""
    mean = sum(values) / len(values)
    return math.sqrt(sum((value - mean) ** 2 for value in values) / max(len(values) - 1, 1))
