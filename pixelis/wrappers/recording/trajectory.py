"""One recorded episode, as a line of JSON holds it."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

import pixelis
from pixelis.errors import RecordingError, shown
from pixelis.wrappers.recording.values import decode, tag_of

FORMAT = "pixelis-trajectory"
VERSION = 1
_NUMBER = (int, float)


@dataclass(frozen=True)
class Start:
    """How an episode began. One of ``seed``, ``rng`` and ``follows`` says it, the first that is not None.

    Attributes:
        seed: what ``reset`` was given.
        options: likewise, encoded.
        rng: where there was no seed, the state of the env's ``np_random`` just before ``reset``.
        follows: where the state could not be seen (a vector env that resets within a step), the number of the
            recorder's episode that the same env had played just before.
        row: ``observation`` and ``info`` that ``reset`` returned, encoded.
    """

    seed: int | None
    options: Any
    rng: Mapping[str, Any] | None
    follows: int | None
    row: Mapping[str, Any]


@dataclass(frozen=True)
class RecordedStep:
    """One step of a recorded episode.

    Attributes:
        action: the action, encoded.
        row: ``observation``, ``reward``, ``terminated``, ``truncated`` and ``info`` that came of it, encoded.
    """

    action: Any
    row: Mapping[str, Any]

    @property
    def reward(self) -> float:
        """The reward; it may be NaN or infinite, as the env gave it."""
        return float(decode(self.row["reward"]))

    @property
    def info(self) -> Mapping[str, Any]:
        """The parts of ``info`` that were kept."""
        return self.row["info"]


@dataclass(frozen=True)
class Trajectory:
    """One recorded episode.

    Attributes:
        versions: of pixelis, gymnasium, numpy and python when it was recorded.
        env: how the env was made, see `pixelis.wrappers.recording.environments`.
        recorder: a random name of the recorder; a (recorder, episode) pair is unique.
        episode: the recorder's number of the episode, from 0; numbers of episodes left out are missing.
        lane: which env of a vector, else 0.
        start: how it began.
        steps: what happened.
        finished: False where it was cut off by ``reset`` or ``close``.
        path: the file.
        line: the line in it, from 1.
    """

    versions: Mapping[str, str]
    env: Mapping[str, Any]
    recorder: str
    episode: int
    lane: int
    start: Start
    steps: tuple[RecordedStep, ...]
    finished: bool
    path: Path = field(default_factory=Path)
    line: int = 0

    @property
    def total_reward(self) -> float:
        """The sum of the rewards, not discounted."""
        return float(sum(step.reward for step in self.steps))

    @property
    def success(self) -> bool | None:
        """What the env said of the episode's success, None where it did not."""
        value = self.steps[-1].info.get("success") if self.steps else None
        return None if value is None else bool(value)


def current_versions() -> dict[str, str]:
    """Return the versions of what decides an episode."""
    return {
        "pixelis": pixelis.__version__,
        "gymnasium": gym.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def parse_line(text: bytes, path: Path, line: int) -> Trajectory:
    """Return the episode that a line holds.

    Raises:
        RecordingError: it is not JSON, of another format or version, or a field is missing or of the wrong
            type; with the file and the line.
    """
    where = f"{path}, line {line}"
    try:
        row = json.loads(text.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise RecordingError(f"{where} is not JSON: {error}; delete the line, or record again") from error
    if not isinstance(row, dict) or row.get("format") != FORMAT:
        raise RecordingError(
            f"{where} is no recorded episode: expected an object with format {shown(FORMAT)}; "
            "give a file that RecordTrajectory wrote"
        )
    if row.get("version") != VERSION:
        raise RecordingError(
            f"{where} has format version {shown(row.get('version'))}, this Pixelis reads version {VERSION}; "
            f"read it with the Pixelis that wrote it ({row.get('versions')})"
        )
    return _parse(row, where, path, line)


# ---------------------------------------------------------------------- private


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _parse(row: Mapping[str, Any], where: str, path: Path, line: int) -> Trajectory:
    reset = _get(row, "reset", dict, where)
    start = Start(
        seed=_optional(reset, "seed", int, f"{where}, reset"),
        options=reset.get("options"),
        rng=_optional(reset, "rng", dict, f"{where}, reset"),
        follows=_optional(reset, "follows", int, f"{where}, reset"),
        row={"observation": reset.get("observation"), "info": _get(reset, "info", dict, f"{where}, reset")},
    )
    steps = _get(row, "steps", list, where)
    return Trajectory(
        versions=_get(row, "versions", dict, where),
        env=_parse_env(_get(row, "env", dict, where), f"{where}, env"),
        recorder=_get(row, "recorder", str, where),
        episode=_get(row, "episode", int, where),
        lane=_get(row, "lane", int, where),
        start=start,
        steps=tuple(_parse_step(step, f"{where}, step {number}") for number, step in enumerate(steps)),
        finished=_get(row, "finished", bool, where),
        path=path,
        line=line,
    )


def _parse_env(env: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """Return an env's description, whose parts are what `environments` and the readers take them for."""
    for name, kind in {"id": str, "max_episode_steps": int, "obstacle": str, "vector": dict}.items():
        _optional(env, name, kind, where)
    kwargs = _get({"kwargs": {}, **env}, "kwargs", dict, where)
    if tag_of(kwargs) not in (None, "$dict"):
        raise RecordingError(f"{where}: kwargs must be keywords, got {str(kwargs)[:80]!r}; record again")
    for number, wrapper in enumerate(_get({"wrappers": [], **env}, "wrappers", list, where)):
        if not isinstance(wrapper, dict):
            raise RecordingError(
                f"{where}: wrapper {number} must be an object, got {str(wrapper)[:80]!r}; record again"
            )
    _get({"wrappers": [], **(env.get("vector") or {})}, "wrappers", list, f"{where}, vector")
    return env


def _parse_step(step: Any, where: str) -> RecordedStep:
    if not isinstance(step, dict) or "action" not in step or "observation" not in step:
        raise RecordingError(f"{where}: expected an object with action and observation; record again")
    if not isinstance(step.get("reward"), dict):
        _get(step, "reward", _NUMBER, where)
    return RecordedStep(
        step["action"],
        {
            "observation": step["observation"],
            "reward": step["reward"],
            "terminated": _get(step, "terminated", bool, where),
            "truncated": _get(step, "truncated", bool, where),
            "info": _get(step, "info", dict, where),
        },
    )


def _get(row: Mapping[str, Any], name: str, kind: Any, where: str) -> Any:
    value = row.get(name)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        wanted = "number" if kind is _NUMBER else kind.__name__
        raise RecordingError(
            f"{where}: {name} must be a {wanted}, got {str(value)[:80]!r}; the line is damaged, record again"
        )
    return value


def _optional(row: Mapping[str, Any], name: str, kind: Any, where: str) -> Any:
    return None if row.get(name) is None else _get(row, name, kind, where)
