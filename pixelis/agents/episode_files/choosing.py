"""Which episodes of a run a person means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pixelis.agents.episode_files.reading import EpisodeFile, Read, find_files, read_file
from pixelis.agents.episode_files.stored import StoredEpisode
from pixelis.errors import RecordingError, suggest


@dataclass(frozen=True)
class EpisodeFilter:
    """Which episodes are wanted; what is None or empty does not matter.

    Attributes:
        success: True, False, or ``"unknown"`` where the environment did not say.
        seed: of the task.
        tool: one that was called.
        error_code: one that a call ended with.
        level: as `StoredEpisode.level` tells it.
    """

    success: bool | Literal["unknown"] | None = None
    seed: int | None = None
    tool: str = ""
    error_code: str = ""
    level: str = ""

    def keeps(self, episode: StoredEpisode) -> bool:
        """Return whether an episode is wanted."""
        return (
            (self.success is None or episode.success is (None if self.success == "unknown" else self.success))
            and self.seed in (None, episode.seed)
            and (not self.tool or self.tool in episode.tools)
            and (not self.error_code or self.error_code in episode.error_codes)
            and (not self.level or self.level == episode.level)
        )


def choices(episodes: Iterable[StoredEpisode]) -> dict[str, list[str]]:
    """Return what there is to filter episodes by: ``tool``, ``error_code`` and ``level`` → values."""
    found: dict[str, set[str]] = {"tool": set(), "error_code": set(), "level": set()}
    for episode in episodes:
        found["tool"] |= episode.tools
        found["error_code"] |= episode.error_codes
        found["level"] |= {episode.level} - {""}
    return {name: sorted(values) for name, values in found.items()}


def read_named(place: str | Path, name: str | None = None) -> tuple[EpisodeFile, Read]:
    """Return one file of a run with what it holds: the one that is named, else the newest with episodes.

    Args:
        place: see `find_files`.
        name: as `EpisodeFile.name` has it, ``step-40`` and ``after`` too.

    Raises:
        RecordingError: there is no such file, or no episode in any.
    """
    files = find_files(place)
    if name is not None:
        known = {alias: file for file in files for alias in _aliases(file)}
        if name not in known:
            listed = ", ".join(file.name for file in files[-20:])
            raise RecordingError(
                f"{str(place)!r} has no file of episodes {name!r}.{suggest(name, known)} There are: {listed}"
            )
        files = [known[name]]
    problems: list[str] = []
    for file in reversed(files):
        read = read_file(file)
        if read.episodes:
            return file, read
        problems += read.problems
    told = f" ({problems[0]})" if problems else ""
    raise RecordingError(f"{str(name or place)!r} holds no episode{told}; another file or run may")


def group_of(episodes: Sequence[StoredEpisode], seed: int) -> list[StoredEpisode]:
    """Return the episodes of a seed, by member.

    Raises:
        RecordingError: there is none.
    """
    found = [episode for episode in episodes if episode.seed == seed]
    if not found:
        counts = Counter(episode.seed for episode in episodes if episode.seed is not None)
        listed = ", ".join(f"{each} ({count})" for each, count in list(counts.items())[:20])
        raise RecordingError(f"no episode of seed {seed}; there are seeds (episodes): {listed or 'none'}")
    return sorted(found, key=lambda episode: (episode.agent, episode.mode, episode.member))


def pair_of(
    left: Sequence[StoredEpisode], right: Sequence[StoredEpisode], seed: int | None = None
) -> tuple[StoredEpisode, StoredEpisode]:
    """Return two episodes on the same task, one of each side.

    Those of the same mode and member come first, of these the ones of which one succeeded and one failed.

    Args:
        left: one side.
        right: the other.
        seed: only that one; None for any.

    Raises:
        RecordingError: the two have no task in common.
    """
    by_task: dict[str, list[StoredEpisode]] = {}
    for episode in right:
        by_task.setdefault(episode.same_task, []).append(episode)
    pairs = [
        (one, other)
        for one in left
        if seed is None or one.seed == seed
        for other in by_task.get(one.same_task, ())
        if one.where != other.where
    ]
    if not pairs:
        what = "no task" if seed is None else f"no episode of seed {seed}"
        raise RecordingError(
            f"the two have {what} in common; a diff needs two episodes of the same seed (evaluations of two "
            "runs in one environment have them, with the same --eval-episodes)"
        )
    return min(pairs, key=_unlikeness)


# ---------------------------------------------------------------------- private


def _aliases(file: EpisodeFile) -> set[str]:
    short = file.name.removeprefix("evaluation-") if file.evaluation else file.name
    names = {file.name, short}
    if file.step is not None:
        head = "evaluation-step" if file.evaluation else "step"
        names = {file.name, f"{head}-{file.step}"}
    return names


def _unlikeness(pair: tuple[StoredEpisode, StoredEpisode]) -> tuple[bool, bool, bool]:
    one, other = pair
    return one.mode != other.mode, one.success == other.success, one.member != other.member
