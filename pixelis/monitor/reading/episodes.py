"""Files of episodes that a page shows, read within one bound, and kept while they are as they were."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from pixelis.agents.episode_files.reading import EpisodeFile, Read
from pixelis.agents.episode_files.stored import StoredEpisode
from pixelis.monitor.reading import runs
from pixelis.monitor.reading.runs import FollowedRun, Stamp

MOST_READ = 200
"""Files that a page reads at once, of `runs.MOST_EPISODE_BYTES` together."""
Place = tuple[FollowedRun, EpisodeFile]
Where = tuple[FollowedRun, EpisodeFile, StoredEpisode]
Key = tuple[str, str]
"""A run's, and the name of one of its files."""
T = TypeVar("T")


def key_of(run: FollowedRun, file: EpisodeFile) -> Key:
    """Return what tells a file of episodes from all others."""
    return run.key, file.name


def read_newest(
    asked: Sequence[Place], known: Mapping[Key, tuple[Stamp, T]], take: Callable[[EpisodeFile, Read], T]
) -> dict[Key, tuple[Stamp, T]]:
    """Return what is kept of files of episodes, with their stamps, in the order in which they are given.

    Args:
        asked: the files, the least important first: as many as fit are read, from the end.
        known: what this returned before; a file that has not changed since is not read again.
        take: returns what is kept of a file.
    """
    kept: dict[Key, tuple[Stamp, T]] = {}
    left = runs.MOST_EPISODE_BYTES
    for run, file in reversed(asked[-MOST_READ:]):
        key, stamp = key_of(run, file), run.episode_stamp(file)
        left -= stamp[1]
        if kept and left < 0:
            break  # the last one is read in any case, as far as it fits
        before = known.get(key)
        kept[key] = before if before and before[0] == stamp else (stamp, take(file, run.read_episodes(file)))
    return dict(reversed(kept.items()))


def left_out_text(count: int) -> str:
    """Return what a page says of files that were not read; nothing where there are none."""
    size = runs.MOST_EPISODE_BYTES >> 20
    return f"{count} older files are not read, beyond {MOST_READ} files or {size} MB at once" if count else ""
