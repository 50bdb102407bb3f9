"""Sample episodes of a run, as its ``trajectories/`` hold them; files are read when somebody looks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pixelis.monitor.reading.folders import Root
from pixelis.monitor.reading.tail import parsed

MOST_BYTES = 64 << 20
"""Of a file of episodes that are read; what is beyond is told."""
_FILE = re.compile(r"(evaluation-)?(?:step-(\d{1,12})|([\w.-]{1,60}))\.jsonl", re.ASCII)


@dataclass(frozen=True)
class EpisodeFile:
    """A file of episodes.

    Attributes:
        name: without ``.jsonl``, such as ``step-00000010`` or ``evaluation-before``.
        step: after which they were played, None where the name does not say.
        evaluation: whether they were played to measure, not to learn from.
    """

    name: str
    step: int | None
    evaluation: bool

    @property
    def order(self) -> tuple[int, int, str]:
        """In which they were played: before, the steps, after."""
        if self.step is not None:
            return (1, self.step, self.name)
        return (2 if "after" in self.name else 0, 0, self.name)


@dataclass(frozen=True)
class Turn:
    """A turn: what the agent wrote, what the environment answered.

    Attributes:
        action: of the agent; None for the first look.
        heard: the observation's text that followed; None where it is not stored.
        calls: the tool calls of the turn.
        reward: of the step.
        tokens: (text, log-probability) of what was sampled; empty where a run does not store it.
        picture: its SHA-256, None where there is no new one.
    """

    action: str | None
    heard: str | None
    calls: tuple[Mapping[str, Any], ...] = ()
    reward: float | None = None
    tokens: tuple[tuple[str, float | None], ...] = ()
    picture: str | None = None


@dataclass(frozen=True)
class Episode:
    """A line of a file of episodes; what it does not hold is None or empty.

    Attributes:
        file: where it is.
        line: its number there, from 1.
        row: as it was read.
        turns: the first look and each turn; empty where the file holds the text alone.
    """

    file: EpisodeFile
    line: int
    row: Mapping[str, Any]
    turns: tuple[Turn, ...]

    @property
    def success(self) -> bool | None:
        """Whether the task was done, None where the environment does not say."""
        found = self.row.get("success")
        return found if isinstance(found, bool) else None

    @property
    def reward(self) -> float | None:
        """The episode's reward."""
        return number(self.row.get("reward"))

    @property
    def advantage(self) -> float | None:
        """Its advantage; with credit by turn, their mean."""
        found = self.row.get("advantage")
        each = [number(value) for value in found] if isinstance(found, list) else [number(found)]
        known = [value for value in each if value is not None]
        return sum(known) / len(known) if known else None

    @property
    def calls(self) -> tuple[Mapping[str, Any], ...]:
        """The tool calls of all turns."""
        return _objects(self.row.get("tool_calls"))

    @property
    def tools(self) -> set[str]:
        """Names of the tools that were called; what was no call counts as ``bad_call``."""
        return {str(call.get("tool") or "bad_call") for call in self.calls}

    @property
    def error_codes(self) -> set[str]:
        """Of its calls."""
        return {str(call["error_code"]) for call in self.calls if call.get("error_code")}

    @property
    def level(self) -> str:
        """The task's difficulty and family, as far as they are known."""
        task = self.row.get("task")
        if not isinstance(task, Mapping):
            return ""
        return " ".join(str(task[key]) for key in ("family", "difficulty") if task.get(key) is not None)

    @property
    def text(self) -> str:
        """The whole episode as one text."""
        found = self.row.get("text")
        return found if isinstance(found, str) else ""


@dataclass(frozen=True)
class Filter:
    """Which episodes are wanted; what is empty or None does not matter.

    Attributes:
        success: True, False, or ``"unknown"`` where the environment did not say.
        tool: one that was called.
        error_code: one that a call ended with.
        level: as `Episode.level` tells it.
        seed: of the task.
    """

    success: bool | str | None = None
    tool: str | None = None
    error_code: str | None = None
    level: str | None = None
    seed: int | None = None

    def keeps(self, episode: Episode) -> bool:
        """Return whether an episode is wanted."""
        wanted = None if self.success == "unknown" else self.success
        return (
            (self.success is None or episode.success is wanted)
            and (not self.tool or self.tool in episode.tools)
            and (not self.error_code or self.error_code in episode.error_codes)
            and (not self.level or self.level == episode.level)
            and (self.seed is None or episode.row.get("seed") == self.seed)
        )


