"""The pictures of a stored episode: those that were kept with it, or of the episode played again.

A run keeps the pictures of some episodes only. Environments are deterministic: the same seed, options and
actions give the same episode, so the others' are made anew, and held to what was stored: where a task or a
text differs, the environment has changed since, and the pictures after that are left out.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import gymnasium as gym
import numpy as np

from pixelis.agents.episode_files.stored import StoredEpisode
from pixelis.envs.registration import check_env_id
from pixelis.errors import PixelisError, RecordingError
from pixelis.files import one_line
from pixelis.rewards.terms.traits import RewardTraits
from pixelis.user_code import RAISED, described
from pixelis.wrappers.recording.images import FOLDER, ImageFolder
from pixelis.wrappers.scoring.traits import traits_of

NOT_KEPT = "the turns were not kept (a file of an older version, or an agent without language)"


@dataclass(frozen=True)
class Pictures:
    """The pictures of an episode.

    Attributes:
        frames: uint8 [H, W, 3] before the first turn and after each; None where there is none.
        problem: why some are missing, None where none is, or where the environment draws nothing.
    """

    frames: tuple[np.ndarray | None, ...] = ()
    problem: str | None = None

    def at(self, place: int) -> np.ndarray | None:
        """Return the picture before the first turn (0), or after the n-th; None where there is none."""
        return self.frames[place] if place < len(self.frames) else None


@dataclass
class Stage:
    """Plays stored episodes again, those of one environment on one env.

    Attributes:
        env_id: what is played where an episode does not say.
        env_kwargs: the env's keywords where an episode has not its own.
        options: what is given to ``reset`` where an episode does not say.
    """

    env_id: str | None = None
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    _env: gym.Env[Any, Any] | None = field(default=None, init=False)
    _made: tuple[str, str] | None = field(default=None, init=False)
    _failed: dict[tuple[str, str], str] = field(default_factory=dict, init=False)

    @classmethod
    def of_run(cls, settings: Mapping[str, Any]) -> Stage:
        """Return the stage of a run with these settings (its ``config.yaml``)."""
        kwargs, difficulty = settings.get("env_kwargs"), settings.get("difficulty")
        name = settings.get("env")
        return cls(
            name if isinstance(name, str) else None,
            dict(kwargs) if isinstance(kwargs, dict) else {},
            {} if difficulty is None else {"difficulty": difficulty},
        )

    def pictures(self, episode: StoredEpisode) -> Pictures:
        """Return an episode's pictures: those that were kept if there are any, else of playing it again."""
        if any(episode.pictures):
            return _kept(episode)
        if episode.turns is None:
            return Pictures(problem=f"no pictures: {NOT_KEPT}")
        if episode.seed is None:
            return Pictures(problem="no pictures: the episode had no seed, so it cannot be played again")
        try:
            env = self._open(episode)
        except PixelisError as error:
            return Pictures(problem=f"no pictures: {one_line(error)}")
        return _played(env, episode, self._options(episode))

    def traits(self) -> RewardTraits:
        """Return what the environment says of its tools.

        Raises:
            PixelisError: it cannot be made.
        """
        return traits_of(self._open(StoredEpisode(Path(), 0)))

    def close(self) -> None:
        """Close the env."""
        if self._env is not None:
            with contextlib.suppress(Exception):  # what was played is kept whatever it says
                self._env.close()
        self._env = self._made = None

    def __enter__(self) -> Stage:
        """Return itself; the end of the block closes the env."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the env."""
        self.close()

    # ------------------------------------------------------------------ private

    def _options(self, episode: StoredEpisode) -> dict[str, Any]:
        if episode.options is not None:
            return dict(episode.options)
        split = episode.task.get("split")
        return {**self.options, **({"split": split} if isinstance(split, str) else {})}

    def _open(self, episode: StoredEpisode) -> gym.Env[Any, Any]:
        """Return an env that draws, if the environment can.

        Raises:
            PixelisError: it cannot be made; told without trying for every further episode.
        """
        name = self.env_id or episode.env_id
        if name is None:
            raise PixelisError("neither the episode nor its run says which environment it was")
        kwargs = self.env_kwargs if episode.env_kwargs is None else episode.env_kwargs
        asked = (name, repr(sorted(kwargs.items())))
        if asked in self._failed:
            raise PixelisError(self._failed[asked])
        if self._env is None or self._made != asked:
            self.close()
            try:
                self._env, self._made = _drawing(name, kwargs), asked
            except RAISED as error:
                said = str(error) if isinstance(error, PixelisError) else described(error)
                self._failed[asked] = f"{name} cannot be made here: {said}"
                raise PixelisError(self._failed[asked]) from error
        return self._env


def _drawing(name: str, kwargs: Mapping[str, Any]) -> gym.Env[Any, Any]:
    env: gym.Env[Any, Any] = gym.make(check_env_id(name), disable_env_checker=True, **kwargs)
    if "rgb_array" not in env.metadata.get("render_modes", ()):
        return env
    env.close()
    return gym.make(name, disable_env_checker=True, **{**kwargs, "render_mode": "rgb_array"})


def _played(env: gym.Env[Any, Any], episode: StoredEpisode, options: dict[str, Any]) -> Pictures:
    frames: list[np.ndarray | None] = []
    turn = "the first look"
    try:
        observation, info = env.reset(seed=episode.seed, options=options or None)
        if (difference := _other_task(episode, observation, info)) is not None:
            return Pictures(problem=f"no pictures: {difference}")
        frames.append(_picture(env, observation))
        for number, each in enumerate(episode.turns or (), start=1):
            turn = f"turn {number}"
            if each.heard is None and each.reward is None:
                break  # the env failed here
            observation, *_ = env.step(each.action)
            if each.heard is not None and observation.get("text") != each.heard:
                told = f"{turn}: played again, the environment answers something else than was stored"
                return Pictures(tuple(frames), f"pictures end before {told}")
            frames.append(_picture(env, observation))
    except RAISED as error:
        return Pictures(tuple(frames), f"pictures end at {turn}: played again, {described(error)}")
    return Pictures(tuple(frames))


def _other_task(episode: StoredEpisode, observation: Any, info: Any) -> str | None:
    now, then = (info.get("task") or {}).get("hash"), episode.task.get("hash")
    if then is not None and now != then:
        return "the seed gives another task now than the one that was played"
    if episode.asked is not None and observation.get("text") != episode.asked:
        return "played again, the first observation is another than was stored"
    return None


def _picture(env: gym.Env[Any, Any], observation: Mapping[str, Any]) -> np.ndarray | None:
    """Return what the env draws, else what it shows the agent."""
    drawn: Any = env.render() if env.render_mode == "rgb_array" else None
    found = observation.get("image") if drawn is None else drawn
    if not isinstance(found, np.ndarray) or found.dtype != np.uint8 or found.shape[2:] != (3,):
        return None
    return found.copy()


def _kept(episode: StoredEpisode) -> Pictures:
    folder = ImageFolder(episode.path.parent / FOLDER)
    frames: list[np.ndarray | None] = []
    problem = None
    for about in episode.pictures:
        frame = None
        if about is not None:
            try:
                found = folder.load(about)
                frame = np.repeat(found, 3, axis=2) if found.shape[2] == 1 else found[:, :, :3]
            except (RecordingError, LookupError, TypeError) as error:
                problem = problem or f"pictures are missing: {one_line(error)}"
        frames.append(frame)
    return Pictures(tuple(frames), problem)
