"""What is measured in a step, and where it is written: ``metrics.jsonl``, TensorBoard and other sinks.

Names are ``group/quantity``. Everything under ``time/`` and ``system/`` depends on the clock or the machine;
everything else is the same, bit for bit, when a run is repeated or resumed on the same machine.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from pixelis.agents.episodes.behaviour import (
    BAD_CALL,
    Row,
    behaviour_metrics,
    group_metrics,
    length_metrics,
    tool_scores,
)
from pixelis.agents.episodes.episode import Episode
from pixelis.agents.episodes.failures import failed_share
from pixelis.agents.run_files.about import check_metrics_version
from pixelis.agents.runs.sinks.background import CLOSE_SECONDS, Background
from pixelis.agents.runs.sinks.board import Board
from pixelis.agents.runs.sinks.sink import RunFacts, StepSample
from pixelis.agents.runs.sinks.trackers import SINKS
from pixelis.files import write_atomically, writing

EVERY_STEP = (
    "success/rate",
    "reward/mean",
    "reward/std",
    "episodes/truncated",
    "completion/mean",
    "turns/mean",
    "actions/entropy",
    "loops/episodes",
    "tools/per_episode",
)
"""Metrics of every training step by which a curriculum may go, besides those of its reward terms."""


def episode_metrics(episodes: Sequence[Episode]) -> Row:
    """Return what a step's episodes say about the policy; a mean over nothing is None.

    Rewards, successes, turns and lengths are those of the episodes that are valid for training.
    """
    valid = [episode for episode in episodes if episode.valid_for_training]
    rewards = [episode.reward for episode in valid if math.isfinite(episode.reward)]
    row: Row = {
        "reward/mean": _mean(rewards),
        "reward/std": float(np.std(rewards, ddof=1)) if len(rewards) > 1 else None,
        "success/rate": success_rate(valid),
        "episodes/count": len(episodes),
        "episodes/invalid": len(episodes) - len(valid),
        "episodes/failed_share": failed_share(episodes),
        "episodes/truncated": sum(episode.truncated for episode in valid),
        "tokens/sampled": sum(episode.completion_length for episode in episodes),
    }
    row |= length_metrics(valid) | group_metrics(valid) | behaviour_metrics(valid)
    return row | _reward_terms(valid) | _reward_parts(valid) | tool_metrics(valid)


def success_rate(episodes: Sequence[Episode]) -> float | None:
    """Return the share of successes among the episodes whose env says, or None."""
    return _mean([float(episode.success) for episode in episodes if episode.success is not None])


def tool_metrics(episodes: Sequence[Episode]) -> Row:
    """Return calls and failures by tool, as counts, calls per episode, and the mean of each tool's scores."""
    calls = [call for episode in episodes for call in episode.tool_calls]
    made = Counter(str(call.get("tool") or BAD_CALL) for call in calls)
    failed = Counter(str(call.get("tool") or BAD_CALL) for call in calls if not call.get("ok", True))
    row: Row = {"tools/per_episode": len(calls) / len(episodes) if episodes else None}
    for name in sorted(made):
        row[f"tools/{name}/calls"] = made[name]
        row[f"tools/{name}/failures"] = failed[name]
    return row | {f"tools/{name}": value for name, value in tool_scores(episodes).items()}


def _reward_terms(episodes: Sequence[Episode]) -> Row:
    names = sorted({name for episode in episodes for name in episode.reward_terms})
    return {
        f"reward_terms/{name}": _mean([episode.reward_terms.get(name, 0.0) for episode in episodes])
        for name in names
    }


def _reward_parts(episodes: Sequence[Episode]) -> Row:
    """Return the mean of each component's raw, normalised and weighted value; none without reward terms."""
    tables = [episode.reward_parts for episode in episodes if episode.reward_parts]
    return {
        f"reward_parts/{name}/{what}": _mean([table[name][what] for table in tables])
        for name in (tables[0] if tables else ())
        for what in tables[0][name]
    }


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if len(values) else None


class MovingMeans:
    """Means of the last n values of a series, for several n; values that are None are left out.

    Args:
        windows: the lengths n, in values.
    """

    def __init__(self, windows: Sequence[int] = (10, 100, 500)) -> None:
        self.windows = tuple(windows)
        self._values: deque[float] = deque(maxlen=max(self.windows))

    def add(self, value: float | None) -> None:
        """Append a value."""
        if value is not None:
            self._values.append(float(value))

    def means(self) -> dict[int, float | None]:
        """Return window → mean of as many values as there are so far, None before the first."""
        values = list(self._values)
        return {window: _mean(values[-window:]) for window in self.windows}

    def slope(self, window: int = 100) -> float | None:
        """Return the least-squares slope of the last values, a value's change a step; None below two."""
        values = list(self._values)[-window:]
        return float(np.polyfit(np.arange(len(values)), values, 1)[0]) if len(values) > 1 else None

    def state_dict(self) -> list[float]:
        """Return the values, oldest first."""
        return list(self._values)

    def load_state_dict(self, values: Sequence[float]) -> None:
        """Take over the values of another instance."""
        self._values.clear()
        self._values.extend(float(value) for value in values)


