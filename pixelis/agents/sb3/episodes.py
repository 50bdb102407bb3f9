"""Episodes on request in environments that reset by themselves, as stable-baselines3's vectors do."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from pixelis.agents.episodes.episode import Episode
from pixelis.agents.episodes.episode_runner import EpisodeRequest, EpisodeRunner
from pixelis.agents.sb3.library import VecEnv

RECORD, IDLE = "record", "idle"
Observations = dict[str, np.ndarray]


class RequestedEpisodes(gym.Wrapper[Observations, Any, Observations, Any]):
    """Plays the episodes it is asked for, or a stream of them, and hands out their records.

    After `plan` each ``reset`` begins the next request; when none is left the environment is idle: its
    steps do nothing, and their info says so. ``reset(seed=s)`` ends the plan and begins a stream of episodes
    whose seeds are drawn from a generator seeded with s.

    The last info of an episode has its ``record``, an `Episode`. The turn limit counts as a termination: the
    observation tells how many steps are left, so it is part of the task (Pardo et al. 2018, "Time limits in
    reinforcement learning", arXiv 1712.00378). What remains as truncation is an episode in which the
    environment failed, which a learner must not take for an outcome.

    Args:
        env: to play in.
        options: reset options of the stream's episodes.
    """

    def __init__(self, env: gym.Env[Any, Any], options: Mapping[str, Any]) -> None:
        super().__init__(env)
        self._options = dict(options)
        self._requests: deque[EpisodeRequest] = deque()
        self._rng: np.random.Generator | None = np.random.default_rng(0)
        self._runner: EpisodeRunner | None = None
        self._turns: list[str] = []

    def plan(self, requests: Sequence[EpisodeRequest]) -> None:
        """Set what the following resets begin; the stream ends."""
        self._requests, self._rng = deque(requests), None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Begin the next episode; ``options`` are not read, requests have their own."""
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        self._runner, self._turns = self._next(), []
        if self._runner is None:
            return self._nothing(), {IDLE: True}
        self._runner.reset()
        return self._seen(self._runner), {}

    def step(self, action: Any) -> tuple[Observations, float, bool, bool, dict[str, Any]]:
        """Play an action; rewards are the environment's."""
        runner = self._runner
        if runner is None:
            return self._nothing(), 0.0, False, False, {IDLE: True}
        if not runner.done:
            runner.step(action)
            self._turns.append(str(runner.info.get("turn", "")))
        episode = runner.episode
        if not runner.done:
            return self._seen(runner), episode.turn_rewards[-1], False, False, {}
        reward = episode.turn_rewards[-1] if episode.turn_rewards and episode.valid_for_training else 0.0
        episode.info["turns"] = self._turns
        failed = not episode.valid_for_training
        return self._seen(runner), reward, not failed, failed, {RECORD: episode}

    # ------------------------------------------------------------------ private

    def _next(self) -> EpisodeRunner | None:
        if self._rng is not None:
            request = EpisodeRequest(int(self._rng.integers(2**31)), options=self._options)
        elif self._requests:
            request = self._requests.popleft()
        else:
            return None
        return EpisodeRunner(self.env, request, reads_text=False)

    def _seen(self, runner: EpisodeRunner) -> Observations:
        return self._nothing() if runner.observation is None else runner.observation

    def _nothing(self) -> Observations:
        spaces: Any = self.env.observation_space
        return {name: np.zeros(space.shape, space.dtype) for name, space in spaces.spaces.items()}


@dataclass(frozen=True)
class PlayedStep:
    """One step of one environment of a vector.

    Attributes:
        place: which environment.
        observation: what it had said.
        action: the answer to that.
        extra: what ``choose`` returned besides for this environment.
        record: the episode, if the step ended it.
    """

    place: int
    observation: Observations
    action: np.ndarray
    extra: float
    record: Episode | None


def play(
    vector: VecEnv,
    requests: Sequence[EpisodeRequest],
    choose: Callable[[Observations], tuple[np.ndarray, np.ndarray]],
) -> Iterator[PlayedStep]:
    """Play requests in a vector of `RequestedEpisodes`, the i-th in environment i modulo their number.

    Args:
        vector: its environments are used in turn and left idle.
        requests: what to play.
        choose: observations ``[n, …]`` → actions ``[n, …]`` and a number for each; idle ones are ignored.

    Yields:
        Every step, in an order that does not depend on the clock.
    """
    count = vector.num_envs
    for place in range(count):
        vector.env_method("plan", list(requests[place::count]), indices=place)
    observations: Any = vector.reset()
    inner = vector.unwrapped  # wrappers of vectors keep no reset_infos of their own
    idle = [bool(info.get(IDLE)) for info in inner.reset_infos]
    while not all(idle):
        actions, extra = choose(observations)
        following, _, dones, infos = vector.step(actions)
        for place in range(count):
            if idle[place]:
                continue
            seen = {name: values[place].copy() for name, values in observations.items()}
            record = infos[place].get(RECORD) if dones[place] else None
            yield PlayedStep(place, seen, actions[place], float(extra[place]), record)
            idle[place] = bool(inner.reset_infos[place].get(IDLE)) if dones[place] else False
        observations = following
