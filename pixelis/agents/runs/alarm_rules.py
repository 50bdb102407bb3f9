"""The rules of a run's alarms: what of its metrics is wrong, and what to do about it.

A change of a metric is that of the mean of its last `RECENT` values against the up to `PAST` values before
them; it counts where it is larger than some standard errors of the difference. What is compared with is
`AlarmThresholds`. Steps without a value are left out. `alarm_watch` reads a run's rows by them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pixelis.agents.runs.alarm_tracks import LONG, RECENT, Track, deviation
from pixelis.agents.settings.alarms import AlarmThresholds

CUT = 0.5
"""Share of turns that end at the token limit from which that is the reason, where nothing succeeds."""
LEVELS_FALL = 0.05
"""By which the estimated success over all levels has to lie below its best for success to have fallen."""
RISEN = 0.05
"""By which the share of a vote's majority has to rise."""

Tracks = Mapping[str, Track]


@dataclass(frozen=True)
class Rule:
    """When an alarm is on.

    Attributes:
        metrics: which it is seen in; where there are several, in the first that a row tells.
        see: returns what is wrong by these thresholds, in words with numbers; None while the alarm is off.
        advice: what to do.
        lowers: whether a lower learning rate is (part of) what to do.
    """

    metrics: tuple[str, ...]
    see: Callable[[Tracks, AlarmThresholds], str | None]
    advice: str
    lowers: bool = False


def _entropy_rises(tracks: Tracks, least: AlarmThresholds) -> str | None:
    if tracks["policy/entropy_alarm"].last() == 1:
        return _left_range(tracks, "rose")
    if (change := tracks["policy/entropy"].change()) is None:
        return None
    past, now, error = change
    rises = now - past > max(least.errors * error, past, least.entropy_rise)
    return f"the policy's entropy rose from {past:.3g} to {now:.3g} nats a token" if rises else None


def _entropy_falls(tracks: Tracks, least: AlarmThresholds) -> str | None:
    if tracks["policy/entropy_alarm"].last() == -1:
        return _left_range(tracks, "fell")
    change, success = tracks["policy/entropy"].change(), tracks["success/rate"].change()
    if change is None or success is None:
        return None
    past, now, error = change
    learns = success[1] >= least.solved or success[1] - success[0] > success[2]
    falls = past - now > max(least.errors * error, 0.5 * past, 0.02) and not learns
    return f"the policy's entropy fell from {past:.3g} to {now:.3g} nats a token" if falls else None


def _left_range(tracks: Tracks, how: str) -> str:
    """Return what `policy/entropy_alarm` compared: the first three values with the last two."""
    track = tracks["policy/entropy"]
    told = f"the policy's entropy {how}"
    if not track.first:
        return f"{told} out of the range in which it began"
    start, now = track.first[:3], track.newest(2)
    return f"{told} from {sum(start) / len(start):.3g} to {sum(now) / len(now):.3g} nats a token"


def _success_below_start(tracks: Tracks, least: AlarmThresholds) -> str | None:
    track = tracks["success/rate"]
    start, now = track.start(), track.long()
    if start is None or now is None or start - now < least.success_below or _is_of_levels(tracks):
        return None
    error = math.sqrt(deviation(track.first) ** 2 / RECENT + track.long_deviation**2 / LONG)
    is_below = start - now > 0.75 * least.errors * error
    return f"success was {start:.2f} in the first {RECENT} steps and is {now:.2f}" if is_below else None


def _success_fell(tracks: Tracks, least: AlarmThresholds) -> str | None:
    track = tracks["success/rate"]
    now = track.recent()
    if now is None or track.best is None or track.best - now < least.success_fall or _is_of_levels(tracks):
        return None
    fell = track.best - now > least.errors * track.recent_deviation / math.sqrt(RECENT)
    return f"success fell from {track.best:.2f} to {now:.2f}" if fell else None


def _is_of_levels(tracks: Tracks) -> bool:
    """Tell whether harder levels are drawn and no more: over all levels success stands as it stood."""
    track = tracks["levels/mean_success"]
    now = track.recent()
    return now is not None and track.best is not None and track.best - now < LEVELS_FALL


def _kl(tracks: Tracks, least: AlarmThresholds) -> str | None:
    for name, most in (
        ("policy/kl_reference", least.kl_reference),
        ("policy/kl_sampler", least.kl_sampler),
    ):
        now = tracks[name].recent()
        if now is not None and now > most:
            return f"{name} is {now:.3g} nats a token"
    return None


def _zero_variance(tracks: Tracks, least: AlarmThresholds) -> str | None:
    share, success = tracks["groups/filter_rate"].long(), tracks["success/rate"].recent()
    if tracks["grad_norm"].silent >= LONG:  # "no gradient" says so
        return None
    is_on = share is not None and share >= least.zero_variance and (success is None or success < least.solved)
    return f"in {share:.2f} of the groups everybody is paid the same" if is_on else None


def _truncated(tracks: Tracks, least: AlarmThresholds) -> str | None:
    track = tracks["truncated"]
    start, now = track.start(), track.recent()
    is_on = start is not None and now is not None and now > max(start + least.truncated, 0.3)
    return f"{now:.2f} of the episodes are truncated, {start:.2f} at the start" if is_on else None


