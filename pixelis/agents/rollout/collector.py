"""Playing groups of episodes with a policy, turn by turn in lock-step, keeping the tokens as sampled."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, TypeVar

import gymnasium as gym
import numpy as np
import torch

from pixelis.agents.episodes.episode import Episode, Segment
from pixelis.agents.episodes.episode_runner import EpisodeRequest, EpisodeRunner
from pixelis.agents.episodes.rewarder import Rewarder
from pixelis.agents.models.policy import Policy
from pixelis.agents.rollout.engine import Engine, InProcess, Sampler
from pixelis.agents.rollout.sampling import RolloutStats, SamplingSettings
from pixelis.errors import ConfigError, PixelisError, TrainingError

__all__ = ["Collector", "EnvFactory", "EpisodeRequest", "collect"]

EnvFactory = Callable[[], gym.Env[Any, Any]]
R = TypeVar("R")
_LOG = logging.getLogger(__name__)
MOST_THREADS = 4
"""That step envs where nobody says how many."""


class Collector:
    """Plays episodes and keeps the envs for the next call.

    Args:
        env: a Gymnasium id, or a factory of envs; called once for each episode that is in play at the same
            time.
        env_threads: threads that reset and step envs. Episodes do not depend on it as long as envs share no
            state. None: as many as torch has, up to `MOST_THREADS`, for envs that say ``plays_in_threads``,
            one for all others.
        rewarder: pays the episodes in the env's place; None: what the env gives is their reward.
        on_ended: is told after each turn how many of the episodes in play have ended.
        engine: what samples; None: the policy's model in this process.

    Attributes:
        stats: counters of the last call of `collect`.
    """

    def __init__(
        self,
        env: str | EnvFactory,
        *,
        env_threads: int | None = None,
        rewarder: Rewarder | None = None,
        on_ended: Callable[[int], None] | None = None,
        engine: Engine | None = None,
    ) -> None:
        if env_threads is not None and env_threads < 1:
            raise ConfigError(f"env_threads must be at least 1, got {env_threads}")
        self._factory: EnvFactory = (lambda: gym.make(env)) if isinstance(env, str) else env
        self._idle: list[gym.Env[Any, Any]] = []
        self._has_made = False
        self._rewarder, self._on_ended = rewarder, on_ended
        self._engine: Engine = InProcess() if engine is None else engine
        self._wanted = env_threads
        self._threads: ThreadPoolExecutor | None = None
        self.stats = RolloutStats()

    def collect(
        self, policy: Policy, requests: Sequence[EpisodeRequest], settings: SamplingSettings, rng_seed: int
    ) -> list[Episode]:
        """Play the requested episodes at the same time and return them in the order of the requests.

        An episode's tokens depend on the weights, its request and ``rng_seed``, not on the other episodes (up
        to the rounding of the model's arithmetic, which differs between batch sizes). An env that raises, or
        is late where it has a time limit (see `pixelis.agents.episodes.timed_env`), ends its own episode with
        ``valid_for_training=False`` and is not used again; a context that is full ends the episode with
        ``truncated=True``.

        Args:
            policy: who plays.
            requests: what to play.
            settings: how to sample.
            rng_seed: at least 0; changes the sampled tokens of all episodes (mix the run's seed and the step
                into it).

        Raises:
            TrainingError: the model's logits are not finite.
            PixelisError: a wrong option, or no env can be made at all.
        """
        self.stats = RolloutStats(episodes=len(requests))
        runners = [EpisodeRunner(self._env(), request) for request in requests]
        if self._threads is None and runners:
            count = self._wanted or _threads_of(runners[0].env)
            self._threads = ThreadPoolExecutor(count) if count > 1 else None
        try:
            self._timed_envs(EpisodeRunner.reset, runners)
            with self._engine.open(policy, self.stats, rng_seed) as sampler:
                playing = [runner for runner in runners if not runner.done]
                self._play(policy, sampler, playing, settings, rng_seed)
        finally:
            for runner in runners:
                self._give_back(runner)
        self.stats.failed_episodes = sum(not runner.episode.valid_for_training for runner in runners)
        self.stats.timeouts = sum(runner.timed_out for runner in runners)
        self.stats.turns = sum(runner.episode.turns for runner in runners)
        return [runner.episode for runner in runners]

    def close(self) -> None:
        """Close envs, threads and engine; an env that cannot be closed is told in the log."""
        while self._idle:
            try:
                self._idle.pop().close()
            except Exception as error:  # the run is over, its results are not lost to this
                _LOG.warning("an env could not be closed: %s: %s", type(error).__name__, error)
        if self._threads is not None:
            self._threads.shutdown()
        self._engine.close()

    def __enter__(self) -> Collector:
        """Return itself; the block's end closes it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    # ------------------------------------------------------------------ turns

    def _play(
        self,
        policy: Policy,
        sampler: Sampler,
        runners: list[EpisodeRunner],
        settings: SamplingSettings,
        rng_seed: int,
    ) -> None:
        generators = {id(runner): _generator(runner.request, rng_seed) for runner in runners}
        everyone = len(runners)
        with _Clock(self.stats):
            runners = self._open(policy, sampler, runners)
        while runners:
            with _Clock(self.stats):
                draws = [generators[id(runner)] for runner in runners]
                limits = [min(settings.max_new_tokens, _room(policy, runner.episode)) for runner in runners]
                turns = sampler.write(draws, settings, limits)
                for runner, turn in zip(runners, turns, strict=True):
                    _check_finite(turn)
                    runner.episode.segments.append(turn)
                    runner.episode.cut_turns += turn.finish_reason == "length"
            self._timed_envs(
                lambda runner: runner.step(policy.chat.action(runner.episode.segments[-1].tokens)), runners
            )
            stepped = runners
            with _Clock(self.stats):
                runners = self._read(policy, sampler, runners)
            self._reward(stepped)  # only now is it known which episodes a full context has ended
            if self._on_ended is not None:
                self._on_ended(everyone - len(runners))

    def _open(self, policy: Policy, sampler: Sampler, runners: list[EpisodeRunner]) -> list[EpisodeRunner]:
        """Read the prompts, one for the members of a group that start alike; return the runners that play."""
        prompts: list[Segment] = []
        starts: list[list[EpisodeRunner]] = []
        for runner in runners:
            leader = starts[-1][0] if starts else None
            if (
                leader is not None
                and leader.episode.group == runner.episode.group
                and leader.starts_like(runner)
            ):
                runner.episode.segments.append(leader.episode.segments[0])
                starts[-1].append(runner)
                continue
            text, image = runner.seen()
            prompt = policy.chat.first(text, image, runner.tool_schemas())
            runner.episode.segments.append(prompt.without_picture())
            if (unknown := _unknown_token(policy, prompt)) is not None:
                runner.fail(unknown)
                continue
            if _room(policy, runner.episode) < 1:
                runner.episode.truncated = True
                runner.fail(
                    f"the prompt of {len(prompt)} tokens fills the model's context of {policy.max_context}"
                )
                continue
            prompts.append(prompt)
            starts.append([runner])
        if prompts:
            sampler.start(prompts, [len(group) for group in starts])
        return [runner for group in starts for runner in group]

    def _read(self, policy: Policy, sampler: Sampler, runners: list[EpisodeRunner]) -> list[EpisodeRunner]:
        """Give the episodes that go on their observations; return their runners."""
        going: list[tuple[int, Segment, Segment]] = []
        for row, runner in enumerate(runners):
            if runner.done:
                continue
            turn = runner.episode.segments[-1]
            text, image = runner.seen()
            segment = policy.chat.later(text, image, int(turn.tokens[-1]))
            if (unknown := _unknown_token(policy, segment)) is not None:
                runner.fail(unknown)
                continue
            if _room(policy, runner.episode) <= len(segment):
                runner.episode.truncated = runner.episode.cut_off = runner.done = True
                continue
            runner.episode.segments.append(segment.without_picture())
            self.stats.forks += not policy.chat.append_only
            going.append((row, turn, segment))
        if going:
            sampler.keep([row for row, _, _ in going])
            sampler.read([segment for _, _, segment in going], [turn for _, turn, _ in going])
        return [runners[row] for row, _, _ in going]

    def _reward(self, runners: list[EpisodeRunner]) -> None:
        if self._rewarder is not None:
            start = time.perf_counter()
            self._rewarder.score(runners)
            self.stats.reward_seconds += time.perf_counter() - start

    # ------------------------------------------------------------------ envs

    def _env(self) -> gym.Env[Any, Any]:
        if self._idle:
            return self._idle.pop()
        try:
            env = self._factory()
        except Exception as error:
            if isinstance(error, PixelisError) or not self._has_made:
                raise  # a mistake of the caller's; once it has worked, it is a failure of the infrastructure
            return _UnmadeEnv(error)
        self._has_made = True
        return env

    def _give_back(self, runner: EpisodeRunner) -> None:
        if runner.episode.valid_for_training:
            self._idle.append(runner.env)
            return
        try:  # an env that failed is not trusted again
            runner.env.close()
        except Exception:
            runner.episode.info["close_failed"] = True

    def _timed_envs(self, work: Callable[[EpisodeRunner], R], runners: Sequence[EpisodeRunner]) -> list[R]:
        start = time.perf_counter()
        if self._threads is None:
            results = [work(runner) for runner in runners]
        else:  # members of a group often do the same at first; of two in a row one would wait for the other
            mixed = sorted(range(len(runners)), key=lambda i: runners[i].request.member)
            begun = {i: self._threads.submit(work, runners[i]) for i in mixed}
            results = [begun[i].result() for i in range(len(runners))]
        self.stats.env_seconds += time.perf_counter() - start
        return results


