"""``RecordTrajectory``: every episode as a line of JSON that can be replayed and scored again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs

from pixelis.wrappers.recording.environments import describe_spec
from pixelis.wrappers.recording.episode_recorder import Draft, EpisodeRecorder, start_of
from pixelis.wrappers.recording.rows import rng_state
from pixelis.wrappers.recording.values import encode
from pixelis.wrappers.scoring.traits import traits_of


class RecordTrajectory(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Writes one JSON line per episode to a file of its own; changes nothing that passes through it.

    A line holds the format's and the packages' versions, how the env was made (id, keywords, wrappers below
    this one), how the episode began, and of each step the action, what the env returned, and of ``info`` the
    task, tool calls, success, validity and everything whose name begins with ``reward_``. Text is written
    whole, pictures by hash, other arrays whole up to 1024 numbers and by hash above.

    The place in the stack decides what is recorded: on top, the shaped rewards and their terms; below the
    reward wrappers, those of the task. Works on any Gymnasium env, in any kind of vector (a file per env) and
    in ``additional_wrappers``.

    An episode that begins without a seed is recorded with the state of the env's ``np_random``. Drawing a
    seed and passing it on would be shorter, and would make a recorded run another run than one that is not.

    An episode that ``reset`` or ``close`` cuts off is written as unfinished; one without a step is left out.
    A process that is killed loses the episode it was in.

    Args:
        env: the env.
        folder: where the file goes; made when it is not there, shared with other recorders.
        images: also write the pictures, to ``folder/images/<sha256>.png``, each different one once.
        every: record the first of so many episodes.
        max_bytes: begin a new file when one has reached this size; None for one file.

    Raises:
        ConfigError: a setting of the wrong type or size.
        OutputError: from ``reset``, ``step`` or ``close``, when something cannot be written. The lines before
            are intact, the episode is not recorded, and the next one is tried again.
    """

    reward_role = "recorder"

    def __init__(
        self,
        env: gym.Env[Any, Any],
        folder: str | Path,
        *,
        images: bool = False,
        every: int = 1,
        max_bytes: int | None = None,
    ) -> None:
        RecordConstructorArgs.__init__(
            self, folder=str(folder), images=images, every=every, max_bytes=max_bytes
        )
        gym.Wrapper.__init__(self, env)
        self._env_description = {**describe_spec(env.spec), "traits": traits_of(env).to_json()}
        name = str(self._env_description["id"] or type(env.unwrapped).__name__)
        self._recorder = EpisodeRecorder(folder, name.rpartition("/")[2], images, every, max_bytes)
        self._draft: Draft | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the env and begin an episode.

        Raises:
            OutputError: the episode that this cuts off, or the file of the new one, cannot be written.
        """
        self._write(finished=False)
        draft = self._recorder.draft(self._env_description)
        start = {}
        if draft is not None:  # before reset, which changes the state and may change the options
            start = start_of(seed, options, rng_state(self.env.np_random) if seed is None else None)
        observation, info = self.env.reset(seed=seed, options=options)
        if draft is not None:
            draft.begin(start, observation, info)
        self._draft = draft
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step the env; at the end of an episode, write it.

        Raises:
            OutputError: it cannot be written.
        """
        draft, self._draft = self._draft, None  # an episode whose row cannot be written is given up
        noted = encode(action) if draft is not None else None
        try:
            result = self.env.step(action)
        except BaseException:
            self._draft = draft
            raise
        if draft is not None:
            draft.add(noted, *result)
        self._draft = draft
        if result[2] or result[3]:
            self._write(finished=True)
        return result  # type: ignore[return-value]

    def close(self) -> None:
        """Write what was cut off, and close the file and the env.

        Raises:
            OutputError: it cannot be written.
        """
        try:
            self._write(finished=False)
        finally:
            self._recorder.close()
            self.env.close()

    def _write(self, *, finished: bool) -> None:
        draft, self._draft = self._draft, None
        self._recorder.write(draft, finished=finished)
