"""Files of episodes: finding them in what a person names, and reading them whatever state they are in.

Nothing is written, and nothing but regular files is opened. A run may go on, be cut off or be taken away
meanwhile: what cannot be read becomes a line of ``problems``, and the rest is returned.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from pixelis.agents.episode_files.recorded import episode_of_line
from pixelis.agents.episode_files.stored import StoredEpisode, episode_of_row
from pixelis.errors import RecordingError
from pixelis.files import one_line
from pixelis.wrappers.recording.trajectory import FORMAT

LONGEST_LINE = 64 * 2**20
"""Bytes of a line; a longer one is left out."""
_STEP = re.compile(r"(evaluation-)?step-(\d{1,12})")
_PHASES = ("baselines", "before", "after")


@dataclass(frozen=True)
class EpisodeFile:
    """A file of episodes.

    Attributes:
        path: the file.
        name: what it is called in its run: ``step-00000010``, ``evaluation-before``; else the file's name.
        step: the training step after which its episodes were played, None where the name does not say.
        evaluation: whether they were played to measure, not to learn from.
    """

    path: Path
    name: str
    step: int | None
    evaluation: bool

    @property
    def run(self) -> Path | None:
        """The folder of the run that wrote it, None for a file that is not in a run."""
        inside = (
            self.path.parent.name == "trajectories" and (self.path.parent.parent / "config.yaml").exists()
        )
        return self.path.parent.parent if inside else None

    @property
    def order(self) -> tuple[int, int, bool, str]:
        """When it was played: before the training, its steps, after it."""
        phase = self.name.removeprefix("evaluation-")
        if phase in _PHASES:
            return (2 if phase == "after" else 0), _PHASES.index(phase), True, self.name
        return 1, self.step or 0, self.evaluation, self.name


@dataclass
class Read:
    """What a file holds.

    Attributes:
        episodes: those that could be read, in order.
        problems: one sentence for each thing that could not.
    """

    episodes: list[StoredEpisode] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def find_files(place: str | Path) -> list[EpisodeFile]:
    """Return the files of episodes of a run folder, of a folder of recordings, or the one file that is named.

    Those of a run come in the order in which they were played.

    Raises:
        RecordingError: there is nothing such at ``place``.
    """
    path = Path(place)
    if not os.path.exists(path):  # which says so of a name that is too long, where a Path raises
        raise RecordingError(
            f"no run, file or folder at {str(place)!r}; give the folder that a training wrote"
        )
    if path.is_file():
        return [described(path)]
    if not path.is_dir():
        raise RecordingError(f"{str(place)!r} is neither a folder nor a file of episodes")
    inside = path / "trajectories"
    folder = inside if inside.is_dir() else path
    found = [described(each) for each in folder.glob("*.jsonl") if each.is_file()]
    found = [each for each in found if each.path.name != "metrics.jsonl"]
    if not found:
        raise RecordingError(f"{str(place)!r} {_why_empty(path)}")
    return sorted(found, key=lambda file: file.order)


def described(path: Path) -> EpisodeFile:
    """Return what the name of a file of episodes says of it."""
    name = path.name.removesuffix(".jsonl")
    match = _STEP.fullmatch(name)
    step = int(match[2]) if match else None
    evaluation = name.startswith("evaluation-") or name.endswith(".transcripts")
    return EpisodeFile(path, name, step, evaluation)


def read_file(
    file: EpisodeFile, opened: Callable[[], BinaryIO] | None = None, most: int | None = None
) -> Read:
    """Return the episodes of a file, and what of it could not be read.

    Args:
        file: what is read.
        opened: opens it; by its path if not given.
        most: bytes of it that are read, what is beyond is told; None for all.
    """
    read = Read()
    not_numbers = 0
    try:
        with opened() if opened is not None else file.path.open("rb") as lines:
            for number, line in _lines(lines, most):
                if most is not None and lines.tell() > most:
                    read.problems.append(f"{file.path}: what is beyond {most:,} bytes is left out")
                    break
                if line is None:
                    read.problems.append(
                        f"{file.path}, line {number} is longer than {LONGEST_LINE} bytes; left out"
                    )
                    continue
                try:
                    episode = _parsed(line, file.path, number)
                except RecordingError as error:
                    read.problems.append(str(error))
                    continue
                not_numbers += episode.reward is None
                read.episodes.append(episode)
    except OSError as error:
        read.problems.append(f"{file.path} could not be read to its end: {error.strerror or one_line(error)}")
    if not_numbers:
        read.problems.append(f"{file.path}: the reward of {not_numbers} episodes is no finite number")
    return read


def row_at(lines: BinaryIO, number: int) -> Mapping[str, Any] | None:
    """Return the object that a line of a file holds, from 1; None where there is none."""
    line = next((line for place, line in _lines(lines) if place == number), None)
    try:
        row = None if line is None else json.loads(line.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


# ---------------------------------------------------------------------- private


def _why_empty(path: Path) -> str:
    if not (path / "config.yaml").is_file():
        return "is no run (it has neither config.yaml nor trajectories/*.jsonl) and holds no recording"
    return (
        "is a run without episodes: it has not come so far or was told to play none; --eval-episodes N plays "
        "before and after training, --trajectories-every N keeps a group of the training every N steps"
    )


def _lines(file: BinaryIO, most: int | None = None) -> Iterator[tuple[int, bytes | None]]:
    """Yield number and content of each line that is not blank; None for one that is too long.

    Of one that goes on beyond ``most`` bytes of the file the rest is not read.
    """
    number = 0
    while line := file.readline(LONGEST_LINE):
        number += 1
        if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            while (rest := file.readline(LONGEST_LINE)) and not rest.endswith(b"\n"):
                if most is not None and file.tell() > most:
                    break
            yield number, None
        elif line.strip():
            yield number, line


def _parsed(line: bytes, path: Path, number: int) -> StoredEpisode:
    """Return the episode of a line.

    Raises:
        RecordingError: it is none.
    """
    where = f"{path}, line {number}"
    try:
        row: Any = json.loads(line.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        half = "" if line.endswith(b"\n") else ", half a line: the writer was stopped, or writes just now"
        raise RecordingError(f"{where} is not JSON ({one_line(error)}){half}; left out") from None
    if not isinstance(row, dict):
        raise RecordingError(
            f"{where} is no episode: expected an object, got a {type(row).__name__}; left out"
        )
    if row.get("format") == FORMAT:
        return episode_of_line(line, path, number)
    if not {"seed", "text", "turns", "asked", "reward"} & set(row):
        raise RecordingError(f"{where} is no episode: it has neither seed, text nor reward; left out")
    return episode_of_row(row, path, number)
