"""The vector twin of ``RecordTrajectory``: the episodes of a whole vector env in one file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import iterate

from pixelis.errors import ConfigError, OutputError
from pixelis.wrappers.recording.environments import describe_lanes
from pixelis.wrappers.recording.episode_recorder import Draft, EpisodeRecorder, start_of
from pixelis.wrappers.recording.rows import as_batched, lane_info, rng_state
from pixelis.wrappers.recording.values import encode
from pixelis.wrappers.scoring.traits import traits_of
from pixelis.wrappers.vector.base import AnyVectorWrapper

_RESET_MASK = "reset_mask"


class RecordTrajectory(AnyVectorWrapper):
    """The twin of ``pixelis.wrappers.RecordTrajectory``: one line per episode of each env, all in one file.

    Use it on top of vector reward wrappers, whose terms no single env sees; else a recorder on each env does
    the same. ``lane`` in a line says which env of the vector played it.

    Autoreset modes: with ``NEXT_STEP`` and ``DISABLED`` an episode without a seed is recorded with the state
    of its env's ``np_random`` (which costs an exchange with the other processes of an ``AsyncVectorEnv`` in
    the steps that reset an env). With ``SAME_STEP`` the vector resets its envs where no wrapper can look, and
    an episode is recorded as the one that follows the one before: it can be replayed after that one.

    Args:
        env: the vector env.
        folder, images, every, max_bytes: as in the twin; ``every`` counts the episodes of all envs.

    Raises:
        ConfigError: a setting of the wrong type or size; ``every`` above 1 with ``SAME_STEP``.
        OutputError: from ``reset``, ``step`` or ``close``, when something cannot be written.
    """

    reward_role = "recorder"

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        folder: str | Path,
        *,
        images: bool = False,
        every: int = 1,
        max_bytes: int | None = None,
    ) -> None:
        super().__init__(env)
        # First: Gymnasium before 1.4 closes also what was refused here, when it is let go of.
        self._drafts: list[Draft | None] = [None] * env.num_envs
        self._mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        traits = traits_of(env).to_json()
        self._lanes = [{**lane, "traits": traits} for lane in describe_lanes(env)]
        self._recorder = EpisodeRecorder(
            folder, str(self._lanes[0]["id"] or "vector").rpartition("/")[2], images, every, max_bytes
        )
        if self._mode == AutoresetMode.SAME_STEP and every != 1:
            raise ConfigError(
                f"RecordTrajectory: every must be 1 with autoreset mode SAME_STEP, got {every}: an episode "
                "can only be replayed after the one before it; use another mode, or a recorder on each env"
            )
        self._ended = [False] * env.num_envs

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Reset the envs, or those of ``options["reset_mask"]``, and begin their episodes.

        Raises:
            OutputError: something cannot be written.
        """
        mask = (options or {}).get(_RESET_MASK)
        lanes = range(self.num_envs) if mask is None else [int(lane) for lane in np.flatnonzero(mask)]
        given = {name: value for name, value in (options or {}).items() if name != _RESET_MASK}
        failures = _Failures()
        for lane in lanes:
            with failures:
                self._write(lane, finished=False)
        starts = self._starts(lanes, _seeds(seed, self.num_envs), given or None)
        observations, infos = self.env.reset(seed=seed, options=options)
        rows = list(iterate(self.observation_space, observations))
        for lane in lanes:
            with failures:
                self._begin(lane, starts[lane], rows[lane], lane_info(infos, lane))
        failures.tell()
        return observations, infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step the envs; write the episodes that end.

        Raises:
            OutputError: something cannot be written.
        """
        noted = [encode(action) for action in iterate(self.env.action_space, actions)]
        resetting = [lane for lane, over in enumerate(self._ended) if over]
        starts = self._starts(resetting, [None] * self.num_envs, None)
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        rows = list(iterate(self.observation_space, observations))
        failures = _Failures()
        for lane in range(self.num_envs):
            result = (rewards[lane], bool(terminations[lane]), bool(truncations[lane]))
            with failures:
                if lane in starts:
                    self._begin(lane, starts[lane], rows[lane], lane_info(infos, lane))
                elif self._mode == AutoresetMode.SAME_STEP and (result[1] or result[2]):
                    self._end_and_begin(lane, noted[lane], result, rows[lane], infos)
                else:
                    self._add(lane, noted[lane], rows[lane], result, lane_info(infos, lane))
        failures.tell()
        return observations, rewards, terminations, truncations, infos

    def close(self, **kwargs: Any) -> None:
        """Write what was cut off, and close the file and the envs.

        Raises:
            OutputError: it cannot be written.
        """
        failures = _Failures()
        for lane in range(self.num_envs):
            with failures:
                self._write(lane, finished=False)
        self._recorder.close()
        self.env.close(**kwargs)
        failures.tell()

    # ------------------------------------------------------------------ private

    def _starts(
        self, lanes: Iterable[int], seeds: Sequence[int | None], options: Any
    ) -> dict[int, Mapping[str, Any]]:
        """Return how the episodes of some lanes will begin; asked before they do."""
        lanes = list(lanes)
        states: Any = ()
        if any(seeds[lane] is None for lane in lanes):
            states = self.env.unwrapped.np_random
        return {
            lane: start_of(
                seeds[lane],
                options,
                rng_state(states[lane]) if seeds[lane] is None and isinstance(states, tuple) else None,
            )
            for lane in lanes
        }

    def _begin(self, lane: int, start: Mapping[str, Any], observation: Any, info: Mapping[str, Any]) -> None:
        self._ended[lane] = False
        draft = self._recorder.draft(self._lanes[lane], lane)
        if draft is not None:
            draft.begin(start, observation, info)
        self._drafts[lane] = draft

    def _add(self, lane: int, action: Any, observation: Any, result: Any, info: Mapping[str, Any]) -> None:
        draft, self._drafts[lane] = self._drafts[lane], None  # given up when its row cannot be written
        if draft is not None:
            draft.add(action, observation, *result, info)
        self._drafts[lane] = draft
        if result[1] or result[2]:
            self._ended[lane] = self._mode == AutoresetMode.NEXT_STEP
            self._write(lane, finished=True)

    def _end_and_begin(
        self, lane: int, action: Any, result: Any, observation: Any, infos: Mapping[str, Any]
    ) -> None:
        """Note the last step of an episode and the first observation of the next, which came together."""
        before = self._drafts[lane]
        final = as_batched(self.single_observation_space, infos["final_obs"][lane])  # it never was in a batch
        self._add(lane, action, final, result, lane_info(infos["final_info"], lane))
        start = start_of(None, None, follows=before.episode if before is not None else None)
        info = {
            name: value for name, value in lane_info(infos, lane).items() if not name.startswith("final_")
        }
        self._begin(lane, start, observation, info)

    def _write(self, lane: int, *, finished: bool) -> None:
        draft, self._drafts[lane] = self._drafts[lane], None
        self._recorder.write(draft, finished=finished)


class _Failures:
    """Keeps an `OutputError` until every lane has had its turn: none may miss a step for another's sake."""

    def __init__(self) -> None:
        self._first: OutputError | None = None

    def __enter__(self) -> None:
        """Begin a lane's turn."""

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        """Keep the first error."""
        if isinstance(error, OutputError):
            self._first = self._first or error
            return True
        return False

    def tell(self) -> None:
        """Raise what was kept."""
        if self._first is not None:
            raise self._first


def _seeds(seed: Any, count: int) -> list[int | None]:
    """Return the seed of each env, as Gymnasium's vector envs derive them."""
    if seed is None:
        return [None] * count
    if isinstance(seed, (int, np.integer)):
        return [int(seed) + lane for lane in range(count)]
    return list(seed)
