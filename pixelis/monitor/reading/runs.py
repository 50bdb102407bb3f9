"""The runs of a folder, followed: what is new is read, a slice at a time."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from pixelis.agents.episode_files.reading import EpisodeFile, Read, described, read_file, row_at
from pixelis.agents.runs.alarm_watch import AlarmWatch
from pixelis.agents.settings.alarms import AlarmThresholds
from pixelis.agents.viewing.visible import in_plain
from pixelis.monitor.reading.folders import MOST_RUNS, Root
from pixelis.monitor.reading.series import RunSeries
from pixelis.monitor.reading.state import State, ended_after, holder_of, read_end, read_json, state_of
from pixelis.monitor.reading.stored_settings import read_settings, thresholds_of
from pixelis.monitor.reading.tail import CHUNK, Tail, sampled

PREVIEW_BYTES = 8 * CHUNK
"""Above this size a metrics file is first shown from a thousand of its rows."""
PREVIEW_ROWS = 1_000
MOST_FOLLOWED, MOST_BYTES = 100, 2 << 30
"""Runs whose metrics are kept at once, and their arrays' bytes: those written last, the others are listed.

One of ours takes 12 MB at the most, a broken file may take 115 MB."""
MOST_EPISODE_BYTES = 64 << 20
"""Of files of episodes that a page reads at once; what is beyond is told."""
METRICS_VERSION = 1
"""The newest version of ``metrics.jsonl`` that is read here."""
Stamp = tuple[int, int, int]
"""When a file was changed, its bytes, its number in the file system: another one has others."""
_EPISODES = "trajectories"
_TICK = 2.0
"""Seconds, the coarsest clock of a file system."""
_EPISODE_FILE = re.compile(r"\w[\w.-]{0,80}\.jsonl", re.ASCII)


@dataclass
class FollowedRun:
    """A run and what has been read of it.

    Attributes:
        key: its name in the monitor, and in addresses.
        root: the folder that the person named.
        parts: the run's path in it.
        series: its metrics; while `is_preview`, those of some of the rows.
        state: how it stands.
        settings: what its ``config.yaml`` holds that is plain.
        evaluations: its ``evaluation.json``.
        version: of its metrics, as its ``about.json`` says.
        watch: the alarms of its metrics, as far as they have been read from the start.
        problems: what could not be read, in words.
        revision: changes whenever something is new.
        changed: when the metrics were last written, seconds since 1970; None without any.
    """

    key: str
    root: Root
    parts: tuple[str, ...]
    series: RunSeries = field(default_factory=RunSeries)
    state: State = field(default_factory=lambda: State("unknown", ""))
    settings: Mapping[str, Any] = field(default_factory=dict)
    evaluations: Mapping[str, Any] = field(default_factory=dict)
    version: Any = METRICS_VERSION
    watch: AlarmWatch = field(default_factory=AlarmWatch)
    problems: tuple[str, ...] = ()
    revision: int = 0
    changed: float | None = None
    is_preview: bool = False
    is_gone: bool = False
    _tail: Tail | None = None
    _filling: RunSeries | None = None
    _log: str = ""
    _unread: str = ""
    _listed: tuple[int, list[EpisodeFile]] | None = None
    _stamps: dict[str, Any] = field(default_factory=dict)
    _thresholds: AlarmThresholds | None = field(default_factory=AlarmThresholds)

    def look(self) -> None:
        """Read the small files again where they have changed, and say how the run stands."""
        before = (self.state, self.problems, self.is_gone)
        self.is_gone = self.root.stat(*self.parts) is None if self.parts else not self.root.path.is_dir()
        if not self.is_gone:
            if self._is_new("config.yaml"):
                self._take_settings(read_settings(self.root, *self.parts))
            if self._is_new("about.json"):
                about = read_json(self.root, *self.parts, "about.json")
                self.version = about.get("metrics_version", METRICS_VERSION)
            if self._is_new("evaluation.json"):
                self.evaluations = read_json(self.root, *self.parts, "evaluation.json")
                self.revision += 1
            if self._is_new("log.txt"):
                self._log = read_end(self.root, *self.parts, "log.txt")
            holder = holder_of(self.root, self.parts)
            evaluated = ended_after(self.evaluations)
            self.state = state_of(holder, self._log, evaluated, self.settings.get("steps"))
        self.problems = tuple(self._troubles())
        self.revision += before != (self.state, self.problems, self.is_gone)

    def written(self) -> float:
        """Return when its metrics were last written, 0 without any; nothing is read."""
        found = self.root.stat(*self.parts, "metrics.jsonl")
        return 0.0 if found is None else found.st_mtime

    def forget(self) -> None:
        """Let go of its metrics; they are read from the start when it is followed again."""
        if self._tail is not None:
            self.series, self._filling, self.is_preview = RunSeries(), None, False
            self.watch, self._tail = AlarmWatch(self._thresholds), None
            self.revision += 1

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays of its metrics."""
        return self.series.nbytes + (self._filling.nbytes if self._filling is not None else 0)

    def read(self) -> bool:
        """Read the next slice of the metrics; return whether there is more."""
        tail = self._tail = self._tail or Tail(self.root, (*self.parts, "metrics.jsonl"))
        try:
            if tail.offset == 0 and not self.is_preview:
                self._preview(tail)
            rows = tail.read()
            self._unread = ""
        except OSError as error:
            self._unread = error.strerror or type(error).__name__
            return False
        if rows is None:
            self.series, self._filling, self.is_preview = RunSeries(), None, False
            self.watch = AlarmWatch(self._thresholds)
            self.revision += 1
            return True
        into = self._filling or self.series
        into.add(rows)
        for row in rows:
            self.watch.note(row)
        if self._filling is not None and not tail.is_behind:
            self.series, self._filling, self.is_preview = self._filling, None, False
            self.revision += 1
        elif self._filling is None and rows:
            self.revision += 1
        return tail.is_behind

    def episode_files(self) -> list[EpisodeFile]:
        """Return the files of its sample episodes, in the order in which they were played.

        They are listed again when the folder has changed: a long run has ten thousand.
        """
        folder = (*self.parts, _EPISODES)
        found = self.root.stat(*folder)
        if found is None:
            return []
        is_settled = (
            time.time() - found.st_mtime > _TICK
        )  # else a file may come at the same time of the clock
        if self._listed is None or not is_settled or self._listed[0] != found.st_mtime_ns:
            self._listed = found.st_mtime_ns, self._list_episodes(folder)
        return self._listed[1]

    def _list_episodes(self, folder: tuple[str, ...]) -> list[EpisodeFile]:
        names = [name for name in self.root.names(*folder) if _EPISODE_FILE.fullmatch(name)]
        return sorted((described(Path(*folder, name)) for name in names), key=lambda file: file.order)

    def episode_stamp(self, file: EpisodeFile) -> Stamp:
        """Return what changes when one of its files of episodes does; zeros where it is gone."""
        return self._stamp(_EPISODES, file.path.name) or (0, 0, 0)

    def read_episodes(self, file: EpisodeFile) -> Read:
        """Return the episodes of one of its files; they are read when somebody looks."""
        return read_file(file, partial(self._open_episodes, file), MOST_EPISODE_BYTES)

    def episode_row(self, file: EpisodeFile, line: int) -> Mapping[str, Any] | None:
        """Return a line of one of its files of episodes as it was written, None where there is none."""
        try:
            with self._open_episodes(file) as lines:
                return row_at(lines, line)
        except OSError:
            return None

    def picture(self, digest: str, most: int) -> bytes | None:
        """Return the first bytes of the picture of that SHA-256, None where it was not kept."""
        try:
            with self.root.open(*self.parts, _EPISODES, "images", f"{digest}.png") as file:
                return file.read(most)
        except OSError:
            return None

    def has_picture(self, digest: str) -> bool:
        """Return whether the picture of that SHA-256 is there."""
        return self.root.stat(*self.parts, _EPISODES, "images", f"{digest}.png") is not None

    @property
    def share_read(self) -> float:
        """How much of the metrics has been read, 0 to 1."""
        return min(self._tail.offset / self._tail.size, 1.0) if self._tail and self._tail.size else 0.0

    # ------------------------------------------------------------------ private

    def _take_settings(self, settings: Mapping[str, Any]) -> None:
        """Take over what the settings are now; where alarms go on otherwise, all rows are judged anew."""
        before, self.settings, self._thresholds = self._thresholds, settings, thresholds_of(settings)
        if self._thresholds != before:
            self.watch = AlarmWatch(self._thresholds)
            self.forget()

    def _open_episodes(self, file: EpisodeFile) -> BinaryIO:
        return self.root.open(*self.parts, _EPISODES, file.path.name)

    def _preview(self, tail: Tail) -> None:
        found = self.root.stat(*tail.parts)
        if found is None or found.st_size < PREVIEW_BYTES:
            return
        self.series, self._filling, self.is_preview = RunSeries(whole=False), RunSeries(), True
        with self.root.open(*tail.parts) as file:
            self.series.add(sampled(file, PREVIEW_ROWS))
        self.revision += 1

    def _is_new(self, name: str) -> bool:
        stamp = self._stamp(name)
        if self._stamps.get(name) == stamp:
            return False
        self._stamps[name] = stamp
        return True

    def _stamp(self, *parts: str) -> Stamp | None:
        found = self.root.stat(*self.parts, *parts)
        return None if found is None else (found.st_mtime_ns, found.st_size, found.st_ino)

    def _troubles(self) -> list[str]:
        if self.is_gone:
            return ["its folder is gone; what was read of it is still shown"]
        found = self.root.stat(*self.parts, "metrics.jsonl")
        self.changed = None if found is None else found.st_mtime
        told = (
            []
            if found is not None
            else ["it has no metrics.jsonl yet, or that is a link, which is not followed"]
        )
        if found is not None and self._unread:
            told.append(f"its metrics.jsonl cannot be read ({self._unread})")
        if not self.settings:
            told.append("its config.yaml is missing, damaged or too large")
        elif self._thresholds is None:
            told.append("the alarms of its config.yaml are no thresholds; it is judged by the defaults")
        if not isinstance(self.version, int) or self.version > METRICS_VERSION:
            told.append(
                f"its metrics are of version {in_plain(str(self.version)[:40])}, and this Pixelis reads "
                f"version {METRICS_VERSION} and older: what is shown may be wrong; update Pixelis"
            )
        if self._tail is not None and self._tail.damaged:
            told.append(f"{self._tail.damaged} lines of metrics.jsonl hold no JSON object; they are left out")
        if self._tail is not None and self._tail.too_long:
            told.append(f"{self._tail.too_long} lines of metrics.jsonl are too long; they are left out")
        if self.series.left_out:
            told.append("it has more metrics than are kept; the later names are left out")
        if odd := self.series.odd:
            names = ", ".join(f"{in_plain(name)[:80]} ({count} rows)" for name, count in [*odd.items()][:3])
            more = f" and {len(odd) - 3} more metrics" if len(odd) > 3 else ""
            told.append(f"{names}{more}: NaN, infinity or no number; these rows are gaps in the curves")
        return told


