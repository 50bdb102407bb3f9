"""Envs with a time limit: late calls are left behind, their episodes masked, nobody waits for them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import gymnasium as gym
import pytest

from pixelis.agents.episodes.timed_env import EnvTimeoutError, TimedEnv
from pixelis.agents.models.policy import Policy
from pixelis.agents.rollout.collector import Collector, EpisodeRequest, collect
from pixelis.agents.rollout.sampling import SamplingSettings
from pixelis.envs.spaces import Utf8Text

SECONDS = 1.5  # a busy machine may keep a thread waiting for a while
REQUESTS = [EpisodeRequest(seed, seed) for seed in range(4)]
SETTINGS = SamplingSettings(max_new_tokens=6)


class GatedEnv(gym.Env):
    """Waits for its gate in one of its calls, in the episode of one seed."""

    observation_space = gym.spaces.Dict({"text": Utf8Text(64)})
    action_space = Utf8Text(64)

    def __init__(self, late: str = "", seed: int = 1, gate: threading.Event | None = None) -> None:
        self.late, self.late_seed, self.gate = late, seed, gate or threading.Event()
        self.threads = {threading.get_ident()}
        self.closed = threading.Event()
        self._pass("make", seed)

    def _pass(self, call: str, seed: int | None) -> None:
        self.threads.add(threading.get_ident())
        if call == self.late and seed == self.late_seed:
            self.gate.wait()

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.turn, self.seed = 0, seed
        self._pass("reset", seed)
        return {"text": f"task {seed}"}, {}

    def step(self, action):
        self.turn += 1
        self._pass("step", self.seed)
        return {"text": "more"}, 1.0, self.turn == 2, False, {}

    def close(self):
        self._pass("close", self.late_seed)
        self.closed.set()


@pytest.fixture
def gate():
    """An event that is set at the end of the test, so that no thread is left."""
    event = threading.Event()
    yield event
    event.set()


def test_a_timed_env_is_the_env(gate):
    plain, timed = GatedEnv(), TimedEnv(GatedEnv, 60.0)
    assert timed.reset(seed=3) == plain.reset(seed=3)
    assert timed.step("a") == plain.step("a")
    assert isinstance(timed.unwrapped, GatedEnv)
    inner = timed.unwrapped
    timed.close()
    assert inner.closed.is_set()
    assert len(inner.threads) == 1 and threading.get_ident() not in inner.threads  # one thread of its own


def test_errors_come_through():
    class Broken(GatedEnv):
        def step(self, action):
            raise KeyError("lost")

    env = TimedEnv(Broken, 60.0)
    env.reset(seed=0)
    with pytest.raises(KeyError, match="lost"):
        env.step("a")
    assert env.reset(seed=0)[0] == {"text": "task 0"}  # not late: still in use
    env.close()
    with pytest.raises(RuntimeError, match="no browser"):
        TimedEnv(lambda: (_ for _ in ()).throw(RuntimeError("no browser")), 60.0)


def test_a_late_call_abandons_the_env_and_closes_it_when_it_returns_after_all(gate):
    env = TimedEnv(lambda: GatedEnv("step", gate=gate), SECONDS)
    inner = env.unwrapped
    assert isinstance(inner, GatedEnv)
    env.reset(seed=1)
    with pytest.raises(EnvTimeoutError, match=r"step did not return within 1\.5 s"):
        env.step("a")
    start = time.monotonic()
    for call in (lambda: env.reset(seed=2), lambda: env.step("a")):
        with pytest.raises(EnvTimeoutError, match="abandoned"):
            call()
    env.close()
    assert time.monotonic() - start < SECONDS  # nobody waits a second time
    assert not inner.closed.is_set()
    gate.set()
    assert inner.closed.wait(10)


def test_an_env_that_is_made_too_late_is_closed_too(gate):
    made: list[GatedEnv] = []

    class Slow(GatedEnv):
        def __init__(self) -> None:
            made.append(self)
            super().__init__("make", gate=gate)

    with pytest.raises(EnvTimeoutError, match="make did not return"):
        TimedEnv(Slow, SECONDS)
    gate.set()
    assert made[0].closed.wait(10)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("late", ["reset", "step"])
def test_a_late_env_ends_its_own_episode_and_is_not_used_again(
    late: str, threads: int, text_policy: Policy, gate: threading.Event
):
    made: list[TimedEnv] = []

    def factory() -> gym.Env:
        made.append(TimedEnv(lambda: GatedEnv(late, gate=gate), SECONDS))
        return made[-1]

    with Collector(factory, env_threads=threads) as collector:
        episodes = collector.collect(text_policy, REQUESTS, SETTINGS, 0)
        assert (collector.stats.timeouts, collector.stats.failed_episodes) == (1, 1)
        assert [episode.valid_for_training for episode in episodes] == [True, False, True, True]
        assert episodes[1].failure_reason == f"{late} did not return within 1.5 s"
        assert [episode.turns for episode in episodes] == [2, 0, 2, 2]
        others = [EpisodeRequest(seed, seed) for seed in (5, 6, 7, 8)]
        again = collector.collect(text_policy, others, SETTINGS, 0)
        assert all(episode.valid_for_training for episode in again) and len(made) == 5
        assert collector.stats.timeouts == 0
    alone = collect(text_policy, GatedEnv, [REQUESTS[2]], SETTINGS, 0)
    assert alone[0].tokens.tolist() == episodes[2].tokens.tolist()  # the others did not notice


def test_envs_that_cannot_be_made_any_more_are_failures_and_the_first_is_a_mistake(text_policy: Policy):
    calls = 0

    def factory() -> gym.Env:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise RuntimeError("no more browsers")
        return GatedEnv()

    episodes = collect(text_policy, factory, REQUESTS, SETTINGS, 0)
    assert [episode.valid_for_training for episode in episodes] == [True, False, True, True]
    assert episodes[1].failure_reason == "reset raised RuntimeError: no more browsers"
    calls = 1
    with pytest.raises(RuntimeError, match="no more browsers"):
        collect(text_policy, factory, REQUESTS, SETTINGS, 0)


def test_a_close_that_hangs_or_raises_keeps_no_other_env_open(
    text_policy: Policy, gate: threading.Event, caplog: pytest.LogCaptureFixture
):
    class Stuck(GatedEnv):
        def close(self):
            raise RuntimeError("stuck")

    envs = [Stuck(), GatedEnv(), TimedEnv(lambda: GatedEnv("close", gate=gate), SECONDS), GatedEnv()]
    left = list(envs)
    with Collector(lambda: left.pop()) as collector:
        collector.collect(text_policy, REQUESTS, SETTINGS, 0)
    assert [env.unwrapped.closed.is_set() for env in envs] == [False, True, False, True]
    assert "could not be closed: RuntimeError: stuck" in caplog.text
    assert "left behind: close did not return within 1.5 s" in caplog.text


def test_scripted_episodes_go_on_with_a_new_env(letter_env: Callable[..., gym.Env]):
    from pixelis.agents.runs.evaluate import evaluate

    class Late(letter_env):  # type: ignore[misc, valid-type]
        def reset(self, *, seed=None, options=None):
            if seed == 1:
                threading.Event().wait(3)
            return super().reset(seed=seed, options=options)

    row = evaluate("oracle", lambda: TimedEnv(Late, SECONDS), [0, 1, 2, 3])
    assert (row.episodes, row.failed, row.success_rate) == (3, 1, 1.0)
