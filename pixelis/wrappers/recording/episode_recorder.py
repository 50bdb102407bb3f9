"""What the recorder of one env and that of a vector share: which episodes, and where they go."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pixelis.errors import ConfigError, shown
from pixelis.wrappers.recording.files import TrajectoryFile
from pixelis.wrappers.recording.images import FOLDER, ImageFolder
from pixelis.wrappers.recording.rows import EpisodeRows
from pixelis.wrappers.recording.trajectory import FORMAT, VERSION, current_versions
from pixelis.wrappers.recording.values import encode


class Draft:
    """An episode that is being played: the text of its line so far, so that nothing in it can change.

    Attributes:
        episode: its number.
    """

    def __init__(self, episode: int, head: Mapping[str, Any], rows: EpisodeRows) -> None:
        self.episode = episode
        self._head, self._rows = head, rows
        self._reset = ""
        self._steps: list[str] = []
        self._total = 0.0

    def begin(self, start: Mapping[str, Any], observation: Any, info: Mapping[str, Any]) -> None:
        """Note what ``reset`` was given and what it returned.

        Raises:
            OutputError: a picture cannot be written.
        """
        self._reset = _dumps({**start, **self._rows.reset(observation, info)})

    def add(self, action: Any, *result: Any) -> None:
        """Note a step: the encoded action and what ``step`` returned for it.

        Raises:
            OutputError: a picture cannot be written.
        """
        row = self._rows.step(*result)
        self._steps.append(_dumps({"action": action, **row}))
        self._total += float(result[1])

    def __len__(self) -> int:
        """Return the number of steps."""
        return len(self._steps)

    def line(self, finished: bool) -> bytes:
        """Return the episode's line."""
        tail = {"length": len(self._steps), "return": encode(self._total), "finished": finished}
        head = _dumps({**self._head, **tail})
        text = f'{head[:-1]},"reset":{self._reset},"steps":[{",".join(self._steps)}]}}\n'
        return text.encode("utf-8", "backslashreplace")  # an unpaired surrogate as JSON's own escape


class EpisodeRecorder:
    """Counts episodes, starts drafts and writes them.

    Args:
        folder: where recordings go.
        name: how their file names begin.
        images: also write the pictures, to ``images/`` in the folder.
        every: the first of so many episodes is recorded.
        max_bytes: size at which a new file is begun, or None.

    Raises:
        ConfigError: a setting of the wrong type or size.
    """

    def __init__(
        self, folder: str | Path, name: str, images: bool, every: int, max_bytes: int | None
    ) -> None:
        if not isinstance(folder, (str, Path)) or not str(folder):
            raise ConfigError(f"RecordTrajectory: folder must be the name of a folder, got {shown(folder)}")
        if not isinstance(images, bool):
            raise ConfigError(f"RecordTrajectory: images must be True or False, got {shown(images)}")
        _check_count("every", every)
        if max_bytes is not None:
            _check_count("max_bytes", max_bytes)
        self._file = TrajectoryFile(Path(folder), name, max_bytes)
        self._images = ImageFolder(Path(folder) / FOLDER) if images else None
        self._every, self._episodes = every, 0
        self._versions = current_versions()

    def draft(self, env: Mapping[str, Any], lane: int = 0) -> Draft | None:
        """Count an episode that begins; return its draft, or None where it is not recorded.

        Raises:
            OutputError: no file can be made.
        """
        episode, self._episodes = self._episodes, self._episodes + 1
        if episode % self._every:
            return None
        head = {
            "format": FORMAT,
            "version": VERSION,
            "versions": self._versions,
            "env": env,
            "recorder": self._file.open(),
            "episode": episode,
            "lane": lane,
        }
        return Draft(episode, head, EpisodeRows(self._images.save if self._images else None))

    def write(self, draft: Draft | None, *, finished: bool) -> None:
        """Append an episode's line; one without steps is left out.

        Raises:
            OutputError: it cannot be written; the earlier lines are intact.
        """
        if draft is not None and len(draft):
            self._file.append(draft.line(finished))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def start_of(
    seed: int | None, options: Any, rng: Mapping[str, Any] | None = None, follows: int | None = None
) -> dict[str, Any]:
    """Return how an episode begins, as `pixelis.wrappers.recording.trajectory.Start` describes it."""
    return {"seed": encode(seed), "options": encode(options), "rng": rng, "follows": follows}


def _check_count(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigError(f"RecordTrajectory: {name} must be an integer of at least 1, got {shown(value)}")


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