class MetricsLog:
    """The one writer of metrics: rows go into ``metrics.jsonl`` at once, to the sinks as they take them.

    The file is what everything else can be made of again, so its rows are never queued: appending one and
    handing it to the operating system takes microseconds (`benchmarks/speed/metrics_speed.py`), and from then
    on a kill does not lose it. What is slow, TensorBoard first, happens in threads behind bounded queues.

    Args:
        path: the JSONL file.
        tensorboard: folder of the event files.
        after_step: rows of later steps, and half a last row, are removed first; the run that wrote them was
            stopped after its last checkpoint.
        facts: what sinks are told of the run; None: its folder alone.
        log_to: names of further sinks, see `SINKS`.

    Attributes:
        intact: what has been saved whole, for the message of a write that fails.

    Raises:
        CheckpointError: a newer Pixelis wrote the file.
        OutputError: the files cannot be written.
    """

    def __init__(
        self,
        path: Path,
        tensorboard: Path,
        after_step: int = 0,
        facts: RunFacts | None = None,
        log_to: Sequence[str] = (),
    ) -> None:
        self.path, self._board, self.intact = path, tensorboard, ""
        check_metrics_version(path.parent)
        with writing(path):
            kept = [line for line in _lines(path) if line[0] <= after_step]
            write_atomically(path, "".join(text for _, text in kept))
            self._file = path.open("ab", buffering=0)
            tensorboard.mkdir(parents=True, exist_ok=True)
        facts = replace(facts or RunFacts(path.parent), after_step=after_step)
        sinks = [Board(tensorboard, facts), *(SINKS[name](facts) for name in log_to)]
        self._sinks = [Background(sink) for sink in sinks]

    def write(self, row: Mapping[str, float | int | None], sample: StepSample | None = None) -> None:
        """Append a row; it must hold ``step``. Numbers that are not finite are written as null.

        Args:
            row: of the metrics.
            sample: what the step looked like, for the sinks.

        Raises:
            OutputError: the row cannot be written, or an earlier one could not be to TensorBoard; the rows in
                the file are whole.
        """
        clean = {key: value if value is None or math.isfinite(value) else None for key, value in row.items()}
        with writing(self.path, intact=self.intact):
            self._append((json.dumps(clean) + "\n").encode())
        for sink in self._sinks:
            sink.put(clean, sample)
        self._check()

    def sync(self) -> None:
        """Put the rows on the disk, where a power cut does not lose them, and let the sinks do the like.

        Raises:
            OutputError: that failed.
        """
        with writing(self.path, intact=self.intact):
            os.fsync(self._file.fileno())
        for sink in self._sinks:
            sink.flush()

    def close(self, *, quiet: bool = False) -> None:
        """Let the sinks take what waits, for half a minute at most, and close the files.

        Args:
            quiet: do not raise, as something else is being told.

        Raises:
            OutputError: TensorBoard's files could not be written.
        """
        self._file.close()
        for sink in self._sinks:
            sink.ask_to_end()
        until = time.monotonic() + CLOSE_SECONDS
        for sink in self._sinks:
            sink.join(until)
        if not quiet:
            self._check()

    def __enter__(self) -> MetricsLog:
        """Return itself; the end of the block closes it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the files."""
        self.close(quiet=error is not None)

    # ------------------------------------------------------------------ private

    def _append(self, line: bytes) -> None:
        """Write a line or nothing: where the disk is full in its middle, its beginning is taken back."""
        size = os.fstat(self._file.fileno()).st_size
        try:
            while line:
                line = line[self._file.write(line) :]
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file.fileno(), size)
            raise

    def _check(self) -> None:
        """Raise what a sink failed with that training cannot do without."""
        for sink in self._sinks:
            if sink.error is not None and sink.sink.essential:
                with writing(self._board, intact=self.intact):
                    raise sink.error


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a ``metrics.jsonl``; half a last line, left by a kill, is skipped.

    Raises:
        CheckpointError: a newer Pixelis wrote them.
    """
    check_metrics_version(path.parent)
    return [json.loads(text) for _, text in _lines(path)]


def comparable_metrics(path: Path) -> list[Row]:
    """Return the rows of a metrics file without what depends on the clock or the machine."""
    return [comparable(row) for row in read_metrics(path)]


def comparable(row: Row) -> Row:
    """Return a row without what depends on the clock or the machine."""
    return {name: value for name, value in row.items() if not name.startswith(("time/", "system/"))}


def _lines(path: Path) -> list[tuple[int, str]]:
    """Return (step, line) for every whole row of the file."""
    found: list[tuple[int, str]] = []
    if path.exists():
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                found.append((int(json.loads(line)["step"]), line + "\n"))
            except (ValueError, KeyError, TypeError):
                continue
    return found