def _threads_of(env: gym.Env[Any, Any]) -> int:
    """Return how many threads may step envs like this one, as far as it and the machine say."""
    safe = getattr(env.unwrapped, "plays_in_threads", False)
    return min(torch.get_num_threads(), MOST_THREADS) if safe else 1


def collect(
    policy: Policy,
    env_factory: str | EnvFactory,
    requests: Sequence[EpisodeRequest],
    settings: SamplingSettings,
    rng_seed: int,
) -> list[Episode]:
    """Play episodes once; see `Collector`, which keeps its envs between calls."""
    with Collector(env_factory) as collector:
        return collector.collect(policy, requests, settings, rng_seed)


class _UnmadeEnv(gym.Env[Any, Any]):
    """Stands in for an env that could not be made: its episode fails for the same reason."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        raise self._error


class _Clock:
    """Adds the time of a block to the seconds of generation."""

    def __init__(self, stats: RolloutStats) -> None:
        self._stats = stats

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self._stats.generation_seconds += time.perf_counter() - self._start


def _generator(request: EpisodeRequest, rng_seed: int) -> np.random.Generator:
    return np.random.default_rng([rng_seed, request.seed, request.group, request.member])


def _check_finite(turn: Segment) -> None:
    if not np.isfinite(turn.logprobs).all():
        raise TrainingError(
            "the model's logits are not finite, so nothing can be sampled from them; "
            "check the model's weights, or give it a wider --dtype (float32, bfloat16)"
        )


def _unknown_token(policy: Policy, segment: Segment) -> str | None:
    """Return what to say of a text with a token that the model has no embedding for, or None."""
    outside = set(segment.tokens[segment.tokens >= policy.vocabulary_size].tolist())
    outside -= set(policy.chat.placeholder_ids)
    if not outside:
        return None
    token = policy.tokenizer.convert_ids_to_tokens(min(outside))
    return (
        f"the observation holds the token {token!r} (id {min(outside)}), which is outside the model's "
        f"vocabulary of {policy.vocabulary_size}"
    )


def _room(policy: Policy, episode: Episode) -> int:
    """Return how many more tokens fit into the model's context."""
    return policy.max_context - len(episode) if policy.max_context is not None else 2**31
