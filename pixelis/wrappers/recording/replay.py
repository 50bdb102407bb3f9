"""Playing recorded episodes again: the same env, the same start, the same actions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from pixelis.errors import RecordingError
from pixelis.wrappers.recording.environments import make_env
from pixelis.wrappers.recording.rows import REWARD_PREFIX, EpisodeRows, as_batched
from pixelis.wrappers.recording.trajectory import Trajectory, current_versions
from pixelis.wrappers.recording.values import decode, opaque_type, tag_of

MakeEnv = Callable[[Mapping[str, Any]], gym.Env[Any, Any]]
Keep = Callable[[str, np.ndarray], None]
_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
_EXCERPT = 60  # characters


@dataclass(frozen=True)
class Difference:
    """The first place where a replay was not what was recorded.

    Attributes:
        episode: the recorder's number of the episode.
        step: 0 for what ``reset`` returned, n for what the n-th ``step`` returned.
        field: path in the row, such as ``observation.text``; ``reset()`` or ``step()`` for an exception.
        expected: what was recorded, shortened.
        got: what came, shortened.
    """

    episode: int
    step: int
    field: str
    expected: str
    got: str

    def __str__(self) -> str:
        """Return the difference as one line."""
        return (
            f"episode {self.episode}, step {self.step}, {self.field}: "
            f"expected {self.expected}, got {self.got}"
        )


class Replayer:
    """Plays recorded episodes again, those of one recorder and lane on one env, in the order they come.

    What an env or a wrapper carries from one episode to the next is thus what it was, as long as every
    episode was recorded.

    Args:
        make: makes an env from a recorded description.
    """

    def __init__(self, make: MakeEnv = make_env) -> None:
        self._make = make
        self._recorder = ""
        self._replay_envs: dict[int, _ReplayEnv] = {}

    def check(self, trajectory: Trajectory) -> Difference | None:
        """Play an episode again and return the first difference, None when all is the same, bit for bit.

        Compared are the observation, the reward, ``terminated``, ``truncated`` and the kept parts of
        ``info`` of every step. See `rewards_compared` for the exception.

        Raises:
            UnknownEnvError, RecordingError: the env cannot be made, or the episode's start not be repeated.
        """
        recorded = [trajectory.start.row, *(step.row for step in trajectory.steps)]
        rewards = rewards_compared(trajectory)
        number = -1
        try:
            for number, row in enumerate(self.rows(trajectory)):
                found = _first_difference(_compared(recorded[number], rewards), _compared(row, rewards))
                if found is not None:
                    return Difference(trajectory.episode, number, *found)
        except _CallFailedError as failure:
            return Difference(trajectory.episode, number + 1, failure.call, "a result", str(failure))
        return None

    def rows(self, trajectory: Trajectory, keep: Keep | None = None) -> Iterator[dict[str, Any]]:
        """Yield the rows of an episode played again: that of ``reset``, then one a step.

        Args:
            trajectory: the recorded episode.
            keep: called with the digest and the array of everything that has one.

        Raises:
            UnknownEnvError, RecordingError: as in `check`.
        """
        replay_env = self._replay_env(trajectory)
        before, replay_env.played = replay_env.played, None
        rows = EpisodeRows(keep)
        yield rows.reset(*replay_env.begin(trajectory, before))
        for step in trajectory.steps:
            observation, *rest = replay_env.call("step()", replay_env.env.step, decode(step.action))
            yield rows.step(replay_env.as_recorded(observation, trajectory), *rest)
        replay_env.played = trajectory.episode

    def arrays(self, trajectory: Trajectory) -> dict[str, np.ndarray]:
        """Play an episode again; return the arrays that were recorded by their digest alone, by it.

        Raises:
            UnknownEnvError, RecordingError: as in `check`, or the env raises.
        """
        found: dict[str, np.ndarray] = {}
        try:
            for _ in self.rows(trajectory, lambda sha256, array: found.update({sha256: array.copy()})):
                pass
        except _CallFailedError as failure:
            raise RecordingError(
                f"{trajectory.path}, line {trajectory.line}: played again, the env's {failure.call} raised "
                f"{failure}; replay the recording to see where it differs"
            ) from failure
        return found

    def close(self) -> None:
        """Close the envs."""
        for replay_env in self._replay_envs.values():
            replay_env.env.close()
        self._replay_envs.clear()

    def __enter__(self) -> Replayer:
        """Return itself; the end of the block closes the envs."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the envs."""
        self.close()

    def _replay_env(self, trajectory: Trajectory) -> _ReplayEnv:
        if trajectory.recorder != self._recorder:
            self.close()
            self._recorder = trajectory.recorder
        if trajectory.lane not in self._replay_envs:
            self._replay_envs[trajectory.lane] = _ReplayEnv(self._make(trajectory.env))
        return self._replay_envs[trajectory.lane]


def rewards_compared(trajectory: Trajectory) -> bool:
    """Return whether a replay's rewards can be compared with the recorded ones.

    They cannot where vector wrappers lay below the recorder: these may have changed the rewards, and one env
    alone does not have them.
    """
    return not (trajectory.env.get("vector") or {}).get("wrappers")