class Runs:
    """Every run of the folders that a person named.

    One thread reads; pages look at what is there. A slice is a megabyte, so that they never wait for long.

    Args:
        places: the folders.

    Raises:
        ConfigError: one of them does not exist.
    """

    def __init__(self, places: list[str]) -> None:
        self.roots = [Root(place) for place in places]
        self.runs: dict[str, FollowedRun] = {}
        self.left_out = 0
        self._keys: dict[tuple[int, tuple[str, ...]], str] = {}
        self._end = threading.Event()
        self._thread: threading.Thread | None = None

    def find(self) -> None:
        """Look for new runs; one that is gone stays, and says so."""
        found = [(root, parts) for root in self.roots for parts in root.runs()]
        for root, parts in found:
            key = self._key(root, parts)
            if key not in self.runs and len(self.runs) < MOST_RUNS:
                self.runs[key] = FollowedRun(key, root, parts)

    def refresh(self, seconds: float = 0.5) -> bool:
        """Look at everything once and read on for about so long; return whether there is more to read."""
        self.find()
        followed = self._followed()
        for run in followed:
            run.look()
        return self._read_on(followed, time.monotonic() + seconds)

    def start(self, every_seconds: float = 1.0) -> None:
        """Refresh from a thread of its own until `close`."""
        self._thread = threading.Thread(
            target=self._follow, args=(every_seconds,), name="monitor", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop following."""
        self._end.set()
        if self._thread is not None:
            self._thread.join()

    # ------------------------------------------------------------------ private

    def _follow(self, every_seconds: float) -> None:
        more = False
        while not self._end.wait(0.02 if more else every_seconds):
            more = self.refresh()

    def _followed(self) -> list[FollowedRun]:
        """Return the runs that are followed, those written last first; forget the others."""
        runs, taken = list(self.runs.values()), 0
        if len(runs) > MOST_FOLLOWED or sum(run.nbytes for run in runs) > MOST_BYTES:
            runs.sort(key=FollowedRun.written, reverse=True)
        followed: list[FollowedRun] = []
        for run in runs:
            taken += run.nbytes
            if len(followed) >= MOST_FOLLOWED or (followed and taken > MOST_BYTES):
                run.look()  # it is listed all the same, with what became of it
                run.forget()
            else:
                followed.append(run)
        self.left_out = len(runs) - len(followed)
        return followed

    def _read_on(self, runs: list[FollowedRun], until: float) -> bool:
        left = runs
        while left and time.monotonic() < until and not self._end.is_set():
            left = [run for run in left if run.read()]
        return bool(left)

    def _key(self, root: Root, parts: tuple[str, ...]) -> str:
        """Return a run's name: its path below the folder; with a number where another one is called so."""
        place = (self.roots.index(root), parts)
        if place not in self._keys:
            name = "/".join(parts) or root.path.resolve().name or "run"
            name = name.encode("utf-8", "replace").decode()  # a name of other bytes could not be sent
            taken, number = set(self._keys.values()), 2
            key = name
            while key in taken:
                key, number = f"{name} ({number})", number + 1
            self._keys[place] = key
        return self._keys[place]
