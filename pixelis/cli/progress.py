"""Progress of a training run: a live bar in a terminal, one plain line a step elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from typing_extensions import Self

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.runs.metrics import Row

_TELL_SECONDS = 10.0  # between two lines of an evaluation, where a quarter of it takes longer


class _Bar:
    """A bar that is shown in a terminal while a block runs."""

    _console: Console
    _bar: Progress

    def __enter__(self) -> Self:
        """Show the bar, in a terminal."""
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it: one that is transient goes, another stays as it is."""
        if self._console.is_terminal:
            self._bar.stop()


class TrainingProgress(_Bar):
    """Shows each step's success, reward, KL, speed, the time that is left, and the alarms that are on.

    Args:
        console: where to write.
        steps: the last step.
        minutes: the time limit, if there is one.
        done: steps that were finished in earlier sessions.
        elapsed_seconds: training time of those sessions.
        tell: returns what is told of a step; by default what GRPO measures.
        alarms: returns the names of the alarms that are on; by default there are none.
    """

    def __init__(
        self,
        console: Console,
        steps: int,
        minutes: float | None,
        done: int,
        elapsed_seconds: float,
        tell: Callable[[Row], str] | None = None,
        alarms: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self._console, self._steps = console, steps
        self._tell, self._alarms = tell or describe, alarms
        self._minutes, self._done, self._elapsed = minutes, done, elapsed_seconds
        self._first = done
        self._started = time.perf_counter()
        self._bar = Progress(
            TextColumn("step {task.completed}/{task.total}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[text]}"),
            console=console,
        )
        self._task = self._bar.add_task("train", total=steps, completed=done, text="")

    def update(self, row: Row) -> None:
        """Show the metrics of one step, after the names of the alarms that are on."""
        self._done = int(row["step"] or 0)
        self._elapsed = row["time/elapsed"] or 0.0
        alarms = ", ".join(self._alarms())
        told = f"[bold red]ALARM {alarms}[/]  " if alarms else ""
        text = f"{told}{self._tell(row)}  eta {self._remaining()}"
        if self._console.is_terminal:
            self._bar.update(self._task, completed=self._done, text=text)
        else:
            self._console.print(f"step {self._done}/{self._steps}  {text}", soft_wrap=True)

    def _remaining(self) -> str:
        """Return the time until the step or the time limit, whichever comes first."""
        pace = (time.perf_counter() - self._started) / max(1, self._done - self._first)
        seconds = pace * (self._steps - self._done)
        if self._minutes is not None:
            seconds = min(seconds, max(0.0, 60 * self._minutes - self._elapsed))
        return clock(seconds)


class EvaluationProgress(_Bar):
    """Shows how far an evaluation is: a live bar in a terminal, a plain line every so often elsewhere.

    Args:
        console: where to write.
        label: what is evaluated.
        total: episodes there will be.
    """

    def __init__(self, console: Console, label: str, total: int) -> None:
        self._console, self._label, self._total = console, label, total
        self._episodes = self._good = self._successes = self._said = 0
        self._started = self._told = time.perf_counter()
        self._shown = 0
        self._bar = Progress(
            TextColumn("{task.description} {task.completed}/{task.total}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[text]}"),
            console=console,
            transient=True,
        )
        self._task = self._bar.add_task(label, total=total, text="")

    def ended(self, count: int) -> None:
        """Show that so many more episodes have ended."""
        self._show(self._episodes + count)

    def played(self, episodes: Sequence[Episode]) -> None:
        """Count episodes."""
        self._episodes += len(episodes)
        for episode in episodes:
            self._good += episode.valid_for_training
            self._said += episode.valid_for_training and episode.success is not None
            self._successes += episode.valid_for_training and bool(episode.success)
        self._show(self._episodes)

    def _show(self, done: int) -> None:
        now = time.perf_counter()
        pace = (now - self._started) / max(1, done)
        text = f"{self._found()}eta {clock(pace * (self._total - done))}"
        if self._console.is_terminal:
            self._bar.update(self._task, completed=done, text=text)
        elif done >= self._shown + max(1, self._total // 4) or now - self._told > _TELL_SECONDS:
            self._shown, self._told = done, now
            self._console.print(f"  {self._label} {done}/{self._total}  {text}", soft_wrap=True)

    def _found(self) -> str:
        failed = self._episodes - self._good
        parts = [f"success {self._successes / self._good:.2f}"] if self._said else []
        return "  ".join([*parts, *([f"failed {failed}"] if failed else []), ""])


def describe(row: Row) -> str:
    """Return the numbers of a step that a person watches, in one line."""
    kl = row.get("policy/kl_reference", row.get("policy/kl_sampler"))
    parts = [
        f"success {_number(row['success/rate'], '.2f')} (mean of 10: {_number(row['success/ma10'], '.2f')})",
        f"reward {_number(row['reward/mean'], '.3f')}",
        f"KL {_number(kl, '.4f')}",
        f"zero-variance groups {row['groups/dropped']}/{row['groups/count']}",
        f"{_number(row['time/tokens_per_second'], '.0f')} tokens/s",
    ]
    if row["episodes/invalid"]:
        parts.append(f"invalid episodes {row['episodes/invalid']}")
    if row["policy/skipped_updates"]:
        parts.append(f"skipped updates {row['policy/skipped_updates']}")
    return "  ".join(parts)


def describe_small(row: Row) -> str:
    """Return the same for agents without language."""
    success, mean = _number(row["success/rate"], ".2f"), _number(row["success/ma10"], ".2f")
    return "  ".join(
        [
            f"success {success} (mean of 10: {mean})",
            f"reward {_number(row['reward/mean'], '.3f')}",
            f"episodes {row['episodes/total']}",
            f"env steps {row['env_steps/total']}",
            *([f"invalid episodes {row['episodes/invalid']}"] if row["episodes/invalid"] else []),
        ]
    )


def clock(seconds: float) -> str:
    """Return a duration as ``m:ss`` or ``h:mm:ss``."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


def _number(value: float | int | None, form: str) -> str:
    return "–" if value is None else format(value, form)