def version_changes(trajectory: Trajectory) -> str:
    """Return how the packages differ from those of the recording, such as ``numpy 1.26.4 → 2.1.0``, or ""."""
    now = current_versions()
    changed = [
        f"{name} {then} → {now[name]}"
        for name, then in trajectory.versions.items()
        if now.get(name, then) != then
    ]
    return ", ".join(changed)


# ---------------------------------------------------------------------- private


class _CallFailedError(Exception):
    """``reset`` or ``step`` of the env raised."""

    def __init__(self, call: str, error: Exception) -> None:
        super().__init__(f"{type(error).__name__}: {_shorten(str(error))}")
        self.call = call


class _ReplayEnv:
    """An env, and which of the recorder's episodes it has just played to the end."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        self.env = env
        self.played: int | None = None

    def begin(self, trajectory: Trajectory, before: int | None) -> tuple[Any, dict[str, Any]]:
        """Reset the env as the episode says."""
        start = trajectory.start
        where = f"{trajectory.path}, line {trajectory.line} (episode {trajectory.episode})"
        if start.seed is None and start.follows is not None:
            if before != start.follows:
                raise RecordingError(
                    f"{where} can only be replayed after episode {start.follows} of the same recorder; "
                    "replay the whole recording"
                )
        elif start.seed is None:
            if start.rng is None:
                raise RecordingError(f"{where} had no seed, and its env's random state could not be read")
            self.env.unwrapped.np_random = _generator(start.rng, where)
        options = decode(start.options)
        observation, info = self.call("reset()", self.env.reset, seed=start.seed, options=options)
        return self.as_recorded(observation, trajectory), info

    def as_recorded(self, observation: Any, trajectory: Trajectory) -> Any:
        """Return an observation as it came out of a vector, whose arrays have the dtypes of the space."""
        if not trajectory.env.get("vector"):
            return observation
        return as_batched(self.env.observation_space, observation)

    @staticmethod
    def call(name: str, method: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        """Call the env; what it raises is a difference, not an error of the replay."""
        try:
            return method(*arguments, **keywords)
        except Exception as error:
            raise _CallFailedError(name, error) from error


def _generator(state: Mapping[str, Any], where: str) -> np.random.Generator:
    try:
        values = decode(dict(state))
        name = values["bit_generator"]
        if name not in _GENERATORS:
            raise ValueError(name)
        bits = getattr(np.random, name)()
        bits.state = values
    except (KeyError, TypeError, ValueError) as error:
        raise RecordingError(f"{where}: its random state is damaged ({error}); record again") from error
    return np.random.Generator(bits)


def _compared(row: Mapping[str, Any], rewards: bool) -> dict[str, Any]:
    if rewards:
        return dict(row)
    info = {name: value for name, value in row["info"].items() if not name.startswith(REWARD_PREFIX)}
    return {**{name: value for name, value in row.items() if name != "reward"}, "info": info}


def _first_difference(expected: Any, got: Any, path: str = "") -> tuple[str, str, str] | None:
    """Return path, expected and got of the first leaf that differs; what has a tag is a leaf."""
    if tag_of(expected) is None and isinstance(expected, dict) and isinstance(got, dict):
        for name in (*expected, *(name for name in got if name not in expected)):
            inner = f"{path}.{name}" if path else name
            if name not in expected or name not in got:
                left, right = (_shown(side[name]) if name in side else "nothing" for side in (expected, got))
                return inner, left, right
            found = _first_difference(expected[name], got[name], inner)
            if found is not None:
                return found
        return None
    if isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        pairs = enumerate(zip(expected, got, strict=True))
        return next(
            (found for index, pair in pairs if (found := _first_difference(*pair, f"{path}[{index}]"))), None
        )
    unwritten = opaque_type(expected)
    if unwritten:  # nobody knows whether two objects are the same that were not written out
        return path, f"a {unwritten}, which was not written out", _shown(got)
    if json.dumps(expected) == json.dumps(got):  # 1, 1.0 and True are different values
        return None
    return path, *_shown_apart(expected, got)


def _shown_apart(expected: Any, got: Any) -> tuple[str, str]:
    """Return two values, both shortened around the place where they begin to differ."""
    if isinstance(expected, str) and isinstance(got, str):
        same = next((n for n, (a, b) in enumerate(zip(expected, got, strict=False)) if a != b), None)
        start = max(0, (min(len(expected), len(got)) if same is None else same) - _EXCERPT // 2)
        return _excerpt(expected, start), _excerpt(got, start)
    return _shown(expected), _shown(got)


def _excerpt(text: str, start: int) -> str:
    cut = text[start : start + _EXCERPT]
    return repr(("…" if start else "") + cut + ("…" if start + _EXCERPT < len(text) else ""))


def _shown(value: Any) -> str:
    tag = tag_of(value)
    if tag in ("$image", "$digest"):
        content = value[tag]
        kind = "image" if tag == "$image" else "array"
        return f"{kind} {content.get('shape')} with SHA-256 {str(content.get('sha256'))[:12]}…"
    return _shorten(json.dumps(value, ensure_ascii=False))


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 2 * _EXCERPT else f"{text[: 2 * _EXCERPT]}…"