@dataclass(frozen=True)
class Read:
    """What a file holds, and what of it could not be read."""

    episodes: Sequence[Episode]
    problems: Sequence[str] = ()


def episode_files(root: Root, parts: tuple[str, ...]) -> list[EpisodeFile]:
    """Return a run's files of episodes, in the order in which they were played."""
    found = [_FILE.fullmatch(name) for name in root.names(*parts, "trajectories")]
    files = [
        EpisodeFile(
            match[0].removesuffix(".jsonl"), int(match[2]) if match[2] else None, match[0].startswith("eval")
        )
        for match in found
        if match is not None
    ]
    return sorted(files, key=lambda file: file.order)


def read_episodes(root: Root, parts: tuple[str, ...], file: EpisodeFile) -> Read:
    """Return the episodes of a file; what cannot be read is told and the rest is there."""
    try:
        with root.open(*parts, "trajectories", f"{file.name}.jsonl") as opened:
            data = opened.read(MOST_BYTES + 1)
    except OSError as error:
        return Read((), (f"{file.name}: cannot be read: {error.strerror or error}",))
    problems = [f"{file.name}: only its first {MOST_BYTES >> 20} MB are read"] * (len(data) > MOST_BYTES)
    episodes = []
    lines = data[:MOST_BYTES].split(b"\n")
    for place, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        row = parsed(line)
        if row is None:
            half = place == len(lines)
            problems.append(f"{file.name}, line {place}: {'half a line' if half else 'no JSON object'}")
            continue
        episodes.append(Episode(file, place, row, turns_of(row)))
    return Read(episodes, problems[:20])


def turns_of(row: Mapping[str, Any]) -> tuple[Turn, ...]:
    """Return the first look and the turns of a stored row; empty where it holds the text alone."""
    exchanges = _objects(row.get("exchanges"))
    if not exchanges:
        return ()
    calls, done = _objects(row.get("tool_calls")), 0
    pictures = row.get("pictures") if isinstance(row.get("pictures"), list) else []
    turns = [Turn(None, _text(row.get("asked")), picture=_picture(pictures, 0))]
    for place, each in enumerate(exchanges, start=1):
        count = max(int(number(each.get("calls")) or 0), 0)
        turns.append(
            Turn(
                _text(each.get("action")) or "",
                _text(each.get("heard")),
                calls[done : done + count],
                number(each.get("reward")),
                _tokens(each.get("sampled")),
                _picture(pictures, place),
            )
        )
        done += count
    return tuple(turns)


def choices(episodes: Iterable[Episode]) -> dict[str, list[str]]:
    """Return what episodes can be filtered by: ``tool``, ``error_code`` and ``level`` → values."""
    found: dict[str, set[str]] = {"tool": set(), "error_code": set(), "level": set()}
    for episode in episodes:
        found["tool"] |= episode.tools
        found["error_code"] |= episode.error_codes
        found["level"] |= {episode.level} - {""}
    return {name: sorted(values) for name, values in found.items()}


def number(value: Any) -> float | None:
    """Return a finite number, None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def _objects(value: Any) -> tuple[Mapping[str, Any], ...]:
    return tuple(each for each in value if isinstance(each, Mapping)) if isinstance(value, list) else ()


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _picture(pictures: Any, place: int) -> str | None:
    about = pictures[place] if place < len(pictures) else None
    about = about.get("$image") if isinstance(about, Mapping) else None
    digest = about.get("sha256") if isinstance(about, Mapping) else None
    return digest if isinstance(digest, str) and re.fullmatch("[0-9a-f]{64}", digest) else None


def _tokens(value: Any) -> tuple[tuple[str, float | None], ...]:
    if not isinstance(value, list):
        return ()
    pairs = [pair for pair in value if isinstance(pair, list) and len(pair) == 2]
    return tuple((str(text), number(logprob)) for text, logprob in pairs)
