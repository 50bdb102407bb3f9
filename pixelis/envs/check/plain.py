"""The part of the contract that any Gymnasium environment can keep: seeds, spaces, randomness, processes.

Its actions are drawn from its own space; where it has scripted players (``players()``, as
``Pixelis/Gymnasium-v0``), oracle and floors are played too.
"""

from __future__ import annotations

import math
import pickle
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import gymnasium as gym
import numpy as np

from pixelis.envs.check.contract import Finding, Subject, gymnasium_warnings, shown_warnings
from pixelis.envs.check.figures import Figures, figures_of, size_of
from pixelis.envs.check.playing import same

MOST_STEPS = 200
"""Of an episode: an environment without an end is played so far."""
_PROCESS_STEPS = 20
PlainEnv = gym.Env[Any, Any]


def gymnasium_checker(subject: Subject) -> Finding:
    """Gymnasium's own check passes without an error."""
    said = gymnasium_warnings(subject.make().unwrapped)
    return Finding("gymnasium_checker", True, shown_warnings(said))


def spaces_are_honest(subject: Subject) -> Finding:
    """Observations lie in their space, rewards are finite numbers, and the flags are truth values."""
    env, wrong, count = subject.make(), set(), 0
    for seed in subject.seeds:
        for observation, reward, terminated, truncated, _ in played(env, seed):
            count += 1
            if observation not in env.observation_space:
                wrong.add("an observation outside its space")
            if not math.isfinite(float(reward)):
                wrong.add(f"reward {reward}")
            if not all(isinstance(flag, (bool, np.bool_)) for flag in (terminated, truncated)):
                wrong.add(f"flags {terminated!r}, {truncated!r}")
    measured = "; ".join(sorted(wrong)) or f"{count} observations of {len(subject.seeds)} episodes"
    return Finding("spaces_are_honest", not wrong, measured, "correct the space, or what step returns")


def same_seed_same_bytes(subject: Subject) -> Finding:
    """The same seed and actions give the same bytes, in the next episodes without a seed too."""
    seeds = list(subject.seeds)[:5]
    first, second = ([_sequence(env, seed) for seed in seeds] for env in (subject.make(), subject.make()))
    measured = f"{len(seeds)} seeds, 3 episodes each, all equal" if same(first, second) else "they differ"
    remedy = "call super().reset(seed=seed), draw from self.np_random alone"
    return Finding("same_seed_same_bytes", same(first, second), measured, remedy)


def seeds_matter(subject: Subject) -> Finding:
    """Other seeds give other episodes, or the environment has nothing to draw."""
    env = subject.make()
    actions = _actions(env, 0)
    first = [pickle.dumps(_observed(played(env, seed, actions))) for seed in subject.seeds]
    different = len(set(first))
    without = [pickle.dumps(_observed(played(env, None, actions))) for _ in range(2)]
    deterministic = different == 1 and len({*first, *without}) == 1
    what = ", and episodes without a seed are the same: nothing is drawn" if deterministic else ""
    measured = f"{different} different episodes of {len(first)} seeds{what}"
    remedy = "a seed that is taken and not used makes every group of episodes the same: use it"
    return Finding("seeds_matter", different > 1 or deterministic or len(first) < 2, measured, remedy)


def global_randomness_is_left_alone(subject: Subject) -> Finding:
    """Python's and NumPy's global generators neither decide an episode nor are moved by it."""
    env, seed = subject.make(), subject.seeds[0]
    kept, found, moved = (random.getstate(), np.random.get_state()), [], False
    try:
        for state in (1, 2):
            random.seed(state)
            np.random.seed(state)
            before = random.getstate(), np.random.get_state()
            found.append(played(env, seed))
            moved = moved or not same(before, (random.getstate(), np.random.get_state()))
    finally:
        random.setstate(kept[0])
        np.random.set_state(kept[1])
    wrong = ["they decide"] * (not same(*found)) + ["they are moved"] * moved
    measured = ", ".join(wrong) or "an episode under two states of them: equal, and they stay"
    remedy = "draw from self.np_random; code that cannot must be given a state of its own for the time"
    return Finding("global_randomness_is_left_alone", not wrong, measured, remedy)


def players_keep_their_places(subject: Subject) -> Finding:
    """Where there are scripted players, the oracle succeeds and the others do not, as far as info says."""
    env: Any = subject.make().unwrapped
    if not hasattr(env, "players"):
        return Finding(
            "players_keep_their_places", True, "no players(): no floors and no oracle to compare with"
        )
    shares = {
        name: float(np.mean([_succeeds(env, make, seed) for seed in subject.seeds]))
        for name, make in env.players().items()
    }
    wrong = [
        name
        for name, share in shares.items()
        if (name == "oracle" and share < 1) or (name not in ("oracle", "random") and share > subject.floor)
    ]
    measured = ", ".join(f"{name} {share:.2f}" for name, share in shares.items())
    remedy = f"see why {', '.join(wrong)} stand where they stand" if wrong else ""
    return Finding("players_keep_their_places", not wrong, measured, remedy, numbers=shares)


