"""What the whole stack of rewards adds to ZoomRead's episodes; used by ``reward_speed.py``.

The oracle plays the environment with its real reader (two turns), and random calls play it (about four).
``wrapped`` has curiosity, coherence, penalties and the orchestrator as wrappers around one environment, which
learn after each episode; ``in batches`` scores recorded episodes turn by turn, 64 at once, and learns after
them, as a trainer does. Time in the environment itself is taken by a stopwatch inside all wrappers.
"""

from __future__ import annotations

import statistics
import time
from typing import Any, ClassVar

import gymnasium as gym

from pixelis.envs.tool_env import ToolEnv
from pixelis.rewards.stack.stack import build_stack
from pixelis.rewards.terms.term import Transition
from pixelis.wrappers import wrap

REWARDS: dict[str, Any] = {"curiosity": {}, "coherence": {}, "penalty": {}}
Recorded = list[tuple[Transition, float]]


class Clock:
    """The benchmark's clock: wall time, or the CPU's, which other work does not lengthen."""

    cpu: ClassVar[bool] = False

    @classmethod
    def now(cls) -> float:
        """Return its time in seconds."""
        return time.process_time() if cls.cpu else time.perf_counter()


class Stopwatch(gym.Wrapper[Any, Any, Any, Any]):
    """Adds up the seconds that an environment takes."""

    seconds = 0.0

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        start = Clock.now()
        result = self.env.reset(**options)
        self.seconds += Clock.now() - start
        return result

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Play a step."""
        start = Clock.now()
        result = self.env.step(action)
        self.seconds += Clock.now() - start
        return result


def play(env: gym.Env[Any, Any], policy: str, seed: int) -> Recorded:
    """Play an episode by the name of a policy of the environment; return its steps and their rewards."""
    inner = env.unwrapped
    assert isinstance(inner, ToolEnv)
    actor = inner.players()[policy](inner)
    observation, info = env.reset(seed=seed)
    steps: Recorded = []
    ended = False
    while not ended:
        action = actor.act(observation, info)
        following, reward, terminated, truncated, info = env.step(action)
        calls = tuple(info["tool_calls"])
        step = Transition(observation, action, following, calls, terminated, truncated)
        steps.append((step, float(reward)))
        observation, ended = following, terminated or truncated
    return steps


def wrapped(policy: str, episodes: int) -> dict[str, float]:
    """Return the milliseconds an episode takes in the environment and around it, and their ratio."""
    inside = Stopwatch(gym.make("Pixelis/ZoomRead-v0", difficulty=1))
    outside = Stopwatch(wrap(inside, REWARDS))
    warm_up = 4  # the reader loads its models, the first update its kernels
    for seed in range(warm_up):
        play(outside, policy, seed)
    inside.seconds = outside.seconds = 0.0
    env_times: list[float] = []
    for seed in range(warm_up, warm_up + episodes):
        before = inside.seconds
        play(outside, policy, seed)
        env_times.append(inside.seconds - before)
    inside.close()
    added = outside.seconds - inside.seconds
    return {
        "env_ms": 1e3 * inside.seconds / episodes,
        "env_ms_median": 1e3 * statistics.median(env_times),
        "added_ms": 1e3 * added / episodes,
        "added": added / inside.seconds,
    }


def in_batches(policy: str, groups: int, size: int = 64) -> dict[str, float]:
    """Return the milliseconds an episode's scoring takes, and its share of learning, as a trainer does it."""
    env = gym.make("Pixelis/ZoomRead-v0", difficulty=1, reader="truth")
    stack = build_stack(REWARDS)
    scoring: list[float] = []
    learning: list[float] = []
    for group in range(groups + 1):
        recorded = [play(env, policy, group * size + member) for member in range(size)]
        memories = [stack.begin() for _ in recorded]
        start = Clock.now()
        for turn in range(max(map(len, recorded))):
            live = [index for index, steps in enumerate(recorded) if turn < len(steps)]
            stack.score([(memories[index], *recorded[index][turn]) for index in live])
        scored = Clock.now()
        stack.learn()
        scoring.append(1e3 * (scored - start) / size)
        learning.append(1e3 * (Clock.now() - scored) / size)
    env.close()
    return {"scoring_ms": statistics.median(scoring[1:]), "learning_ms": statistics.median(learning[1:])}


def report_episodes(episodes: int, groups: int) -> dict[str, Any]:
    """Measure, print and return what episodes cost."""
    results: dict[str, Any] = {}
    for policy in ("oracle", "random"):
        row = {**wrapped(policy, episodes), **in_batches(policy, groups)}
        row["added_in_batches"] = (row["scoring_ms"] + row["learning_ms"]) / row["env_ms"]
        results[policy] = {name: round(value, 4) for name, value in row.items()}
        print(
            f"{policy}: {row['env_ms']:.1f} ms an episode in the environment (median "
            f"{row['env_ms_median']:.1f}); wrapped + {row['added_ms']:.2f} ms ({row['added']:.1%}); "
            f"64 at once + {row['scoring_ms']:.2f} ms scoring, {row['learning_ms']:.2f} ms learning "
            f"({row['added_in_batches']:.1%}); target ≤ 5 %"
        )
    return results
