"""Which episodes of a run a person means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pixelis.agents.episode_files.reading import EpisodeFile, Read, find_files, read_file
from pixelis.agents.episode_files.stored import StoredEpisode
from pixelis.errors import RecordingError, suggest


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
    by_task: dict[object, list[StoredEpisode]] = {}
    for episode in right:
        by_task.setdefault(_task(episode), []).append(episode)
    pairs = [
        (one, other)
        for one in left
        if seed is None or one.seed == seed
        for other in by_task.get(_task(one), ())
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


def _task(episode: StoredEpisode) -> object:
    """Return what the task is called; the env's name is left out, runs of older versions have none."""
    return episode.task.get("hash") or episode.seed


def _unlikeness(pair: tuple[StoredEpisode, StoredEpisode]) -> tuple[bool, bool, bool]:
    one, other = pair
    return one.mode != other.mode, one.success == other.success, one.member != other.member