def pickles(subject: Subject) -> Finding:
    """Spaces and observations go through pickle unchanged; so does what makes the environment."""
    env = subject.make()
    spaces, turns = (env.observation_space, env.action_space), _observed(played(env, subject.seeds[0]))
    wrong = [] if pickle.loads(pickle.dumps(spaces)) == spaces else ["spaces are others"]
    wrong += [] if same(turns, pickle.loads(pickle.dumps(turns))) else ["observations are others"]
    if subject.processes:
        again = pickle.loads(pickle.dumps(subject.make))()
        if not same(turns, _observed(played(again, subject.seeds[0]))):
            wrong.append("what the maker makes plays another episode")
    measured = "; ".join(wrong) or f"2 spaces, {len(turns)} observations"
    remedy = "no lambdas, locks or open files in spaces; a maker that can be imported by its name"
    return Finding("pickles", not wrong, measured, remedy)


def threads_equal_sync(subject: Subject) -> Finding:
    """Environments stepped from several threads give what they give one after the other."""
    seeds = list(subject.seeds)[:4]
    envs = [subject.make() for _ in seeds]
    alone = [played(*pair) for pair in zip(envs, seeds, strict=True)]
    with ThreadPoolExecutor(len(envs)) as pool:
        together = list(pool.map(played, envs, seeds))
    measured = f"{len(seeds)} threads, {sum(map(len, alone))} observations"
    return Finding("threads_equal_sync", same(alone, together), measured, "keep no state outside the object")


def processes_equal_sync(subject: Subject) -> Finding:
    """Spawned processes (``AsyncVectorEnv``, its defaults) give what ``SyncVectorEnv`` gives."""
    if not subject.processes:
        return Finding("processes_equal_sync", True, "left out")
    seeds, makers = list(subject.seeds)[:2], [subject.make] * len(list(subject.seeds)[:2])
    alone = _vector(gym.vector.SyncVectorEnv(makers), seeds)
    apart = _vector(gym.vector.AsyncVectorEnv(makers, context="spawn"), seeds)
    measured = f"{len(seeds)} environments, {len(alone)} observations"
    remedy = "no hash(), set order, clock or process state in what is drawn"
    return Finding("processes_equal_sync", same(alone, apart), measured, remedy)


CLAUSES: tuple[Callable[[Subject], Finding], ...] = (
    gymnasium_checker,
    spaces_are_honest,
    same_seed_same_bytes,
    seeds_matter,
    global_randomness_is_left_alone,
    players_keep_their_places,
    pickles,
    threads_equal_sync,
    processes_equal_sync,
)


def measure(subject: Subject) -> Figures | None:
    """Return what episodes of random actions cost; None where they cannot be played."""
    resets, steps, largest = [], [], 0
    try:
        env = subject.make()
        for seed in subject.seeds:
            env.action_space.seed(seed)
            began = time.perf_counter()
            observation, _ = env.reset(seed=seed)
            resets.append(time.perf_counter() - began)
            over, count = False, 0
            while not over and count < MOST_STEPS:
                largest, action, count = (
                    max(largest, size_of(observation)),
                    env.action_space.sample(),
                    count + 1,
                )
                began = time.perf_counter()
                observation, _, terminated, truncated, _ = env.step(action)
                steps.append(time.perf_counter() - began)
                over = terminated or truncated
    except Exception:  # the clauses say what is wrong with it
        return None
    return figures_of(resets, steps, largest, "random actions")


# ---------------------------------------------------------------------- playing


def played(env: PlainEnv, seed: int | None, actions: Sequence[Any] | None = None) -> list[tuple[Any, ...]]:
    """Play an episode by given actions, or by those that the seed draws; return what was said."""
    given = _actions(env, seed or 0) if actions is None else actions
    observation, info = env.reset(seed=seed)
    turns: list[tuple[Any, ...]] = [(observation, 0.0, False, False, info)]
    for action in given:
        turns.append(env.step(action))
        if turns[-1][2] or turns[-1][3]:
            break
    return turns


def _actions(env: PlainEnv, seed: int) -> list[Any]:
    env.action_space.seed(seed)
    return [env.action_space.sample() for _ in range(MOST_STEPS)]


def _sequence(env: PlainEnv, seed: int) -> list[Any]:
    """Return an episode by a seed, and the two after it without one."""
    actions = _actions(env, seed)
    return [_observed(played(env, each, actions)) for each in (seed, None, None)]


def _observed(turns: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return turns without their info, which may hold what takes time, such as a clock's."""
    return [turn[:4] for turn in turns]


def _succeeds(env: Any, make: Callable[[Any], Any], seed: int) -> bool:
    observation, info = env.reset(seed=seed)
    player, over = make(env), False
    while not over:
        observation, _, terminated, truncated, info = env.step(player.act(observation, info))
        over = terminated or truncated
    return bool(info.get("success"))


def _vector(envs: gym.vector.VectorEnv[Any, Any, Any], seeds: Sequence[int]) -> list[Any]:
    try:
        envs.action_space.seed(seeds[0])
        actions = [envs.action_space.sample() for _ in range(_PROCESS_STEPS)]
        each: Any = list(seeds)
        said: list[Any] = [envs.reset(seed=each)[0]]
        return said + [envs.step(action)[:4] for action in actions]
    finally:
        envs.close()