def _cut(tracks: Tracks, least: AlarmThresholds) -> str | None:
    track, success = tracks["turns/cut"], tracks["success/rate"].recent()
    start, now = track.start(), track.recent()
    if start is None or now is None or (success is not None and success >= least.solved):
        return None
    rose, is_lost = now > max(start + least.truncated, 0.3), success is not None and success < 0.02
    return f"{now:.2f} of the turns end at the token limit" if rose or (now > CUT and is_lost) else None


def _empty(tracks: Tracks, least: AlarmThresholds) -> str | None:
    track = tracks["completion/mean"]
    start, now = track.start(), track.recent()
    is_on = start is not None and now is not None and now < 2 <= 0.5 * start
    return f"an episode has {now:.1f} sampled tokens, {start:.1f} at the start" if is_on else None


def _mismatch(tracks: Tracks, least: AlarmThresholds) -> str | None:
    now = tracks["policy/mismatch"].recent()
    return f"policy/mismatch is {now:.3g} nats a token" if now is not None and now > least.mismatch else None


def _watched(tracks: Tracks, least: AlarmThresholds) -> str | None:
    count = tracks["watch/alarm"].last() or 0.0
    return f"{count:g} watched scores fall while the reward rises" if count > 0 else None


def _wrong_majority(tracks: Tracks, least: AlarmThresholds) -> str | None:
    agreement, check = tracks["vote/agreement"], tracks["evaluation/success"]
    began, now, high = agreement.start(), agreement.recent(), tracks["evaluation/success_high"].last()
    best, last = check.highest, check.last()
    if began is None or now is None or high is None or best is None or last is None:
        return None
    if now - began < RISEN or best - last < least.success_below or high >= best:
        return None
    return (
        f"members agreed on {began:.2f} in the first {RECENT} steps and on {now:.2f} now, while success on "
        f"the evaluated tasks fell from {best:.2f} to {last:.2f}"
    )


def _no_gradient(tracks: Tracks, least: AlarmThresholds) -> str | None:
    track, success = tracks["grad_norm"], tracks["success/rate"].recent()
    if track.silent < LONG or (success is not None and success >= least.solved):
        return None
    cut = tracks["turns/cut"].recent() or 0.0
    why = f", and {cut:.2f} of the turns end at the token limit" if cut > CUT else ""
    return f"there was no gradient for {track.silent} steps{why}"


def _loss_above_start(tracks: Tracks, least: AlarmThresholds) -> str | None:
    track = tracks["train/loss"]
    start, now = track.start(), track.recent()
    if start is None or now is None or now - start < least.loss_rise:
        return None
    error = math.sqrt((deviation(track.first) ** 2 + track.recent_deviation**2) / RECENT)
    return f"the loss was {start:.3g} and is {now:.3g}" if now - start > least.errors * error else None


RULES: dict[str, Rule] = {
    "success fell": Rule(
        ("success/rate",),
        _success_fell,
        "go back to the checkpoint of its best; a third of --lr",
        lowers=True,
    ),
    "success below its start": Rule(
        ("success/rate",),
        _success_below_start,
        "go back to the start with a tenth of --lr, or look at failed episodes for what is paid instead",
        lowers=True,
    ),
    "entropy rises": Rule(
        ("policy/entropy",),
        _entropy_rises,
        "the policy comes apart: an earlier checkpoint with a third of --lr, or a KL penalty (--beta)",
        lowers=True,
    ),
    "entropy falls": Rule(
        ("policy/entropy",),
        _entropy_falls,
        "it hardly explores and does not learn: lower --lr, raise --temperature, or widen "
        "--loss.surrogate.epsilon_high",
        lowers=True,
    ),
    "KL is large": Rule(
        ("policy/kl_reference", "policy/kl_sampler"),
        _kl,
        "it has left the model it began as: lower --lr or raise --beta, and read episodes for nonsense",
        lowers=True,
    ),
    "loss above its start": Rule(
        ("train/loss",),
        _loss_above_start,
        "it unlearns what it is shown: an earlier checkpoint with a third of --lr",
        lowers=True,
    ),
    "no differences inside groups": Rule(
        ("groups/filter_rate",),
        _zero_variance,
        "nothing to learn from: another --difficulty, more --group-size or --temperature, or --warm-start",
    ),
    "episodes run out": Rule(
        ("episodes/truncated",),
        _truncated,
        "they end at a limit: raise max_turns or --max-new-tokens, or look for loops in the episodes",
    ),
    "turns are cut off": Rule(
        ("turns/cut",),
        _cut,
        "what they would have said is missing: raise --max-new-tokens, or read episodes for text without end",
    ),
    "answers are empty": Rule(
        ("completion/mean",),
        _empty,
        "it stops at once: read episodes, lower --lr, and see whether silence is paid",
    ),
    "reward and watched scores part": Rule(
        ("watch/alarm",),
        _watched,
        "what is paid rises while a score that is not paid falls: read the best paid episodes",
    ),
    "the majority is wrong": Rule(
        ("vote/agreement",),
        _wrong_majority,
        "members agree more and more on what is not right: keep best/, raise rewards.vote.threshold, or "
        "label some of the tasks",
    ),
    "sampler and trainer differ": Rule(
        ("policy/mismatch",),
        _mismatch,
        "the samples are another policy's: float32, --loss.correction truncate, or fewer updates a step",
    ),
    "no gradient": Rule(
        ("policy/grad_norm", "train/grad_norm"),
        _no_gradient,
        "nothing is trained on: where turns end at the token limit a larger --max-new-tokens, where all "
        "rewards are equal another --difficulty or --warm-start, else see the failures of the environment",
    ),
}
"""Every alarm by its name."""
